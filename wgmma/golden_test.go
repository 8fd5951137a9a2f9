package wgmma

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// recordings are the files of multiplications and how many elements of D each
// must hold.
var recordings = []struct {
	file     string
	typ      uint32
	op       Op
	elements int
}{
	{"bf16", golden.WGMMABF16, Op{Kind: BF16F32}, 65536},
	{"f16", golden.WGMMAF16, Op{Kind: F16F32}, 65536},
	{"tf32", golden.WGMMATF32, Op{Kind: TF32F32}, 24576},
	{"e4m3", golden.WGMMAE4M3, Op{Kind: E4M3F32}, 24576},
	{"e5m2", golden.WGMMAE5M2, Op{Kind: E5M2F32}, 24576},
	{"e4m3xe5m2", golden.WGMMAE4M3xE5M2, Op{Kind: E4M3E5M2F32}, 24576},
	{"f16acc", golden.WGMMAF16Acc, Op{Kind: F16F16}, 32768},
	{"e4m3_f16", golden.WGMMAE4M3F16, Op{Kind: E4M3F16}, 12288},
	{"e5m2_f16", golden.WGMMAE5M2F16, Op{Kind: E5M2F16}, 12288},
	{"s8", golden.WGMMAS8, Op{Kind: S8S32}, 8192},
	{"u8", golden.WGMMAU8, Op{Kind: U8S32}, 8192},
	{"s8u8", golden.WGMMAS8U8, Op{Kind: S8U8S32}, 8192},
	{"s8sat", golden.WGMMAS8Sat, Op{Kind: S8S32, Saturate: true}, 8192},
	{"b1", golden.WGMMAB1, Op{Kind: B1S32}, 3072},
}

// eachRecording runs f on every file of the kinds that which selects, as a
// subtest.
func eachRecording(t *testing.T, f func(t *testing.T, op Op, tiles []golden.WGMMA), which func(Kind) bool) {
	for _, r := range recordings {
		if !which(r.op.Kind) {
			continue
		}
		t.Run(r.file, func(t *testing.T) {
			tiles, err := golden.Records("testdata/wgmma_"+r.file+".bin.gz", golden.ParseWGMMAs)
			if err != nil {
				t.Fatal(err)
			}
			typ := tiles[0].Type
			if n := len(tiles) * golden.WGMMARows * golden.WGMMAColumns; typ != r.typ || n != r.elements {
				t.Fatalf("type %d, %d elements, want type %d, %d elements", typ, n, r.typ, r.elements)
			}
			op := r.op
			op.N = golden.WGMMAColumns
			f(t, op, tiles)
		})
	}
}

// The instruction gives the recorded bits, with A in shared memory and in
// registers, in every layout of the operands, in assembly and in plain Go.
func TestGolden(t *testing.T) { eachRecording(t, checkTiles, Kind.Valid) }

// checkTiles multiplies recorded tiles by op.
func checkTiles(t *testing.T, op Op, tiles []golden.WGMMA) {
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
}

// place puts the operands of m where n selects, and A into registers if asked
// to.
func place(op Op, shared *tile.Shared, m *golden.WGMMA, n int, registers bool) (Op, Operand, Descriptor) {
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
		for k := range RowBytes / size {
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
		for k := range RowBytes / size {
			var u [4]byte
			copy(u[:], m.A[i][k*size:(k+1)*size])
			f.SetBits(i, k, binary.LittleEndian.Uint32(u[:]))
		}
	}
	return op, f, b
}

// The definition of floating-point kinds in integers gives the recorded bits too.
func TestGoldenStep(t *testing.T) {
	eachRecording(t, func(t *testing.T, op Op, tiles []golden.WGMMA) {
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
