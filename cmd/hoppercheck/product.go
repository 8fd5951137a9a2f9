package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
)

// maxSplit bounds the numbers of parts of K that are tried. cuBLAS splits K when
// C is too small to fill the GPU, by a rule of its own that it does not publish.
const maxSplit = 16

// splits returns the number of parts in which cuBLAS computes a recorded
// shape, where it is known: the grids of its kernels on an H200 show it.
func splits(p *golden.Product) int {
	switch [3]int{p.M, p.N, p.K} {
	case [3]int{32, 4096, 4096}:
		return 2
	case [3]int{64, 64, 8192}:
		return 6
	}
	return 1
}

// replayProducts computes whole products in Hopper's arithmetic.
func replayProducts(ctx context.Context, c *config, f *file, data []byte) (result, error) {
	r := result{file: f.name(), maxFlops: c.maxFlops}
	rows, err := golden.Read(filepath.Join(filepath.Dir(f.path), "cublas_rows.bin"))
	if errors.Is(err, fs.ErrNotExist) {
		rows, err = golden.Read(filepath.Join(filepath.Dir(f.path), "cublas_rows.bin.gz"))
	}
	if err != nil {
		return r, err
	}
	products, err := golden.ParseProducts(data, rows)
	if err != nil {
		return r, err
	}
	for i := range products {
		p := &products[i]
		if 2*float64(p.M)*float64(p.N)*float64(p.K) > c.maxFlops {
			r.leftOut++
			continue
		}
		text, split, err := replayProduct(ctx, p)
		if err != nil {
			return r, err
		}
		name := fmt.Sprintf("%s %dx%dx%d %s", p.DType, p.M, p.N, p.K, p.Layout)
		if split > 1 && text == "" {
			r.splits = append(r.splits, splitProduct{i, name, split})
		}
		r.count(fmt.Sprintf("record %d, %s", i, name), text)
	}
	return r, nil
}

// replayProduct computes p with K in the number of parts that is known for its
// shape and, where that differs from the GPU, in others. It returns the difference and
// the number of parts that agrees.
func replayProduct(ctx context.Context, p *golden.Product) (text string, split int, err error) {
	in := func(n int) (string, error) {
		if p.DType == "bf16" {
			return multiply(ctx, p, n, bf16.FromFloat32, bf16.BF16.Bits)
		}
		return multiply(ctx, p, n, float16.Fromfloat32, float16.Float16.Bits)
	}
	if text, err = in(splits(p)); text == "" || err != nil {
		return text, splits(p), err
	}
	for n := 1; n <= min(maxSplit, p.K/64); n++ {
		if other, err := in(n); other == "" || err != nil {
			return other, n, err
		}
	}
	return text, 1, nil
}

// multiply computes p with K in split parts and compares both outputs: f32, and
// that rounded once to the type of the operands.
func multiply[T gemm.Element](ctx context.Context, p *golden.Product, split int, round func(float32) T, bits func(T) uint16) (string, error) {
	fill := func(rows, cols int, seed uint32) gemm.Matrix[T] {
		m := gemm.NewMatrix[T](rows, cols)
		for i := range m.Data {
			m.Data[i] = round(golden.Element(uint32(i), seed))
		}
		return m
	}
	a := fill(p.M, p.K, golden.SeedA)
	var b gemm.Matrix[T]
	if p.Layout == "NT" {
		b = fill(p.N, p.K, golden.SeedB).T()
	} else {
		b = fill(p.K, p.N, golden.SeedB)
	}
	c := gemm.NewMatrix[float32](p.M, p.N)
	if err := gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper), gemm.WithSplitK(split), gemm.WithContext(ctx)); err != nil {
		return "", err
	}

	var narrow, wide uint32 // checksums
	short, long := make([]byte, 2*p.N), make([]byte, 4*p.N)
	for i := range p.M {
		for j := range p.N {
			v := c.Data[i*c.Stride+j]
			u, w := bits(round(v)), math.Float32bits(v)
			if i == 0 && w != p.RowFloat32[j] {
				return fmt.Sprintf("C(0, %d) in f32 is %#08x, the GPU's %#08x", j, w, p.RowFloat32[j]), nil
			}
			if i == 0 && u != p.Row[j] {
				return fmt.Sprintf("C(0, %d) is %#04x, the GPU's %#04x", j, u, p.Row[j]), nil
			}
			binary.LittleEndian.PutUint16(short[2*j:], u)
			binary.LittleEndian.PutUint32(long[4*j:], w)
		}
		narrow = crc32.Update(narrow, crc32.IEEETable, short)
		wide = crc32.Update(wide, crc32.IEEETable, long)
	}
	switch {
	case wide != p.CRCFloat32:
		return fmt.Sprintf("the first row agrees, but the checksum of C in f32 is %#08x, the GPU's %#08x", wide, p.CRCFloat32), nil
	case narrow != p.CRC:
		return fmt.Sprintf("C in f32 agrees, but the checksum of C is %#08x, the GPU's %#08x", narrow, p.CRC), nil
	}
	return "", nil
}
