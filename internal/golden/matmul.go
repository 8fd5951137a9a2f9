package golden

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// A Matmul is one recorded product of cuBLASLt: C = f(Alpha·scales·A·B + Beta·C + bias).
type Matmul struct {
	A, B    string // types: both "tf32", "bf16" or "f16", or each "e4m3" or "e5m2"
	M, N, K int
	Layout  string // "NN", or "NT" with B stored N by K
	Out     string // type of C: "f32", "bf16" or "f16"
	// Promoted says that the sum begins anew every [Matmul.Promotion] elements of K, and that the
	// sums are added up in f32. It is PyTorch's use_fast_accum=False.
	Promoted    bool
	Scales      string // "none"; "tensor": one of A and one of B; "row": of rows of A and columns of B
	Alpha, Beta float32
	Bias        bool   // of the type of C, one of each column
	Activation  string // "identity", "relu" or "gelutanh"
	Whole       bool   // cuBLAS is known to have run kernels that do not cut K
	CRC         uint32 // IEEE checksum of C, row-major and little-endian
	Row         []byte // the first row of C
}

// Promotion returns the number of elements of K after which the sum begins anew, or 0.
func (p *Matmul) Promotion() int {
	if p.Promoted {
		return promotion
	}
	return 0
}

// Parts returns the parts of K that are summed each for itself, and added up in f32, in order,
// into which cuBLAS cut K in the recordings of this module.
func (p *Matmul) Parts() int {
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

// Seeds of what else a Matmul has.
const (
	SeedScaleA = 3
	SeedScaleB = 4
	SeedBias   = 5
	SeedC      = 6 // the old one
)

// TF32Element returns what becomes of an element x where the operand is tf32: an f32 whose low
// bits matter.
func TF32Element(x float32) float32 { return float32(x * 1.000123) }

// scaleElement returns scale i of the rows of A or the columns of B, by the seed.
func scaleElement(i, seed uint32) float32 {
	return float32(math.Abs(float64(Element(i, seed)))) + 0.01
}

// ScalesAndBias returns the scales of A and of B and the bias of the product, each nil if it has none.
func (p *Matmul) ScalesAndBias() (a, b, bias []float32) {
	each := func(n int, f func(i uint32) float32) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = f(uint32(i))
		}
		return v
	}
	switch p.Scales {
	case "tensor":
		a, b = []float32{0.3}, []float32{1.7}
	case "row":
		a = each(p.M, func(i uint32) float32 { return scaleElement(i, SeedScaleA) })
		b = each(p.N, func(i uint32) float32 { return scaleElement(i, SeedScaleB) })
	}
	if p.Bias {
		bias = each(p.N, func(i uint32) float32 {
			if p.Out == "f16" {
				return float16.Fromfloat32(Element(i, SeedBias)).Float32()
			}
			return bf16.FromFloat32(Element(i, SeedBias)).Float32()
		})
	}
	return a, b, bias
}

type matmulFields struct {
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
	Split     *bool   `json:"split"`      // where it is known
	// Without them: 1, 0 and identity.
	Alpha      *float32 `json:"alpha"`
	Beta       *float32 `json:"beta"`
	Activation *string  `json:"activation"`
	RowOff     *uint64  `json:"row_off"`
}

// ParseMatmuls reads cublas_few.json, cublas_fp8_tf32.json or cublas_epilogue.json and, for the first rows, the
// _rows.bin beside it.
func ParseMatmuls(data, rows []byte) ([]Matmul, error) {
	return parseProducts(data, rows, (*Matmul).parse)
}

func (p *Matmul) parse(e matmulFields, rows []byte) error {
	if e.A == nil || e.B == nil || e.M == nil || e.N == nil || e.K == nil || e.Layout == nil || e.Out == nil ||
		e.CRC == nil || e.Scales == nil || e.Bias == nil || e.RowOff == nil {
		return errors.New("a field is missing")
	}
	*p = Matmul{A: *e.A, B: *e.B, M: *e.M, N: *e.N, K: *e.K, Layout: *e.Layout, Out: *e.Out, CRC: *e.CRC,
		Scales: *e.Scales, Bias: *e.Bias, Alpha: orElse(e.Alpha, 1), Beta: orElse(e.Beta, 0),
		Activation: orElse(e.Activation, "identity"), Whole: !orElse(e.Split, true)}
	size := map[string]int{"f32": 4, "bf16": 2, "f16": 2}[p.Out]
	eight := []string{"e4m3", "e5m2"}
	switch {
	case size == 0:
		return fmt.Errorf("type of C %q is not f32, bf16 or f16", p.Out)
	case !slices.Contains([]string{"none", "tensor", "row"}, p.Scales):
		return fmt.Errorf("scales %q are not none, tensor or row", p.Scales)
	case !slices.Contains([]string{"identity", "relu", "gelutanh"}, p.Activation):
		return fmt.Errorf("activation %q is not identity, relu or gelutanh", p.Activation)
	case p.A == p.B && slices.Contains([]string{"tf32", "bf16", "f16"}, p.A):
		if e.FastAccum != nil || p.Scales != "none" || p.Out != "f32" && p.Out != p.A {
			return fmt.Errorf("a product in %s has C in f32 or the same type and no fast_accum or scales", p.A)
		}
	case !slices.Contains(eight, p.A) || !slices.Contains(eight, p.B):
		return fmt.Errorf("types %q and %q are neither both tf32, bf16 or f16 nor both e4m3 or e5m2", p.A, p.B)
	case e.FastAccum == nil:
		return errors.New("field fast_accum is missing")
	default:
		p.Promoted = !*e.FastAccum
	}
	if p.Bias && p.Out == "f32" {
		return errors.New("a bias is of the type of C, and not f32")
	}
	if err := checkSizes(p.M, p.N, p.K, p.Layout); err != nil {
		return err
	}
	var err error
	p.Row, err = slice(rows, *e.RowOff, size*p.N)
	return err
}

// orElse returns what v points to, or the default if a field is missing.
func orElse[T any](v *T, missing T) T {
	if v == nil {
		return missing
	}
	return *v
}
