package mma_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/mma"
)

// A fill is what the elements of an operand are like.
type fill struct {
	name string
	next func(r *rand.Rand) float64
}

var (
	integers = fill{"integers", func(r *rand.Rand) float64 { return float64(r.IntN(512) - 256) }}
	large    = fill{"large", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), 100+r.IntN(29)) }}

	fills = []fill{
		integers, large,
		{"ordinary", func(r *rand.Rand) float64 { return r.NormFloat64() }},
		{"of a kind", func(r *rand.Rand) float64 { return 1 + r.Float64() }},
		{"subnormal", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), -14-r.IntN(12)) }},
		{"tiny", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), -118-r.IntN(32)) }},
		{"wide", func(r *rand.Rand) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(50)-25) }},
		{"sparse", func(r *rand.Rand) float64 { return r.NormFloat64() * float64(r.IntN(4)/3) }},
	}
)

// of returns the registers of an operand. One in so many elements is any bits, infinities and NaNs among them.
func (x fill) of(r *rand.Rand, f mma.Fragment, wild int) [][mma.Lanes]uint32 {
	regs := f.Make()
	for lane := range mma.Lanes {
		for i := range f.Elements() {
			if f.SetFloat32(regs, lane, i, float32(x.next(r))); wild > 0 && r.IntN(wild) == 0 {
				f.SetBits(regs, lane, i, r.Uint64())
			}
		}
	}
	return regs
}

// cancel makes products of a and b in neighbouring k each other's opposite, but for their last bits.
func cancel(r *rand.Rand, fa, fb mma.Fragment, a, b [][mma.Lanes]uint32) {
	for k := 0; k < fa.Cols; k += 2 {
		for row := range fa.Rows {
			l0, i0 := fa.Index(row, k)
			l1, i1 := fa.Index(row, k+1)
			fa.SetBits(a, l1, i1, fa.Bits(a, l0, i0)^uint64(r.IntN(16)/15))
		}
		for col := range fb.Cols {
			l0, i0 := fb.Index(k, col)
			l1, i1 := fb.Index(k+1, col)
			fb.SetFloat32(b, l1, i1, -fb.Float32(b, l0, i0))
		}
	}
}

// Assembly has the bits of plain Go: for every instruction and all sorts of operands.
func TestAssembly(t *testing.T) {
	if !mma.Assembly {
		t.Skip("plain Go multiplies")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, op := range every() {
		fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
		for range 12 {
			x, y := fills[r.IntN(len(fills))], fills[r.IntN(len(fills))]
			wild := []int{0, 400, 8}[r.IntN(3)]
			a, b, got := x.of(r, fa, wild), y.of(r, fb, wild), y.of(r, fd, wild)
			if r.IntN(3) == 0 {
				cancel(r, fa, fb, a, b)
			}
			want := slices.Clone(got)
			for range 2 { // D is C of the next
				if err := new(mma.Warp).MMA(op, got, a, b); err != nil {
					t.Fatal(err)
				}
				if err := mma.Plain(op, want, a, b); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%v, A %s, B %s:\n%x, in plain Go\n%x", op, x.name, y.name, got, want)
				}
			}
		}
	}
}

// product is that of two integers.
func product(op mma.Op, a, b int64) int64 {
	switch op.BitOp {
	case mma.AndPopc:
		return a & b
	case mma.XorPopc:
		return a ^ b
	}
	return a * b
}

// Sums of integers are exact.
func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, op := range every() {
		if op.D != mma.S32 {
			continue
		}
		fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
		for range 4 {
			a, b, d := integers.of(r, fa, 1), integers.of(r, fb, 1), large.of(r, fd, 2)
			c := slices.Clone(d)
			if err := new(mma.Warp).MMA(op, d, a, b); err != nil {
				t.Fatal(err)
			}
			for row := range fd.Rows {
				for col := range fd.Cols {
					lane, i := fd.Index(row, col)
					sum := int64(int32(fd.Bits(c, lane, i)))
					for k := range fa.Cols {
						la, ia := fa.Index(row, k)
						lb, ib := fb.Index(k, col)
						sum += product(op, int64(fa.Float32(a, la, ia)), int64(fb.Float32(b, lb, ib)))
					}
					if op.Saturate {
						sum = min(max(sum, math.MinInt32), math.MaxInt32)
					}
					if got := int32(fd.Bits(d, lane, i)); got != int32(sum) {
						t.Fatalf("%v: (%d, %d) is %d, want %d", op, row, col, got, int32(sum))
					}
				}
			}
		}
	}
}
