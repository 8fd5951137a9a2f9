package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/enum"
)

// An Epilogue is what [gemm.Multiply] does to the sums of a product besides alpha and beta. The zero value is nothing.
type Epilogue struct {
	Scales     Scales
	Bias       bool // of the columns of C, uniform in [-1, 1)
	Activation gemm.Activation
}

// Scales says of what a product has scales, uniform in [0.01, 1.01).
type Scales uint8

const (
	NoScales     Scales = iota
	TensorScales        // one of A and one of B
	RowScales           // one of each row of A and one of each column of B
)

// String returns the name of s: none, tensor or row.
func (s Scales) String() string { return enum.Name("Scales", []string{"none", "tensor", "row"}, s) }

// validate reports what is none of the values that e may have.
func (e Epilogue) validate() error {
	if e.Scales > RowScales {
		return fmt.Errorf("bench: %v are none of %v, %v, %v", e.Scales, NoScales, TensorScales, RowScales)
	}
	if all := asm.Activations(); !slices.Contains(all, e.Activation) {
		return fmt.Errorf("bench: %v is none of %v", e.Activation, all)
	}
	return nil
}

// vectors are the values of an epilogue; nil is none.
type vectors struct{ scaleA, scaleB, bias []float32 }

// vectors returns those of w.
func (w Workload) vectors() (v vectors) {
	values := func(n, which int) []float32 {
		o := newOperand(asm.F32, 1, n, false)
		o.fill(context.Background(), mix(w.Seed, which))
		return o.view.(gemm.Matrix[float32]).Data
	}
	scales := func(n, which int) []float32 {
		s := values(n, which)
		for i, x := range s {
			s[i] = max(x, -x) + 0.01
		}
		return s
	}
	switch w.Scales {
	case TensorScales:
		v.scaleA, v.scaleB = scales(1, 3), scales(1, 4)
	case RowScales:
		v.scaleA, v.scaleB = scales(w.M, 3), scales(w.N, 4)
	}
	if w.Bias {
		v.bias = values(w.N, 5)
	}
	return v
}

// valueAt returns the value of v for a row or column, or none's: v may have one for all.
func valueAt(v []float32, i int, none float32) float32 {
	if v == nil {
		return none
	}
	return v[min(i, len(v)-1)]
}

// activated returns the limit of f(x) for an x within l.
func (l limit) activated(f gemm.Activation) limit {
	if f == gemm.Identity {
		return l
	}
	const (
		steepest = 1.13 // derivative of all activations: GELU's at √2
		u        = 0x1p-23
	)
	if math.IsInf(l.want, 0) {
		return limit{atInfinity(f, l.want), l.bound}
	}
	x, bound := l.want, l.bound*steepest
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	switch f {
	case gemm.ReLU: // which is exact, and leaves -0
		if x < 0 {
			x = 0
		}
		return limit{x, l.bound}
	case gemm.GELU:
		l.want = x * math.Erfc(-x/math.Sqrt2) / 2
	case gemm.GELUTanh:
		l.want = x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
	case gemm.SiLU:
		l.want = x * sigmoid(x)
	case gemm.Sigmoid:
		l.want = sigmoid(x)
	case gemm.Tanh:
		l.want = math.Tanh(x)
	}
	// What gemm says of them: up to 4 units of float32's last place of the result, or of the argument.
	l.bound = bound + 4*u*max(math.Abs(x), math.Abs(l.want)) + 0x1p-117
	return l
}

// atInfinity returns f(x) for an infinite x, exactly: the formulas multiply that by 0, and it has no last place.
func atInfinity(f gemm.Activation, x float64) float64 {
	switch {
	case f == gemm.Tanh:
		return math.Copysign(1, x)
	case x < 0:
		return 0
	case f == gemm.Sigmoid:
		return 1
	}
	return x
}
