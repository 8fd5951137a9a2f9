package bench

import (
	"bytes"
	"context"
	"math"
	"testing"

	"example.com/leafhopper/asm"
)

var (
	floatTypes  = []asm.Type{asm.BF16, asm.F16, asm.F32} // of sums in float32, and those of C
	hopperTypes = append(floatTypes[:3:3], asm.E4M3, asm.E5M2)
	allTypes    = append(hopperTypes[:5:5], asm.F64)
)

func TestOperandFill(t *testing.T) {
	for _, elem := range allTypes {
		for _, trans := range []bool{false, true} {
			a, b := newOperand(elem, 70, 1003, trans), newOperand(elem, 70, 1003, trans)
			a.fill(t.Context(), 7)
			b.fill(t.Context(), 7)
			if !bytes.Equal(a.raw, b.raw) {
				t.Errorf("%v: the same seed gives different operands", elem)
			}
			if b.fill(t.Context(), 8); bytes.Equal(a.raw, b.raw) {
				t.Errorf("%v: another seed gives the same operand", elem)
			}
			if !bytes.Equal(a.clone().raw, a.raw) {
				t.Errorf("%v: a clone differs", elem)
			}
			sum, squares, lastBits := 0.0, 0.0, 0
			for i := range a.rows {
				for j := range a.cols {
					v := a.at(i, j)
					if v < -1 || v > 1 {
						t.Fatalf("%v: element (%d, %d) = %v", elem, i, j, v)
					}
					sum += v
					squares += v * v
					if math.Abs(v) >= 0.5 {
						lastBits += int(math.Float64bits(v) & 1)
					}
				}
			}
			n := float64(a.rows * a.cols)
			if mean, variance := sum/n, squares/n; math.Abs(mean) > 0.02 || math.Abs(variance-1./3) > 0.02 {
				t.Errorf("%v: mean %v and variance %v, want 0 and 1/3", elem, mean, variance)
			}
			want := 0.0 // of the half of the elements that are at least 0.5, in all their bits, half
			if elem == asm.F64 {
				want = 0.25
			}
			if got := float64(lastBits) / n; math.Abs(got-want) > 0.02 {
				t.Errorf("%v: %v of the elements need the last bit of a float64, want %v", elem, got, want)
			}
		}
	}
}

func TestOperandAtDecode(t *testing.T) {
	for _, elem := range allTypes {
		for _, trans := range []bool{false, true} {
			o := newOperand(elem, 5, 2*narrowed+9, trans)
			o.fill(t.Context(), 1)
			rows, cols := o.stored()
			buf := make([]float64, cols)
			for r := range rows {
				o.decode(buf, r, 2, cols)
				for c := 2; c < cols; c++ {
					i, j := r, c
					if trans {
						i, j = c, r
					}
					if got, want := o.at(i, j), buf[c-2]; got != want {
						t.Fatalf("%v trans %v: at(%d, %d) = %v, decoded %v", elem, trans, i, j, got, want)
					}
				}
			}
			column := make([]float64, o.rows)
			o.column(column, 3)
			for i, got := range column {
				if want := o.at(i, 3); got != want {
					t.Fatalf("%v trans %v: column 3 has %v in row %d, want %v", elem, trans, got, i, want)
				}
			}
			o.poison(t.Context())
			if !math.IsNaN(o.at(4, o.cols-1)) || !math.IsNaN(o.at(0, 0)) {
				t.Errorf("%v: poison left a number", elem)
			}
		}
	}
}

// TestOperandFillStops fills operands for which nobody waits any more.
func TestOperandFillStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, b, c0 := newOperands(ctx, Workload{M: 70, N: 50, K: 90, In: asm.F32, Out: asm.BF16, Beta: 1, Seed: 1})
	c := newOperand(asm.F32, 70, 50, false)
	c.poison(ctx)
	for i, o := range []*operand{a, b, c0, c} {
		if len(bytes.Trim(o.raw, "\x00")) > 0 {
			t.Errorf("operand %d has elements", i)
		}
	}
}

func TestParallelCovers(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 1000} {
		count := make([]int, n)
		parallel(n, 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				count[i]++
			}
		})
		for i, c := range count {
			if c != 1 {
				t.Fatalf("n = %d: %d was visited %d times", n, i, c)
			}
		}
	}
}
