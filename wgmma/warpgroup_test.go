package wgmma

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// A workbench is shared memory with an A at 0 and a B at bAt, both K-major and not
// swizzled: row r at 128(r/8) + 16(r%8), its second half aHalf or bHalf further.
type workbench struct {
	shared *tile.Shared
	a, b   Descriptor
}

const (
	aHalf = M * 16
	bAt   = 2 * aHalf
	bHalf = 256 * 16
)

func newWorkbench(t testing.TB) *workbench {
	t.Helper()
	shared, err := tile.NewShared(bAt + 2*bHalf)
	if err != nil {
		t.Fatal(err)
	}
	return &workbench{
		shared: shared,
		a:      Descriptor{LBO: aHalf, SBO: 128},
		b:      Descriptor{Start: bAt, LBO: bHalf, SBO: 128},
	}
}

// fill writes elements of size bytes that u returns, first those of A, rows
// first.
func (w *workbench) fill(size, n int, u func() uint32) (a, b []hopper.Row) {
	put := func(d Descriptor, rows int) []hopper.Row {
		dense := make([]hopper.Row, rows)
		for r := range rows {
			for k := range RowBytes / size {
				var v [4]byte
				binary.LittleEndian.PutUint32(v[:], u())
				copy(dense[r][k*size:(k+1)*size], v[:])
				copy(w.shared.Bytes()[d.Address(KMajorLayout, size, r, k):], v[:size])
			}
		}
		return dense
	}
	return put(w.a, M), put(w.b, n)
}

// issue runs one instruction to its end.
func issue(t testing.TB, w *Warpgroup, op Op, d *Accumulator, a Operand, b Descriptor) {
	t.Helper()
	w.Fence()
	if err := w.MMA(op, d, a, b); err != nil {
		t.Fatal(err)
	}
	w.CommitGroup()
	if err := w.WaitGroup(0); err != nil {
		t.Fatal(err)
	}
}

// A row is a row of an operand as a step takes it.
type row struct {
	words []hopper.Word
	ints  []int64
}

// decode reads a row of an operand of op, of B if isB.
func decode(op Op, bytes []byte, isB bool) (r row) {
	k := kinds[op.Kind]
	if op.Kind == B1S32 {
		for i := range 8 * len(bytes) {
			r.ints = append(r.ints, int64(bytes[i/8]>>(i%8)&1))
		}
		return r
	}
	if op.Kind.Integer() {
		signed := !isB && k.ints.SignedA || isB && k.ints.SignedB
		for _, v := range bytes {
			x := int64(v)
			if signed {
				x = int64(int8(v))
			}
			r.ints = append(r.ints, x)
		}
		return r
	}
	format, negate := k.spec.A, op.NegateA
	if isB {
		format, negate = k.spec.B, op.NegateB
	}
	r.words = words(format, bytes)
	for i := range r.words {
		r.words[i].Neg = r.words[i].Neg != negate
	}
	return r
}

// want computes an element by the definition.
func want(op Op, acc uint32, a, b row) uint32 {
	if op.Overwrite {
		acc = 0
	}
	if !op.Kind.Integer() {
		return kinds[op.Kind].spec.Step(acc, a.words, b.words)
	}
	sum := int64(int32(acc))
	for i := range a.ints {
		sum += a.ints[i] * b.ints[i]
	}
	if op.Saturate {
		sum = max(math.MinInt32, min(math.MaxInt32, sum))
	}
	return uint32(sum)
}

