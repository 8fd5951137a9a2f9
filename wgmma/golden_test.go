package wgmma

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := golden.Read("testdata/wgmma_" + name + ".bin.gz")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// recordings are the files of multiplications and how many elements of D each
// must hold.
var recordings = []struct {
	file     string
	typ      uint32
	op       Op
	elements int
}{
	{"bf16", golden.MMABF16, Op{Kind: BF16F32}, 65536},
	{"f16", golden.MMAF16, Op{Kind: F16F32}, 65536},
	{"tf32", golden.MMATF32, Op{Kind: TF32F32}, 24576},
	{"e4m3", golden.MMAE4M3, Op{Kind: E4M3F32}, 24576},
	{"e5m2", golden.MMAE5M2, Op{Kind: E5M2F32}, 24576},
	{"e4m3xe5m2", golden.MMAE4M3xE5M2, Op{Kind: E4M3E5M2F32}, 24576},
	{"f16acc", golden.MMAF16Acc, Op{Kind: F16F16}, 32768},
	{"e4m3_f16", golden.MMAE4M3F16, Op{Kind: E4M3F16}, 12288},
	{"e5m2_f16", golden.MMAE5M2F16, Op{Kind: E5M2F16}, 12288},
	{"s8", golden.MMAS8, Op{Kind: S8S32}, 8192},
	{"u8", golden.MMAU8, Op{Kind: U8S32}, 8192},
	{"s8u8", golden.MMAS8U8, Op{Kind: S8U8S32}, 8192},
	{"s8sat", golden.MMAS8Sat, Op{Kind: S8S32, Saturate: true}, 8192},
	{"b1", golden.MMAB1, Op{Kind: B1S32}, 3072},
}

