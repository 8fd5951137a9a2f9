package mma_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/mma"
)

var bf16K16 = mma.Op{Shape: mma.M16N8K16, A: mma.BF16, B: mma.BF16, D: mma.F32}

// Every element of an operand lies in one place, where Index finds it, and elements of 8 to 64 bits do not disturb
// their neighbours.
func TestFragments(t *testing.T) {
	for _, op := range append(every(), sparse()...) {
		for name, f := range map[string]mma.Fragment{"A": op.FragmentA(), "B": op.FragmentB(), "D": op.FragmentD()} {
			r := f.Make()
			bits := func(row, col int) uint64 {
				return uint64(row*f.Cols+col+1) * 0x9e3779b97f4a7c15 >> (64 - 32*len(r)/f.Elements())
			}
			for row := range f.Rows {
				for col := range f.Cols {
					lane, i := f.Index(row, col)
					if r, c := f.Coord(lane, i); r != row || c != col {
						t.Fatalf("%v, %s: element %d of lane %d is (%d, %d), Index had (%d, %d)", op, name, i, lane, r, c, row, col)
					}
					f.SetBits(r, lane, i, bits(row, col))
				}
			}
			for lane := range mma.Lanes {
				for i := range f.Elements() {
					row, col := f.Coord(lane, i)
					if got, want := f.Bits(r, lane, i), bits(row, col); got != want {
						t.Fatalf("%v, %s: (%d, %d) is %#x, want %#x", op, name, row, col, got, want)
					}
				}
			}
		}
	}
}

// Places that PTX's formulas give, of each kind of layout (9.7.14.5.2 to 9.7.14.5.13).
func TestFragmentCoord(t *testing.T) {
	const lane = 13 // of group 3, the second in it
	for _, c := range []struct {
		op        string
		operand   func(mma.Op) mma.Fragment
		registers int
		want      [][2]int
	}{
		{"m16n8k16.row.col.f32.bf16.bf16.f32", mma.Op.FragmentA, 4,
			[][2]int{{3, 2}, {3, 3}, {11, 2}, {11, 3}, {3, 10}, {3, 11}, {11, 10}, {11, 11}}},
		{"m16n8k16.row.col.f16.f16.f16.f16", mma.Op.FragmentB, 2, [][2]int{{2, 3}, {3, 3}, {10, 3}, {11, 3}}},
		{"m16n8k16.row.col.f16.f16.f16.f16", mma.Op.FragmentD, 2, [][2]int{{3, 2}, {3, 3}, {11, 2}, {11, 3}}},
		{"m16n8k8.row.col.f32.tf32.tf32.f32", mma.Op.FragmentA, 4, [][2]int{{3, 1}, {11, 1}, {3, 5}, {11, 5}}},
		{"m16n8k32.row.col.s32.s8.u8.s32", mma.Op.FragmentB, 2,
			[][2]int{{4, 3}, {5, 3}, {6, 3}, {7, 3}, {20, 3}, {21, 3}, {22, 3}, {23, 3}}},
		{"m8n8k16.row.col.satfinite.s32.u8.u8.s32", mma.Op.FragmentA, 1, [][2]int{{3, 4}, {3, 5}, {3, 6}, {3, 7}}},
		{"m8n8k16.row.col.satfinite.s32.u8.u8.s32", mma.Op.FragmentD, 2, [][2]int{{3, 2}, {3, 3}}},
		{"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", mma.Op.FragmentA, 16,
			[][2]int{{3, 1}, {11, 1}, {3, 5}, {11, 5}, {3, 9}, {11, 9}, {3, 13}, {11, 13}}},
		{"m16n8k4.row.col.f64.f64.f64.f64", mma.Op.FragmentB, 2, [][2]int{{1, 3}}},
		{"m8n8k128.row.col.s32.b1.b1.s32.and.popc", mma.Op.FragmentA, 1, run(32, 0, 1, 3, 32)},
		{"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", mma.Op.FragmentA, 4, slices.Concat(run(32, 0, 1, 3, 32),
			run(32, 0, 1, 11, 32), run(32, 0, 1, 3, 160), run(32, 0, 1, 11, 160))},
		{"m16n8k256.row.col.s32.b1.b1.s32.and.popc", mma.Op.FragmentB, 2,
			slices.Concat(run(32, 1, 0, 32, 3), run(32, 1, 0, 160, 3))},
		{"m16n8k128.row.col.s32.b1.b1.s32.xor.popc", mma.Op.FragmentD, 4, [][2]int{{3, 2}, {3, 3}, {11, 2}, {11, 3}}},
		{"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", mma.Op.FragmentA, 2,
			[][2]int{{3, 2}, {3, 3}, {11, 2}, {11, 3}}},
		{"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", mma.Op.FragmentB, 4,
			[][2]int{{1, 3}, {5, 3}, {9, 3}, {13, 3}}},
		{"m16n8k4.row.col.f64.f64.f64.f64", mma.Op.FragmentD, 8, [][2]int{{3, 2}, {3, 3}, {11, 2}, {11, 3}}},
	} {
		op, err := mma.Parse(c.op)
		if err != nil || !strings.HasSuffix(c.op, op.String()) {
			t.Fatal(c.op, op, err)
		}
		f := c.operand(op)
		var got [][2]int
		for i := range f.Elements() {
			row, col := f.Coord(lane, i)
			got = append(got, [2]int{row, col})
		}
		if !reflect.DeepEqual(got, c.want) || f.Registers() != c.registers {
			t.Errorf("%s: %d registers, %v, want %d, %v", c.op, f.Registers(), got, c.registers, c.want)
		}
	}
}

