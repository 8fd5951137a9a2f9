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

// splits says whether cuBLAS cut K into parts for a recorded shape, as it does when
// C is small and K is long. Then it gives other bits than one chain over K.
func splits(p *golden.Product) bool {
	switch [3]int{p.M, p.N, p.K} {
	case [3]int{32, 4096, 4096}, [3]int{64, 64, 8192}:
		return true
	}
	return false
}

// replayProducts computes whole products in Hopper's arithmetic.
func replayProducts(ctx context.Context, c *config, f *file, data []byte) (result, error) {
	r := result{file: f.name()}
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
	split, large := 0, 0
	for i := range products {
		p := &products[i]
		switch {
		case splits(p):
			split++
			continue
		case 2*float64(p.M)*float64(p.N)*float64(p.K) > c.maxFlops:
			large++
			continue
		}
		var text string
		if p.DType == "bf16" {
			text, err = multiply(ctx, p, bf16.FromFloat32, bf16.BF16.Bits)
		} else {
			text, err = multiply(ctx, p, float16.Fromfloat32, float16.Float16.Bits)
		}
		if err != nil {
			return r, err
		}
		r.count(fmt.Sprintf("record %d, %s %dx%dx%d %s", i, p.DType, p.M, p.N, p.K, p.Layout), text)
	}
	if large > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d products of more than %g operations left out (-max-flops)", large, c.maxFlops))
	}
	if split > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d products left out for which cuBLAS split K, in parts that are not known", split))
	}
	return r, nil
}

// multiply computes p and compares both outputs: f32, and that rounded once to
// the type of the operands.
func multiply[T gemm.Element](ctx context.Context, p *golden.Product, round func(float32) T, bits func(T) uint16) (string, error) {
	fill := func(rows, cols int, seed uint32) gemm.Matrix[T] {
		m := gemm.NewMatrix[T](rows, cols)
		for i := range m.Data {
			m.Data[i] = round(p.Element(uint32(i), seed))
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
	if err := gemm.Multiply(c, a, b, gemm.WithArithmetic(gemm.Hopper), gemm.WithContext(ctx)); err != nil {
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
