package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
)

// maxSplit bounds the numbers of parts of K that are tried. cuBLAS splits K when
// C is too small to fill the GPU, by a rule of its own that it does not publish.
const maxSplit = 16

// A product is a recorded one of either file.
type product struct {
	name  string
	flops float64
	parts int // of K, in which cuBLAS is known to compute it
	most  int // parts to be tried where those differ; 0 if others are out of the question
	// replay computes it with K in parts and says how it differs, or "".
	replay func(ctx context.Context, parts int) (string, error)
}

// rows returns the file of first rows that belongs to f.
func (f *file) rows() ([]byte, error) {
	path := strings.TrimSuffix(strings.TrimSuffix(f.path, ".gz"), ".json") + "_rows.bin"
	rows, err := golden.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		rows, err = golden.Read(path + ".gz")
	}
	return rows, err
}

// products returns the replay of a format of whole products: parse reads them, and
// prepare says what one is.
func products[P any](
	parse func(data, rows []byte) ([]P, error), prepare func(*P) product,
) func(context.Context, *config, *file, []byte) (result, error) {
	return func(ctx context.Context, c *config, f *file, data []byte) (result, error) {
		var r result
		rows, err := f.rows()
		if err != nil {
			return r, err
		}
		all, err := parse(data, rows)
		if err != nil {
			return r, err
		}
		for i := range all {
			p := prepare(&all[i])
			if p.flops > c.maxFlops {
				r.leftOut++
				continue
			}
			text, split, err := p.compare(ctx)
			if err != nil {
				return r, err
			}
			if split > 1 && text == "" {
				r.splits = append(r.splits, splitProduct{i, p.name, split})
			}
			r.count(fmt.Sprintf("record %d, %s", i, p.name), text)
		}
		return r, nil
	}
}

// compare computes p with K in the number of parts that is known and, where that
// differs from the GPU, in others. It returns the difference and the number of parts
// into which cuBLAS split K if it agrees.
func (p *product) compare(ctx context.Context) (text string, split int, err error) {
	if text, err = p.replay(ctx, p.parts); text == "" || err != nil {
		return text, p.parts, err
	}
	for n := 1; n <= p.most; n++ {
		if other, err := p.replay(ctx, n); other == "" || err != nil {
			return other, n, err
		}
	}
	return text, 1, nil
}

// sixteenBits prepares a product of bf16 or f16.
func sixteenBits(p *golden.Product) product {
	return product{
		name:  fmt.Sprintf("%s %dx%dx%d %s", p.DType, p.M, p.N, p.K, p.Layout),
		flops: 2 * float64(p.M) * float64(p.N) * float64(p.K),
		parts: p.Parts(), most: min(maxSplit, p.K/64),
		replay: func(ctx context.Context, parts int) (string, error) {
			for _, m := range p.Matmuls() {
				if text, err := replay.Matmul(&m, parts, gemm.WithContext(ctx)); text != "" || err != nil {
					return text, err
				}
			}
			return "", nil
		},
	}
}
