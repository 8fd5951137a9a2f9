package golden

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/leafhopper/bf16"
)

// A ScaledProduct is one recorded product of cuBLAS on tensor cores that take tf32 or fp8:
// C = A·B, with scales and a bias perhaps.
type ScaledProduct struct {
	A, B    string // types: both "tf32", or each "e4m3" or "e5m2"
	M, N, K int
	Layout  string // "NN", or "NT" with B stored N by K
	Out     string // type of C: "f32" or "bf16"
	// Promoted says that the sum begins anew every [ScaledProduct.Promotion] elements of K, and that the
	// sums are added up in f32. It is PyTorch's use_fast_accum=False.
	Promoted bool
	Scales   string // "none"; "tensor": one of A and one of B; "row": of rows of A and columns of B
	Bias     bool   // bf16, one of each column of C
	CRC      uint32 // IEEE checksum of C, row-major and little-endian
	Row      []byte // the first row of C
}

// Promotion returns the number of elements of K after which the sum begins anew, or 0.
func (p *ScaledProduct) Promotion() int {
	if p.Promoted {
		return promotion
	}
	return 0
}

// Parts returns the parts of K that are summed each for itself, and added up in f32, in order,
// into which cuBLAS cut K in the recordings of this module.
func (p *ScaledProduct) Parts() int {
	if p.A != "tf32" {
		return 1
	}
	nn := p.Layout == "NN"
	switch size := [3]int{p.M, p.N, p.K}; {
	case size == [3]int{128, 128, 256}, size == [3]int{384, 640, 1024} && nn:
		return 4
	case size == [3]int{256, 256, 512}:
		return 8
	case size == [3]int{128, 256, 2048} && nn:
		return 11
	case size == [3]int{128, 256, 2048}:
		return 16
	}
	return 1
}

const promotion = 128

// Seeds of what else a ScaledProduct has.
const (
	SeedScaleA = 3
	SeedScaleB = 4
	SeedBias   = 5
)

// TF32Element returns what becomes of an element where the operand is tf32: an f32 whose low
// bits matter.
func TF32Element(i, seed uint32) float32 {
	return float32(Element(i, seed) * 1.000123)
}

// ScaleElement returns scale i of the rows of A or the columns of B, by the seed.
func ScaleElement(i, seed uint32) float32 {
	return float32(math.Abs(float64(Element(i, seed)))) + 0.01
}

// TensorScales are the scales of all of A and all of B.
var TensorScales = [2]float32{0.3, 1.7}

// ScalesAndBias returns the scales of A and of B and the bias of the product, each nil if it has none.
func (p *ScaledProduct) ScalesAndBias() (a, b, bias []float32) {
	each := func(n int, f func(i uint32) float32) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = f(uint32(i))
		}
		return v
	}
	switch p.Scales {
	case "tensor":
		a, b = TensorScales[:1], TensorScales[1:]
	case "row":
		a = each(p.M, func(i uint32) float32 { return ScaleElement(i, SeedScaleA) })
		b = each(p.N, func(i uint32) float32 { return ScaleElement(i, SeedScaleB) })
	}
	if p.Bias {
		bias = each(p.N, func(i uint32) float32 { return bf16.FromFloat32(Element(i, SeedBias)).Float32() })
	}
	return a, b, bias
}

type scaledFields struct {
	A         *string `json:"a"`
	B         *string `json:"b"`
	M         *int    `json:"m"`
	N         *int    `json:"n"`
	K         *int    `json:"k"`
	Layout    *string `json:"layout"`
	Out       *string `json:"out"`
	CRC       *uint32 `json:"crc32"`
	Scales    *string `json:"scales"`
	Bias      *bool   `json:"bias"`
	FastAccum *bool   `json:"fast_accum"` // of fp8 alone
	RowOff    *uint64 `json:"row_off"`
}

// ParseScaledProducts reads cublas_fp8_tf32.json and, for the first rows,
// cublas_fp8_tf32_rows.bin.
func ParseScaledProducts(data, rows []byte) ([]ScaledProduct, error) {
	entries, err := entries[scaledFields](data)
	if err != nil {
		return nil, err
	}
	products := make([]ScaledProduct, len(entries))
	for i, e := range entries {
		if err := products[i].parse(e, rows); err != nil {
			return nil, fmt.Errorf("golden: product %d: %w", i, err)
		}
	}
	return products, nil
}

func (p *ScaledProduct) parse(e scaledFields, rows []byte) error {
	if e.A == nil || e.B == nil || e.M == nil || e.N == nil || e.K == nil || e.Layout == nil || e.Out == nil ||
		e.CRC == nil || e.Scales == nil || e.Bias == nil || e.RowOff == nil {
		return errors.New("a field is missing")
	}
	*p = ScaledProduct{A: *e.A, B: *e.B, M: *e.M, N: *e.N, K: *e.K, Layout: *e.Layout, Out: *e.Out, CRC: *e.CRC,
		Scales: *e.Scales, Bias: *e.Bias}
	eight := []string{"e4m3", "e5m2"}
	switch {
	case p.A == "tf32" && p.B == "tf32":
		if e.FastAccum != nil || p.Scales != "none" || p.Bias || p.Out != "f32" {
			return errors.New("a product in tf32 has C in f32 and no fast_accum, scales or bias")
		}
	case !slices.Contains(eight, p.A) || !slices.Contains(eight, p.B):
		return fmt.Errorf("types %q and %q are neither both tf32 nor both e4m3 or e5m2", p.A, p.B)
	case e.FastAccum == nil:
		return errors.New("field fast_accum is missing")
	default:
		p.Promoted = !*e.FastAccum
	}
	size := 4
	switch p.Out {
	case "f32":
	case "bf16":
		size = 2
	default:
		return fmt.Errorf("type of C %q is not f32 or bf16", p.Out)
	}
	if !slices.Contains([]string{"none", "tensor", "row"}, p.Scales) {
		return fmt.Errorf("scales %q are not none, tensor or row", p.Scales)
	}
	if err := checkSizes(p.M, p.N, p.K, p.Layout); err != nil {
		return err
	}
	var err error
	p.Row, err = slice(rows, *e.RowOff, size*p.N)
	return err
}
