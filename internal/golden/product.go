package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Product is one recorded product C = A·B of cuBLAS, of M by K by N elements.
// C was computed twice, once rounded to the type of A and B and once in f32.
type Product struct {
	DType   string // of A and B: "bf16" or "f16"
	M, N, K int
	Layout  string // "NN", or "NT" with B stored N by K
	// CRC and CRCFloat32 are the IEEE checksums of both C, row-major and
	// little-endian.
	CRC, CRCFloat32 uint32
	Row, RowFloat32 []byte // the first rows
}

// Parts returns the parts into which cuBLAS cut K, whose results it added up: the grids of its
// kernels on an H200 show them.
func (p *Product) Parts() int {
	switch [3]int{p.M, p.N, p.K} {
	case [3]int{32, 4096, 4096}:
		return 2
	case [3]int{64, 64, 8192}:
		return 6
	}
	return 1
}

// Matmuls returns p as two records of their own: with C in f32, and in the type of A and B.
func (p *Product) Matmuls() [2]Matmul {
	wide := Matmul{A: p.DType, B: p.DType, M: p.M, N: p.N, K: p.K, Layout: p.Layout, Out: "f32",
		Scales: "none", Alpha: 1, Activation: "identity", CRC: p.CRCFloat32, Row: p.RowFloat32}
	narrow := wide
	narrow.Out, narrow.CRC, narrow.Row = p.DType, p.CRC, p.Row
	return [2]Matmul{wide, narrow}
}

// Seeds of the operands, for Element.
const (
	SeedA = 1
	SeedB = 2
)

// Element returns element i, in storage order, of the operand of a product with a
// seed, before it is rounded to the type: a hash of i in [-1, 1).
func Element(i, seed uint32) float32 {
	return (float32(hash(i, seed, 2)&0xffff) - 32768) / 32768
}

// hash is what recorders fill memory by, in so many rounds.
func hash(i, seed uint32, rounds int) uint32 {
	x := i*2654435761 + seed*40503
	for range rounds {
		x = (x>>16 ^ x) * 0x45d9f3b
	}
	return x>>16 ^ x
}

// maxElements bounds a matrix of a product; the recorded ones end there.
const maxElements = 1 << 26

// productFields are the fields of an entry, all of which must be there.
type productFields struct {
	DType          *string `json:"dtype"`
	M              *int
	N              *int
	K              *int
	Layout         *string `json:"layout"`
	CRC            *uint32 `json:"crc32"`
	RowsOff        *uint64 `json:"rows_off"`
	Rows           *int    `json:"rows"`
	CRCFloat32     *uint32 `json:"crc32_f32"`
	RowsOffFloat32 *uint64 `json:"rows_off_f32"`
}

// ParseProducts reads cublas.json and, for the first rows, cublas_rows.bin.
func ParseProducts(data, rows []byte) ([]Product, error) {
	return parseProducts(data, rows, (*Product).parse)
}

// parseProducts reads a list of products that is not empty, and nothing behind it. An entry E tells where in rows the
// rows of a product T are.
func parseProducts[T, E any](data, rows []byte, parse func(*T, E, []byte) error) ([]T, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var entries []E
	if err := dec.Decode(&entries); err != nil {
		return nil, fmt.Errorf("golden: products: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("golden: products: data behind the list")
	}
	if len(entries) == 0 {
		return nil, errors.New("golden: no products")
	}
	products := make([]T, len(entries))
	for i, e := range entries {
		if err := parse(&products[i], e, rows); err != nil {
			return nil, fmt.Errorf("golden: product %d: %w", i, err)
		}
	}
	return products, nil
}

func (p *Product) parse(e productFields, rows []byte) error {
	if e.DType == nil || e.M == nil || e.N == nil || e.K == nil || e.Layout == nil || e.CRC == nil ||
		e.RowsOff == nil || e.Rows == nil || e.CRCFloat32 == nil || e.RowsOffFloat32 == nil {
		return errors.New("a field is missing")
	}
	*p = Product{DType: *e.DType, M: *e.M, N: *e.N, K: *e.K, Layout: *e.Layout, CRC: *e.CRC, CRCFloat32: *e.CRCFloat32}
	switch {
	case p.DType != "bf16" && p.DType != "f16":
		return fmt.Errorf("type %q is not bf16 or f16", p.DType)
	case *e.Rows != 1:
		return fmt.Errorf("%d rows, want 1", *e.Rows)
	}
	if err := checkSizes(p.M, p.N, p.K, p.Layout); err != nil {
		return err
	}
	var err error
	if p.Row, err = slice(rows, *e.RowsOff, 2*p.N); err != nil {
		return err
	}
	p.RowFloat32, err = slice(rows, *e.RowsOffFloat32, 4*p.N)
	return err
}

// checkSizes refuses what is not the shape of a product, or too large.
func checkSizes(m, n, k int, layout string) error {
	if layout != "NN" && layout != "NT" {
		return fmt.Errorf("layout %q is not NN or NT", layout)
	}
	for _, l := range []int{m, n, k} {
		if l < 1 || l > maxElements {
			return fmt.Errorf("size %dx%dx%d is outside 1 to %d", m, n, k, maxElements)
		}
	}
	for _, l := range []int64{int64(m) * int64(k), int64(k) * int64(n), int64(m) * int64(n)} {
		if l > maxElements {
			return fmt.Errorf("size %dx%dx%d has a matrix of %d elements, at most %d", m, n, k, l, maxElements)
		}
	}
	return nil
}

// slice returns n bytes of the rows file.
func slice(rows []byte, off uint64, n int) ([]byte, error) {
	if off > uint64(len(rows)) || uint64(n) > uint64(len(rows))-off {
		return nil, fmt.Errorf("row at %d to %d of the %d bytes of rows", off, off+uint64(n), len(rows))
	}
	return rows[off:][:n], nil
}