// Every kind, every N that it allows, every modifier: D is what the definition
// gives for each element.
func TestEveryShape(t *testing.T) {
	w := newWorkbench(t)
	r := rand.New(rand.NewPCG(1, 2))
	shapes := 0
	for kind := BF16F32; kind.Valid(); kind++ {
		wg := NewWarpgroup(w.shared, Checked())
		for n := 8; n <= 256; n += 8 {
			op := Op{Kind: kind, N: n}
			if kind.Integer() {
				op.Saturate = kind != B1S32 && n%32 == 0
			} else {
				op.NegateA, op.NegateB = n/8%2 == 1, n/16%2 == 1
			}
			op.Overwrite = n%24 == 0
			if op.Validate() != nil {
				continue
			}
			shapes++
			if raceEnabled && n > 64 {
				continue
			}
			a, b := w.fill(kind.ElementSize(), n, r.Uint32)
			d := newAccumulator(t, kind.AccumulatorType(), n)
			before := make([]uint32, M*n)
			for i := range before {
				if i%3 == 0 {
					d.SetBits(i/n, i%n, r.Uint32())
				}
				before[i] = d.Bits(i/n, i%n)
			}
			issue(t, wg, op, d, w.a, w.b)
			var columns []row
			for j := range b {
				columns = append(columns, decode(op, b[j][:], true))
			}
			for i := range a {
				x := decode(op, a[i][:], false)
				for j, y := range columns {
					if got, want := d.Bits(i, j), want(op, before[i*n+j], x, y); got != want {
						t.Fatalf("%v: D(%d, %d) = %#x, want %#x", op, i, j, got, want)
					}
				}
			}
		}
	}
	if want := 12*32 + 5*(3+15); shapes != want {
		t.Errorf("%d shapes, want %d", shapes, want)
	}
}

// NaNs in the accumulator do not survive scale-d = 0, and do otherwise.
func TestOverwriteNaN(t *testing.T) {
	w := newWorkbench(t)
	w.fill(2, 16, func() uint32 { return 0x3f80 })
	wg := NewWarpgroup(w.shared)
	for _, overwrite := range []bool{true, false} {
		d := newAccumulator(t, F32, 16)
		for i := range M * 16 {
			d.Set(i/16, i%16, math.NaN())
		}
		issue(t, wg, Op{N: 16, Overwrite: overwrite}, d, w.a, w.b)
		for i := range M * 16 {
			if got := d.At(i/16, i%16); overwrite && got != 16 || !overwrite && got == got {
				t.Fatalf("overwrite %v: D(%d, %d) = %v", overwrite, i/16, i%16, got)
			}
		}
	}
}