// eachRecording runs f on every file of the kinds that which selects, as a
// subtest.
func eachRecording(t *testing.T, f func(t *testing.T, op Op, tiles []golden.MMA), which func(Kind) bool) {
	for _, r := range recordings {
		if !which(r.op.Kind) {
			continue
		}
		t.Run(r.file, func(t *testing.T) {
			m, err := golden.ParseMMAs(readGolden(t, r.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(m.Tiles) * golden.MMARows * golden.MMAColumns; m.Type != r.typ || n != r.elements {
				t.Fatalf("type %d, %d elements, want type %d, %d elements", m.Type, n, r.typ, r.elements)
			}
			op := r.op
			op.N = golden.MMAColumns
			f(t, op, m.Tiles)
		})
	}
}

// The instruction gives the recorded bits, with A in shared memory and in
// registers, in every layout of the operands, in assembly and in plain Go.
func TestGolden(t *testing.T) {
	eachRecording(t, func(t *testing.T, op Op, tiles []golden.MMA) {
		shared, err := tile.NewShared(16 << 10)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWarpgroup(shared, Checked())
		d, err := NewAccumulator(op.Kind.AccumulatorType(), op.N)
		if err != nil {
			t.Fatal(err)
		}
		wrong, checked := 0, 0
		for n := range tiles {
			m := &tiles[n]
			for variant := range 4 {
				w.plain = variant >= 2
				for i := range m.C {
					for j, u := range m.C[i] {
						d.SetBits(i, j, u)
					}
				}
				op, a, b := place(op, shared, m, n, variant%2 == 1)
				w.Fence()
				if err := w.MMA(op, d, a, b); err != nil {
					t.Fatal(err)
				}
				w.CommitGroup()
				if err := w.WaitGroup(0); err != nil {
					t.Fatal(err)
				}
				for i := range m.D {
					for j, want := range m.D[i] {
						checked++
						if got := d.Bits(i, j); got != want {
							if wrong++; wrong < 10 {
								t.Errorf("tile %d (%d, %d), variant %d: C %#x gives D %#x, want %#x", n, i, j, variant,
									m.C[i][j], got, want)
							}
						}
					}
				}
			}
		}
		if want := 4 * len(tiles) * 64 * 8; wrong > 0 || checked != want {
			t.Errorf("%d of %d elements differ, want %d checked", wrong, checked, want)
		}
	}, Kind.Valid)
}

// place puts the operands of m where n selects, and A into registers if asked
// to.
func place(op Op, shared *tile.Shared, m *golden.MMA, n int, registers bool) (Op, Operand, Descriptor) {
	size := op.Kind.ElementSize()
	swizzle := tile.Swizzle(n % 4)
	a := Descriptor{Start: 1024, LBO: 128, SBO: 256, Swizzle: swizzle}
	b := Descriptor{Start: 10 << 10, LBO: 1024, SBO: 128, Swizzle: swizzle}
	if s := swizzle.Span(); s > 0 {
		a.SBO, b.SBO = 8*s, 8*s
	}
	if size == 2 && n/4%2 == 1 {
		op.TransposeA, op.TransposeB = true, true
		if s := swizzle.Span(); s > 0 {
			a.LBO, b.LBO = 16*s, 16*s
		}
	}
	put := func(d Descriptor, major bool, row int, bytes []byte) {
		for k := range rowBytes / size {
			copy(shared.Bytes()[d.Address(Major(major), size, row, k):], bytes[k*size:(k+1)*size])
		}
	}
	for j := range m.B {
		put(b, op.TransposeB, j, m.B[j][:])
	}
	if !registers {
		for i := range m.A {
			put(a, op.TransposeA, i, m.A[i][:])
		}
		return op, a, b
	}
	op.TransposeA = false
	f := NewFragment(op.Kind)
	for i := range m.A {
		for k := range rowBytes / size {
			var u [4]byte
			copy(u[:], m.A[i][k*size:(k+1)*size])
			f.SetBits(i, k, binary.LittleEndian.Uint32(u[:]))
		}
	}
	return op, f, b
}

// The definition of floating-point kinds in integers gives the recorded bits too.
func TestGoldenStep(t *testing.T) {
	eachRecording(t, func(t *testing.T, op Op, tiles []golden.MMA) {
		spec := kinds[op.Kind].spec
		wrong, zeros, nans, subnormals := 0, 0, 0, 0
		for n := range tiles {
			m := &tiles[n]
			var a, b [64][]hopper.Word
			for i := range m.A {
				a[i] = words(spec.A, m.A[i][:])
			}
			for j := range m.B {
				b[j] = words(spec.B, m.B[j][:])
			}
			for i := range m.D {
				for j, want := range m.D[i] {
					if got := spec.Step(m.C[i][j], a[i], b[j]); got != want {
						if wrong++; wrong < 10 {
							t.Errorf("tile %d (%d, %d): C %#x gives D %#x, want %#x", n, i, j, m.C[i][j], got, want)
						}
					}
					x := spec.Acc.Decode(want)
					switch {
					case x.Class != hopper.Finite:
						nans++
					case x.Sig == 0:
						zeros++
					case bits.Len32(x.Sig) <= map[hopper.Format]int{hopper.F32: 23, hopper.F16: 10}[spec.Acc]:
						subnormals++
					}
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%d elements differ", wrong)
		}
		if zeros == 0 || nans == 0 {
			t.Errorf("the file has %d zeros, %d infinities and NaNs, %d subnormals: it tests too little", zeros, nans,
				subnormals)
		}
	}, func(k Kind) bool { return !k.Integer() })
}

func words(f hopper.Format, row []byte) []hopper.Word {
	var w []hopper.Word
	for at := 0; at < len(row); at += f.Size() {
		var u [4]byte
		copy(u[:], row[at:at+f.Size()])
		w = append(w, f.Decode(binary.LittleEndian.Uint32(u[:])))
	}
	return w
}

// Every recorded descriptor, by way of its 64-bit form, reads the operands that
// the hardware read.
func TestGoldenDescriptors(t *testing.T) {
	cases, err := golden.ParseDescriptors(readGolden(t, "desc"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 150 {
		t.Fatalf("%d cases, want 150", len(cases))
	}
	shared, err := tile.NewShared(227 << 10)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]any]int{}
	w := NewWarpgroup(shared)
	for n := range cases {
		c := &cases[n]
		memory := shared.Bytes()
		for i := range len(memory) / 2 {
			binary.LittleEndian.PutUint16(memory[2*i:], bf16.FromFloat32(float32(c.Element(uint32(i)))).Bits())
		}
		d, err := NewAccumulator(F32, c.N)
		if err != nil {
			t.Fatal(err)
		}
		op := Op{Kind: BF16F32, N: c.N, Overwrite: true, TransposeA: c.A.MNMajor, TransposeB: c.B.MNMajor}
		descA, errA := DecodeDescriptor(c.A.Word())
		descB, errB := DecodeDescriptor(c.B.Word())
		w.Fence()
		if err := cmp.Or(errA, errB, w.MMA(op, d, descA, descB)); err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
		w.CommitGroup()
		if err := w.WaitGroup(0); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.D {
			if got := d.At(i/c.N, i%c.N); got != float64(want) {
				t.Fatalf("case %d, A %+v, B %+v: D(%d, %d) = %v, want %d", n, c.A, c.B, i/c.N, i%c.N, got, want)
			}
		}
		seen[[2]any{c.A.Swizzle, c.A.MNMajor}]++
		seen[[2]any{c.B.Swizzle, c.B.MNMajor}]++
	}
	if len(seen) != 8 {
		t.Errorf("%d layouts in the file, want 4 swizzles K-major and MN-major: %v", len(seen), seen)
	}
}
