package replay

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
)

// Matmul computes p in Hopper's arithmetic, with K in so many parts, and says how C differs from the GPU's, or "".
func Matmul(p *golden.Matmul, parts int, opts ...gemm.Option) (string, error) {
	a := matrix(p.A, p.M, p.K, false, golden.SeedA)
	b := matrix(p.B, p.K, p.N, p.Layout == "NT", golden.SeedB)
	c := matrix(p.Out, p.M, p.N, false, golden.SeedC)
	scaleA, scaleB, bias := p.ScalesAndBias()
	e, err := gemm.New(gemm.WithArithmetic(gemm.Hopper))
	if err != nil {
		return "", err
	}
	defer e.Close()
	err = e.Multiply(c, a, b, append(opts, gemm.WithSplitK(parts),
		gemm.WithPromotion(p.Promotion()), gemm.WithScales(scaleA, scaleB),
		gemm.WithAlpha(p.Alpha), gemm.WithBeta(p.Beta),
		gemm.WithBias(bias), gemm.WithActivation(activations[p.Activation]))...)
	if err != nil {
		return "", err
	}
	var data []byte
	switch c := c.(type) {
	case gemm.Matrix[float32]:
		data, err = binary.Append(data, binary.LittleEndian, c.Data)
	case gemm.Matrix[bf16.BF16]:
		data, err = binary.Append(data, binary.LittleEndian, c.Data)
	case gemm.Matrix[float16.Float16]:
		data, err = binary.Append(data, binary.LittleEndian, c.Data)
	}
	return differC(p.Out, data, p.Row, len(p.Row)/p.N, p.CRC), err
}

var activations = map[string]gemm.Activation{"identity": gemm.Identity, "relu": gemm.ReLU, "gelutanh": gemm.GELUTanh}

// matrix returns the recorded matrix of a seed, of the elements of a type, which has its own memory if it is turned.
func matrix(typ string, rows, cols int, turned bool, seed uint32) gemm.AnyMatrix {
	switch typ {
	case "tf32":
		return filled(rows, cols, turned, seed, golden.TF32Element)
	case "f32":
		return filled(rows, cols, turned, seed, func(x float32) float32 { return x })
	case "bf16":
		return filled(rows, cols, turned, seed, bf16.FromFloat32)
	case "f16":
		return filled(rows, cols, turned, seed, float16.Fromfloat32)
	case "e4m3":
		return filled(rows, cols, turned, seed, fp8.E4M3FromFloat32)
	case "e5m2":
		return filled(rows, cols, turned, seed, fp8.E5M2FromFloat32)
	}
	panic(fmt.Sprintf("replay: no elements of %q", typ)) // package golden lets none through
}

func filled[T gemm.Element](rows, cols int, turned bool, seed uint32, round func(float32) T) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	if turned {
		m = gemm.NewMatrix[T](cols, rows).T()
	}
	for i := range m.Data {
		m.Data[i] = round(golden.Element(uint32(i), seed))
	}
	return m
}

// differC says how C, as bytes of a type, differs from the GPU's first row and checksum, or "".
func differC(typ string, c, row []byte, size int, crc uint32) string {
	for at := 0; at < len(row); at += size {
		if got, want := number(c[at:], size), number(row[at:], size); got != want {
			return fmt.Sprintf("C(0, %d) in %s is %#0*x, the GPU's %#0*x", at/size, typ, 2*size, got, 2*size, want)
		}
	}
	if got := crc32.ChecksumIEEE(c); got != crc {
		return fmt.Sprintf("the first row agrees, but the checksum of C in %s is %#08x, the GPU's %#08x", typ, got, crc)
	}
	return ""
}

// number is the little-endian one of size bytes at b.
func number(b []byte, size int) (u uint32) {
	for i := range size {
		u |= uint32(b[i]) << (8 * i)
	}
	return u
}
