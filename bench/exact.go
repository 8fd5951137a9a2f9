package bench

import (
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tf32"
	"github.com/x448/float16"
)

// exact computes entries of C in Hopper's arithmetic with the rule in integers of package internal/hopper, which
// shares nothing with the kernels. What cuBLASLt does with alpha, beta and GELU is a function of package asm that
// products use, too: recordings hold that.
type exact struct {
	w     Workload
	c0    *operand // C's old value; nil if beta is 0
	v     vectors
	spec  hopper.Spec
	chain int // elements of K in a chain
}

// hopperFormats are what the tensor core calls the types of A and B.
var hopperFormats = map[asm.Type]hopper.Format{
	asm.BF16: hopper.BF16, asm.F16: hopper.F16, asm.F32: hopper.TF32, asm.E4M3: hopper.E4M3, asm.E5M2: hopper.E5M2,
}

// fullExact is fullProduct for entries that must be exact: about 0.1 s.
const fullExact = 1 << 23

func newExact(w Workload, c0 *operand) *exact {
	f := hopperFormats[w.In]
	x := &exact{w: w, c0: c0, v: w.vectors(), spec: hopper.SpecOf(f, f, hopper.F32)}
	parts := max(1, w.SplitK)
	const unit = 64 // of gemm.WithSplitK, a multiple of every L
	x.chain = ((w.K+parts-1)/parts + unit - 1) / unit * unit
	if w.Promotion > 0 {
		x.chain = w.Promotion
	}
	return x
}

// whole rounds k up to whole steps.
func (x *exact) whole(k int) int { return (k + x.spec.L - 1) / x.spec.L * x.spec.L }

// limits returns the limits of the entries of C in a row that lie in the columns
// lo <= j < hi.
func (x *exact) limits(a, b *operand, i, lo, hi int) []limit {
	row, column := make([]hopper.Word, x.whole(x.w.K)), make([]hopper.Word, x.whole(x.w.K))
	for k := range x.w.K {
		row[k] = x.decode(a.bits(i, k))
	}
	l := make([]limit, 0, hi-lo)
	for j := lo; j < hi; j++ {
		for k := range x.w.K {
			column[k] = x.decode(b.bits(k, j))
		}
		l = append(l, x.finish(x.sum(row, column), i, j))
	}
	return l
}

// decode decodes an element of A or B, which are of one type. float32 is rounded to
// tf32 first.
func (x *exact) decode(u uint32) hopper.Word {
	if x.spec.A == hopper.TF32 {
		u = tf32.RoundBits(u)
	}
	return x.spec.A.Decode(u)
}

// sum returns the sum of the chains into which K is cut.
func (x *exact) sum(row, column []hopper.Word) float32 {
	sum := float32(0)
	for first := 0; first < len(row); first += x.chain {
		acc := uint32(0)
		for k := first; k < min(first+x.chain, len(row)); k += x.spec.L {
			acc = x.spec.Step(acc, row[k:k+x.spec.L], column[k:k+x.spec.L])
		}
		if part := math.Float32frombits(acc); first == 0 {
			sum = part
		} else {
			sum += part
		}
	}
	return sum
}

// finish returns what becomes of a sum, rounded to the type of C: exact but for an activation that is no GPU's.
func (x *exact) finish(sum float32, i, j int) limit {
	switch a, b := valueAt(x.v.scaleA, i, 1), valueAt(x.v.scaleB, j, 1); x.w.Scales {
	case TensorScales:
		sum *= float32(a * b)
	case RowScales:
		sum = float32(sum*b) * a
	}
	var v float32
	if x.c0 != nil {
		v = float32(x.c0.at(i, j))
	}
	at := unsafe.Pointer(&v)
	asm.CombineHopper(x.w.Out, at, 4, unsafe.Pointer(&sum), 4, 1, 1, float32(x.w.Alpha), float32(x.w.Beta))
	if x.w.Bias {
		v += x.v.bias[j]
	}
	f := x.w.Activation
	if f == gemm.GELUTanh {
		asm.ActivateHopper(at, 4, at, 4, 1, 1, asm.Vector{}, f)
		f = gemm.Identity
	}
	l := limit{want: float64(v)}.activated(f)
	if l.bound > 0 {
		f := roundingOf(x.w.Out)
		l.bound += f.roundoff*(math.Abs(l.want)+l.bound) + f.tiny
		return l
	}
	v = float32(l.want)
	switch x.w.Out {
	case asm.BF16:
		v = bf16.FromFloat32(v).Float32()
	case asm.F16:
		v = float16.Fromfloat32(v).Float32()
	}
	return limit{want: float64(v)}
}
