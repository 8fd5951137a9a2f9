package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func Example() {
	main()
	// Output:
	// the first token finds its own value: true
	// the last one alone has the same bits: true
}

// TestAttend compares with attention in float64, of operands of 8 bits of precision.
func TestAttend(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	q, k, v := random(r, 5, dim, 1), random(r, 9, dim, 1), random(r, 9, dim, 1)
	y, err := attend(q, k, v)
	if err != nil {
		t.Fatal(err)
	}
	for h := range heads {
		for i := range q.Rows {
			weights, sum := make([]float64, k.Rows-q.Rows+i+1), 0.0
			for j := range weights {
				dot := 0.0
				for d := range depth {
					dot += float64(q.At(i, h*depth+d).Float32()) * float64(k.At(j, h*depth+d).Float32())
				}
				weights[j] = math.Exp(dot / math.Sqrt(depth))
				sum += weights[j]
			}
			for d := range depth {
				want, size := 0.0, 0.0
				for j, w := range weights {
					x := w / sum * float64(v.At(j, h*depth+d).Float32())
					want, size = want+x, size+math.Abs(x)
				}
				if got := float64(y.At(i, h*depth+d).Float32()); math.Abs(got-want) > size/128 {
					t.Fatalf("head %d, token %d: value %d is %v, want %v", h, i, d, got, want)
				}
			}
		}
	}
}