// run returns n places, the first of which is (row, col).
func run(n, down, right, row, col int) (places [][2]int) {
	for i := range n {
		places = append(places, [2]int{row + i*down, col + i*right})
	}
	return places
}

// Numbers are rounded when they become elements.
func TestFloat32(t *testing.T) {
	ops := every()
	for _, c := range []struct {
		typ     mma.Type
		v, want float32
	}{
		{mma.BF16, 1 + 0x3p-8, 1 + 0x1p-6}, {mma.F16, 65520, float32(math.Inf(1))}, {mma.TF32, 1 + 0x1p-11, 1},
		{mma.E4M3, 17, 16}, {mma.E5M2, 9, 8}, {mma.F64, 0.1, 0.1}, {mma.F32, 0.1, 0.1},
		{mma.S8, 2.5, 2}, {mma.S8, -1000, -128}, {mma.U8, -1, 0}, {mma.U8, 300, 255},
		{mma.B1, 3, 1}, {mma.B1, 0.4, 0}, {mma.B1, -1, 0},
		{mma.S32, 3e9, 1 << 31}, {mma.S32, -7, -7}, {mma.S32, float32(math.NaN()), 0},
	} {
		f := mma.Fragment{}
		for _, op := range ops {
			if op.A == c.typ {
				f = op.FragmentA()
			} else if op.D == c.typ {
				f = op.FragmentD()
			}
		}
		r := f.Make()
		f.SetFloat32(r, 5, 0, c.v)
		if got := f.Float32(r, 5, 0); got != c.want || f.Type != c.typ {
			t.Errorf("%v as %v is %v, want %v", c.v, f.Type, got, c.want)
		}
	}
}

