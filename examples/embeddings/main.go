// Embeddings finds the nearest neighbours in a batch of embeddings, the product
// that most programs multiply matrices for: with the vectors as the rows of E and
// each of length 1, all cosine similarities at once are E·Eᵀ.
//
//	E, n x dim           E.T(), a view of the same memory
//	┌───────────┐        ┌─┬─┬─┬─┬─┐
//	│ vector 0  │        │0│1│2│3│ │           similarities, n x n
//	│ vector 1  │   ·    │ │ │ │ │ │    =    ┌ 1.00  0.03 -0.05 ... ┐
//	│ ...       │        │ │ │ │ │ │         │ 0.03  1.00  0.11 ... │
//	└───────────┘        └─┴─┴─┴─┴─┘         └ ...                  ┘
//
// Vectors are kept in bf16, half the memory of float32: eight bits of precision
// are plenty for a direction in hundreds of dimensions. Products are summed in
// float32. Nothing is copied or transposed by the caller.
//
// The batch is made up: vectors of random directions, and for each in the first half
// a noisy twin in the second, which is what a search should find. The time goes to
// standard error.
package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
)

const (
	count = 1024
	dim   = 384
	noise = 0.5
)

// batch returns the embeddings, vector i+count/2 being like vector i.
func batch() gemm.Matrix[bf16.BF16] {
	random := rand.New(rand.NewPCG(1, 2))
	raw := make([]float32, count*dim)
	for i := range raw {
		raw[i] = float32(random.NormFloat64())
		if twin := i - len(raw)/2; twin >= 0 {
			raw[i] = raw[twin] + noise*raw[i]
		}
	}
	e := gemm.NewMatrix[bf16.BF16](count, dim)
	for i := range count {
		row := raw[i*dim:][:dim]
		normalize(row)
		bf16.Encode(e.Data[i*e.Stride:], row)
	}
	return e
}

// normalize scales v to length 1.
func normalize(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
}

// nearest returns which vector is most like vector i, i itself left out.
func nearest(similarity gemm.Matrix[float32], i int) int {
	best := -1
	for j := range similarity.Cols {
		if j != i && (best < 0 || similarity.At(i, j) > similarity.At(i, best)) {
			best = j
		}
	}
	return best
}

func main() { cli.Print(run) }

func run(w io.Writer) error {
	e := batch()
	similarity := gemm.NewMatrix[float32](count, count)

	var stats gemm.Stats
	if err := gemm.Multiply(similarity, e, e.T(), gemm.WithStats(&stats)); err != nil {
		return err // such as a LEAFHOPPER_KERNEL that does not run here
	}
	flops := 2 * count * count * dim / stats.Elapsed.Seconds()
	fmt.Fprintf(os.Stderr, "%.0f GFLOP/s in the first call of the program: %v\n", flops/1e9, stats)

	found := 0
	for i := range count {
		if nearest(similarity, i) == (i+count/2)%count {
			found++
		}
	}
	for _, i := range []int{0, 17, 600} {
		j := nearest(similarity, i)
		fmt.Fprintf(w, "vector %3d is most like vector %3d, cosine %.2f\n", i, j, similarity.At(i, j))
	}
	fmt.Fprintf(w, "%d of %d vectors found their twin\n", found, count)
	return nil
}
