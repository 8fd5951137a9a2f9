// Attention is the attention layer of a transformer over some tokens, and over the last of them alone, as decoding has
// it. The products of its heads are small and many: a batch, of which each core takes other heads.
//
//	x, tokens x dim  ·  W  =  q k v                    three products
//	scores[h]  =  q[h] · k[h].T() / sqrt(depth)        a batch: a head is some columns of q, k, v and y
//	weights[h] =  softmax of each row, of the tokens before it
//	y[h]       =  weights[h] · v[h]                    a batch
//
// The last token alone has the bits that it has among the others: products are batch-invariant, so what a server makes
// of a token does not depend on what else it computes at the time.
//
// The input and the weights are made up. The time goes to standard error.
package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
)

const (
	tokens = 96
	heads  = 12
	depth  = 64 // of a head
	dim    = heads * depth
)

type (
	half = gemm.Matrix[bf16.BF16]
	wide = gemm.Matrix[float32]
)

// random returns a matrix of numbers around 0, so large on average.
func random(r *rand.Rand, rows, cols int, size float64) half {
	m := gemm.NewMatrix[bf16.BF16](rows, cols)
	for i := range m.Data {
		m.Data[i] = bf16.FromFloat32(float32(r.NormFloat64() * size))
	}
	return m
}

// rows returns those of m from the first one on.
func rows(m half, first int) half {
	return half{Rows: m.Rows - first, Cols: m.Cols, Stride: m.Stride, Data: m.Data[first*m.Stride:]}
}

// split returns the columns of each head.
func split(m half) (parts []half) {
	for h := range heads {
		parts = append(parts, half{Rows: m.Rows, Cols: depth, Stride: m.Stride, Data: m.Data[h*depth:]})
	}
	return parts
}

// attend returns what the queries of the last tokens find among the keys and values of all.
func attend(q, k, v half) (half, error) {
	y := gemm.NewMatrix[bf16.BF16](q.Rows, dim)
	var scores []wide
	var keys, weights []half
	for _, part := range split(k) {
		scores = append(scores, gemm.NewMatrix[float32](q.Rows, k.Rows))
		weights = append(weights, gemm.NewMatrix[bf16.BF16](q.Rows, k.Rows))
		keys = append(keys, part.T())
	}
	if err := gemm.MultiplyBatch(scores, split(q), keys, gemm.WithAlpha(1/float32(math.Sqrt(depth)))); err != nil {
		return y, err
	}
	for h := range heads {
		for i := range q.Rows {
			last := k.Rows - q.Rows + i // a token does not see those after it
			softmax(weights[h].Data[i*k.Rows:], scores[h].Data[i*k.Rows:][:last+1])
		}
	}
	return y, gemm.MultiplyBatch(split(y), weights, split(v))
}

// softmax sets to to the shares of exp(s) in their sum, and leaves what follows them.
func softmax(to []bf16.BF16, s []float32) {
	most, sum := float64(slices.Max(s)), 0.0
	for _, x := range s {
		sum += math.Exp(float64(x) - most)
	}
	for i, x := range s {
		to[i] = bf16.FromFloat32(float32(math.Exp(float64(x)-most) / sum))
	}
}

func main() { cli.Print(run) }

func run(w io.Writer) error {
	r := rand.New(rand.NewPCG(1, 2))
	x := random(r, tokens, dim, 1)
	var qkv [3]half
	for i := range qkv {
		qkv[i] = gemm.NewMatrix[bf16.BF16](tokens, dim)
		if err := gemm.Multiply(qkv[i], x, random(r, dim, dim, 1/math.Sqrt(dim))); err != nil {
			return err // such as a LEAFHOPPER_KERNEL that does not run here
		}
	}
	start := time.Now()
	all, err := attend(qkv[0], qkv[1], qkv[2])
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d heads of %d tokens in %v\n", heads, tokens, time.Since(start))
	alone, err := attend(rows(qkv[0], tokens-1), qkv[1], qkv[2])
	if err != nil {
		return err
	}

	// The first token sees only itself.
	fmt.Fprintln(w, "the first token finds its own value:", slices.Equal(all.Data[:dim], qkv[2].Data[:dim]))
	fmt.Fprintln(w, "the last one alone has the same bits:", slices.Equal(alone.Data, rows(all, tokens-1).Data))
	return nil
}