// What no GPU of compute capability 9.0 has is an error that says what there is.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"m16n8k16.row.col.f32.bf16.f16.f32", "nothing multiplies bf16 by f16"},
		{"m16n8k16.row.col.f16.bf16.bf16.f16", "D is f16, sums of bf16 times bf16 are f32"},
		{"m16n8k4.row.col.f32.f16.f16.f32", "the shapes of f16 times f16 are m16n8k8 or m16n8k16"},
		{"m16n8k8.row.col.satfinite.f32.f16.f16.f32", "f16.f16.f32: .satfinite exists only for s8 and u8"},
		{"m16n8k8.col.col.f32.f16.f16.f32", "none of the instructions here"},
		{"m16n8k16.row.col.f32.f16.f16.f16", "none of the instructions here"},
		{"m16n8k64.row.col.s32.s4.s4.s32", "none of the instructions here"},
		{"xm16n8k16.row.col.f32.f16.f16.f32", "none of the instructions here"},
		{"m16n8k16.row.col.f32.f16", "is no instruction"},
		{"m16n8k128.row.col.s32.b1.b1.s32", "products of b1 are xor.popc or and.popc"},
		{"m16n8k128.row.col.satfinite.s32.b1.b1.s32.xor.popc", "s32.xor.popc: .satfinite exists only for s8 and u8"},
		{"m16n8k64.row.col.s32.b1.b1.s32.and.popc", "the shapes of b1 times b1 are m8n8k128 or m16n8k128 or m16n8k256"},
		{"m16n8k32.row.col.s32.s8.s8.s32.and.popc", "and.popc exists only for b1"},
		{"mma.sp.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "nothing multiplies b1 by b1 with a sparse A"},
		{"m16n8k128.row.col.s32.b1.b1.s32.or.popc", "is no instruction: want a shape, row.col, perhaps satfinite, four "},
		{"m16n8k64.row.col.s32.s8.s8.s32", "the shapes of s8 times s8 are m8n8k16 or m16n8k16 or m16n8k32"},
		{"mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
			"the shapes of f16 times f16 with a sparse A are m16n8k16 or m16n8k32"},
		{"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16",
			"D is f16, sums of e4m3 times e4m3 with a sparse A are f32"},
		{"mma.sp::ordered.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "is no instruction"},
		{"mma.sync.aligned.mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "is no instruction"},
	} {
		if _, err := mma.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "mma: ") {
			t.Errorf("Parse(%q): %v, want %q", c.text, err, c.want)
		}
	}
	if err := (mma.Op{A: mma.F16, B: mma.F16, D: mma.F16, Ordered: true}).Validate(); err == nil ||
		!strings.Contains(err.Error(), "ordered metadata exist only for a sparse A") {
		t.Error(err)
	}
	bad := mma.Op{Shape: 99, A: 98, BitOp: 3}
	if s := bad.String(); s != "Shape(99).row.col.Type(0).Type(98).Type(0).Type(0).BitOp(3)" {
		t.Error(s)
	}
	a, b, d := bf16K16.FragmentA().Make(), bf16K16.FragmentB().Make(), bf16K16.FragmentD().Make()
	d[0][0] = 7
	for want, err := range map[string]error{
		"nothing multiplies":                 new(mma.Warp).MMA(bad, d, a, b),
		"3 registers of A, want 4":           new(mma.Warp).MMA(bf16K16, d, a[:3], b),
		"4 registers of B, want 2":           new(mma.Warp).MMA(bf16K16, d, a, a),
		"0 registers of C and D, want 4":     new(mma.Warp).MMA(bf16K16, nil, a, b),
		"bf16.bf16.f32: 2 registers of C an": new(mma.Warp).MMA(bf16K16, d[:2], a, b),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if d[0][0] != 7 {
		t.Error("an error has changed D")
	}
	f := bf16K16.FragmentD()
	for want, f := range map[string]func(){
		"mma: element 4 of lane 0, have 4 elements in each of 32 lanes": func() { f.Bits(d, 0, 4) },
		"mma: element 0 of lane 32":                                     func() { f.Coord(32, 0) },
		"mma: element (16, 0) of 16 rows and 8 columns":                 func() { f.Index(16, 0) },
		"mma: Shape(99)": func() { bad.FragmentB() },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.HasPrefix(v, want) {
					t.Errorf("panic %q, want %q", v, want)
				}
			}()
			f()
		}()
	}
}

// The operands may be the same registers: they are read before D is written.
func TestSameRegisters(t *testing.T) {
	op := mma.Op{Shape: mma.M16N8K8, A: mma.F16, B: mma.F16, D: mma.F16}
	f := op.FragmentA()
	r := f.Make()
	for lane := range mma.Lanes {
		for i := range f.Elements() {
			row, k := f.Coord(lane, i)
			f.SetFloat32(r, lane, i, float32(row-2*k))
		}
	}
	want := slices.Clone(r)
	if err := new(mma.Warp).MMA(op, want, slices.Clone(r), slices.Clone(r[:1])); err != nil {
		t.Fatal(err)
	}
	if err := new(mma.Warp).MMA(op, r, r, r[:1]); err != nil || !slices.Equal(r, want) {
		t.Errorf("%v: D differs if it is A and B, too", err)
	}
}

// Which NaN an f64 keeps.
func TestDoubleNaN(t *testing.T) {
	op := mma.Op{Shape: mma.M8N8K4, A: mma.F64, B: mma.F64, D: mma.F64}
	const one, inf, nan = 0x3ff << 52, 0x7ff << 52, 0x7ff << 52 // with a payload
	for _, c := range []struct{ a, b, c, want uint64 }{
		{nan | 1, nan | 2, nan | 3, nan | 1<<51 | 2},
		{nan | 1, one, nan | 3, nan | 1<<51 | 3},
		{1<<63 | nan | 1, one, one, 1<<63 | nan | 1<<51 | 1},
		{inf, 0, one, 0xfff8 << 48},
		{inf, one, 1<<63 | inf, 0xfff8 << 48},
		{inf, one, one, inf},
	} {
		a, b, d := op.FragmentA().Make(), op.FragmentB().Make(), op.FragmentD().Make()
		op.FragmentA().SetBits(a, 0, 0, c.a)
		op.FragmentB().SetBits(b, 0, 0, c.b)
		op.FragmentD().SetBits(d, 0, 0, c.c)
		if err := new(mma.Warp).MMA(op, d, a, b); err != nil {
			t.Fatal(err)
		}
		if got := op.FragmentD().Bits(d, 0, 0); got != c.want {
			t.Errorf("%#x·%#x + %#x is %#x, want %#x", c.a, c.b, c.c, got, c.want)
		}
	}
}
