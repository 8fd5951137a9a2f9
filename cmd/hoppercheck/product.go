package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
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
		r := result{file: f.name(), maxFlops: c.maxFlops}
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
			if p.DType == "bf16" {
				return replaySixteen(ctx, p, parts, bf16.FromFloat32, bf16.BF16.Bits)
			}
			return replaySixteen(ctx, p, parts, float16.Fromfloat32, float16.Float16.Bits)
		},
	}
}

// operands makes A and B of a product.
func operands[A, B gemm.Element](
	m, n, k int, layout string, fromA func(i, seed uint32) A, fromB func(i, seed uint32) B,
) (a gemm.Matrix[A], b gemm.Matrix[B]) {
	a, b = gemm.NewMatrix[A](m, k), gemm.NewMatrix[B](k, n)
	if layout == "NT" {
		b = gemm.NewMatrix[B](n, k).T()
	}
	for i := range a.Data {
		a.Data[i] = fromA(uint32(i), golden.SeedA)
	}
	for i := range b.Data {
		b.Data[i] = fromB(uint32(i), golden.SeedB)
	}
	return a, b
}

// replaySixteen computes p and compares both outputs: f32, and that rounded once to
// the type of the operands.
func replaySixteen[T gemm.Element](
	ctx context.Context, p *golden.Product, parts int, round func(float32) T, bits func(T) uint16,
) (string, error) {
	from := func(i, seed uint32) T { return round(golden.Element(i, seed)) }
	a, b := operands(p.M, p.N, p.K, p.Layout, from, from)
	c := gemm.NewMatrix[float32](p.M, p.N)
	opts := []gemm.Option{gemm.WithArithmetic(gemm.Hopper), gemm.WithSplitK(parts), gemm.WithContext(ctx)}
	if err := gemm.Multiply(c, a, b, opts...); err != nil {
		return "", err
	}
	wide, narrow := make([]byte, 0, 4*len(c.Data)), make([]byte, 0, 2*len(c.Data))
	for _, v := range c.Data {
		wide = binary.LittleEndian.AppendUint32(wide, math.Float32bits(v))
		narrow = binary.LittleEndian.AppendUint16(narrow, bits(round(v)))
	}
	rowWide, rowNarrow := make([]byte, 0, 4*p.N), make([]byte, 0, 2*p.N)
	for j := range p.N {
		rowWide = binary.LittleEndian.AppendUint32(rowWide, p.RowFloat32[j])
		rowNarrow = binary.LittleEndian.AppendUint16(rowNarrow, p.Row[j])
	}
	if text := replay.DifferC("f32", wide, rowWide, 4, p.CRCFloat32); text != "" {
		return text, nil
	}
	return replay.DifferC(p.DType, narrow, rowNarrow, 2, p.CRC), nil
}