// Negating one operand negates the products, both nothing.
func TestNegate(t *testing.T) {
	w := newWorkbench(t)
	w.fill(2, 8, func() uint32 { return 0x3f80 })
	wg := NewWarpgroup(w.shared)
	for _, c := range []struct {
		a, b bool
		want float64
	}{{false, false, 17}, {true, false, -15}, {false, true, -15}, {true, true, 17}} {
		d := newAccumulator(t, F32, 8)
		d.Set(3, 3, 1)
		issue(t, wg, Op{N: 8, NegateA: c.a, NegateB: c.b}, d, w.a, w.b)
		if got := d.At(3, 3); got != c.want {
			t.Errorf("NegateA %v, NegateB %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// Nothing happens before the wait, groups complete in order, and the operands
// that count are those of the wait.
func TestAsynchrony(t *testing.T) {
	w := newWorkbench(t)
	w.fill(2, 8, func() uint32 { return 0x3f80 }) // 1
	wg := NewWarpgroup(w.shared)
	d, e := newAccumulator(t, F32, 8), newAccumulator(t, F32, 8)
	op := Op{N: 8}
	mma := func(d *Accumulator) {
		t.Helper()
		if err := wg.MMA(op, d, w.a, w.b); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(n int) {
		t.Helper()
		if err := wg.WaitGroup(n); err != nil {
			t.Fatal(err)
		}
	}
	wg.Fence()
	mma(d)
	mma(d)
	wait(0) // nothing is committed
	wg.CommitGroup()
	mma(e)
	wg.CommitGroup()
	wg.CommitGroup() // empty
	if d.At(0, 0) != 0 || e.At(0, 0) != 0 || wg.Pending() != 3 {
		t.Errorf("before the wait D = %v, %v, %d groups pending, want 0, 0, 3", d.At(0, 0), e.At(0, 0), wg.Pending())
	}
	wait(3)
	if d.At(0, 0) != 0 {
		t.Errorf("after WaitGroup(3) D = %v, want 0", d.At(0, 0))
	}
	wait(2)
	if d.At(0, 0) != 32 || e.At(0, 0) != 0 {
		t.Errorf("after WaitGroup(2) D = %v, %v, want 32, 0", d.At(0, 0), e.At(0, 0))
	}
	w.fill(2, 8, func() uint32 { return 0x4000 }) // 2: too early
	wait(0)
	if e.At(0, 0) != 64 || d.At(0, 0) != 32 || wg.Pending() != 0 {
		t.Errorf("after WaitGroup(0) D = %v, %v, %d groups pending, want 32, 64, 0", d.At(0, 0), e.At(0, 0),
			wg.Pending())
	}
	if err := wg.WaitGroup(-1); err == nil {
		t.Error("no error for WaitGroup(-1)")
	}
}

// A product with K = 64 by four instructions in a group is the chain of steps.
func TestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	shared, err := tile.NewShared(24 << 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range shared.Bytes() {
		shared.Bytes()[i] = byte(r.Uint32())
		if i%2 == 1 {
			shared.Bytes()[i] = byte(0x3c + r.IntN(8) | r.IntN(2)<<7)
		}
	}
	a, b := KMajor(0, tile.Swizzle128B), KMajor(8192, tile.Swizzle128B)
	wg := NewWarpgroup(shared, Checked())
	d := newAccumulator(t, F32, 128)
	op := Op{Kind: BF16F32, N: 128}
	wg.Fence()
	for k := range 4 {
		op.Overwrite = k == 0
		if err := wg.MMA(op, d, a.Advance(32*k), b.Advance(32*k)); err != nil {
			t.Fatal(err)
		}
	}
	wg.CommitGroup()
	if err := wg.WaitGroup(0); err != nil {
		t.Fatal(err)
	}
	read := func(d Descriptor, r, step int) row {
		var out []byte
		for k := range 16 {
			at := d.Advance(32*step).Address(KMajorLayout, 2, r, k)
			out = append(out, shared.Bytes()[at:at+2]...)
		}
		return decode(Op{}, out, false)
	}
	for i := range M {
		for j := range 128 {
			acc := uint32(0)
			for step := range 4 {
				acc = want(Op{}, acc, read(a, i, step), read(b, j, step))
			}
			if got := d.Bits(i, j); got != acc {
				t.Fatalf("D(%d, %d) = %#x, want %#x", i, j, got, acc)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	w := newWorkbench(t)
	wg := NewWarpgroup(w.shared)
	f32, f16, s32 := newAccumulator(t, F32, 16), newAccumulator(t, F16, 16), newAccumulator(t, S32, 16)
	for _, c := range []struct {
		op   Op
		d    *Accumulator
		a    Operand
		b    Descriptor
		want string
	}{
		{Op{Kind: 17, N: 16}, f32, w.a, w.b, "Kind(17) is not a kind"},
		{Op{N: 0}, f32, w.a, w.b, "N = 0, must be a multiple of 8 from 8 to 256"},
		{Op{N: 12}, f32, w.a, w.b, "N = 12, must be a multiple of 8 from 8 to 256"},
		{Op{N: 264}, f32, w.a, w.b, "N = 264, must be a multiple of 8 from 8 to 256"},
		{Op{Kind: U8S32, N: 40}, s32, w.a, w.b, "N = 40, must be 8, 16, 24, or a multiple of 16 from 32 to 256 for " +
			"integer types"},
		{Op{Kind: TF32F32, N: 16, TransposeA: true}, f32, w.a, w.b, "imm-trans-a/b exist only for 16-bit types"},
		{Op{Kind: E4M3F16, N: 16, TransposeB: true}, f16, w.a, w.b, "imm-trans-a/b exist only for 16-bit types"},
		{Op{Kind: S8S32, N: 16, NegateB: true}, s32, w.a, w.b, "imm-scale-a/b exist only for floating-point types"},
		{Op{N: 16, Saturate: true}, f32, w.a, w.b, ".satfinite exists only for integer types"},
		{Op{Kind: B1S32, N: 16, Saturate: true}, s32, w.a, w.b, ".satfinite exists only for 8-bit types"},
		{Op{Kind: B1S32, N: 16, TransposeB: true}, s32, w.a, w.b, "the elements of s32.b1.b1.and.popc have 1 bits"},
		{Op{N: 16}, nil, w.a, w.b, "the accumulator is nil"},
		{Op{N: 16}, f16, w.a, w.b, "the accumulator is f16 with N = 16, must be f32 with N = 16"},
		{Op{N: 8}, f32, w.a, w.b, "the accumulator is f32 with N = 16, must be f32 with N = 8"},
		{Op{N: 16}, f32, nil, w.b, "A is nil, must be Descriptor or *Fragment"},
		{Op{N: 16}, f32, &w.a, w.b, "A is *wgmma.Descriptor, must be Descriptor or *Fragment"},
		{Op{N: 16}, f32, (*Fragment)(nil), w.b, "A is a nil *Fragment"},
		{Op{N: 16}, f32, NewFragment(S8S32), w.b, "A in registers has elements of 1 bytes, must be 2"},
		{Op{N: 16, TransposeA: true}, f32, NewFragment(F16F16), w.b, "imm-trans-a is for A in shared memory"},
		{Op{N: 16}, f32, Descriptor{Start: 8}, w.b,
			"start address 8, must be a multiple of 16 from 0 to 262128 (14 bits in units of 16 bytes) (operand A"},
		{Op{N: 16}, f32, w.a, Descriptor{BaseOffset: 8}, "base offset 8, must be 0 to 7 (operand B"},
		{Op{N: 16}, f32, w.a.Advance(bAt + 2*bHalf - aHalf), w.b,
			"shared memory has 10240 (operand A of m64n16k16.f32.bf16.bf16)"},
		{Op{N: 16}, f32, w.a, w.b.Advance(bHalf), "reaches over the bytes 6144 to 10495, shared memory has 10240 (operand B"},
	} {
		err := wg.MMA(c.op, c.d, c.a, c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "wgmma: ") {
			t.Errorf("%+v: error %v, want %q", c.op, err, c.want)
		}
	}
	wg.CommitGroup()
	if err := wg.WaitGroup(0); err != nil || f32.At(0, 0) != 0 || f32.pending != 0 {
		t.Errorf("refused instructions left %v, %v, %d pending", err, f32.At(0, 0), f32.pending)
	}
	if err := NewWarpgroup(nil).MMA(Op{N: 16}, f32, NewFragment(BF16F32), Descriptor{}); err == nil {
		t.Error("no error without shared memory")
	}
	if err := NewWarpgroup(w.shared, Within(-1)).MMA(Op{N: 16}, f32, w.a, w.b); err == nil ||
		!strings.Contains(err.Error(), "shared memory has 0") {
		t.Errorf("within -1 bytes: error %v", err)
	}
}

func TestStrings(t *testing.T) {
	for got, want := range map[string]string{
		Op{N: 128}.String(): "m64n128k16.f32.bf16.bf16",
		Op{Kind: S8U8S32, N: 8, Saturate: true}.String(): "m64n8k32.s32.s8.u8.satfinite",
		Op{Kind: TF32F32, N: 256}.String():               "m64n256k8.f32.tf32.tf32",
		Op{Kind: 77, N: 8}.String():                      "m64n8.Kind(77)",
		fmt.Sprint(F32, F16, S32, AccumulatorType(9)):    "f32 f16 s32 AccumulatorType(9)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
