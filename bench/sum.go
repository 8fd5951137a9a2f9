package bench

import "math"

// A sum is one of products, value + rest, and the sum of their absolute values. Where more than float64 is needed, for
// products of that, rest is what value and the products lose by rounding: the sum is then as if it were computed with
// twice float64's bits and rounded once. It is Dot2 of Ogita, Rump and Oishi, "Accurate Sum and Dot Product", SIAM J.
// Sci. Comput. 26 (2005).
type sum struct{ value, rest, abs float64 }

// add adds x·y with twice float64's bits.
func (s *sum) add(x, y float64) {
	p := float64(x * y) // the conversion forbids the compiler to fuse it with an addition
	value := s.value + p
	added := value - s.value
	s.rest += (s.value - (value - added)) + (p - added) + math.FMA(x, y, -p)
	s.value = value
	s.abs += math.Abs(p)
}

// addProducts adds x·y[j] to each sum.
func addProducts(sums []sum, x float64, y []float64, wide bool) {
	for j, v := range y[:len(sums)] {
		if wide {
			sums[j].add(x, v)
			continue
		}
		p := x * v
		sums[j].value += p
		sums[j].abs += math.Abs(p)
	}
}

// dot returns the sum of x[k]·y[k].
func dot(x, y []float64, wide bool) (s sum) {
	if wide {
		for k, v := range x {
			s.add(v, y[k])
		}
		return s
	}
	value, abs := 0.0, 0.0
	for k, v := range x {
		p := v * y[k]
		value += p
		abs += math.Abs(p)
	}
	return sum{value: value, abs: abs}
}
