package golden

import (
	"errors"
	"fmt"
	"slices"
)

// An EpilogueProduct is one recorded product of cuBLAS that does more with its sums than to round them:
// C = f(Alpha·A·B + Beta·C + bias), of M by K by N elements, all of one type.
type EpilogueProduct struct {
	DType       string // of A, B and C: "bf16" or "f16"
	M, N, K     int
	Layout      string // "NN", or "NT" with B stored N by K
	Alpha, Beta float32
	Bias        bool   // of the type of C, one of each column
	Activation  string // "identity", "relu" or "gelutanh"
	CRC         uint32 // IEEE checksum of C, row-major and little-endian
	Row         []byte // the first row of C
}

// SeedC is that of C's old value; the bias has SeedBias.
const SeedC = 6

type epilogueFields struct {
	DType      *string  `json:"dtype"`
	M          *int     `json:"m"`
	N          *int     `json:"n"`
	K          *int     `json:"k"`
	Layout     *string  `json:"layout"`
	Alpha      *float32 `json:"alpha"`
	Beta       *float32 `json:"beta"`
	Bias       *bool    `json:"bias"`
	Activation *string  `json:"activation"`
	CRC        *uint32  `json:"crc32"`
	RowOff     *uint64  `json:"row_off"`
}

// ParseEpilogueProducts reads cublas_epilogue.json and, for the first rows, cublas_epilogue_rows.bin.
func ParseEpilogueProducts(data, rows []byte) ([]EpilogueProduct, error) {
	entries, err := entries[epilogueFields](data)
	if err != nil {
		return nil, err
	}
	products := make([]EpilogueProduct, len(entries))
	for i, e := range entries {
		if err := products[i].parse(e, rows); err != nil {
			return nil, fmt.Errorf("golden: product %d: %w", i, err)
		}
	}
	return products, nil
}

func (p *EpilogueProduct) parse(e epilogueFields, rows []byte) error {
	if e.DType == nil || e.M == nil || e.N == nil || e.K == nil || e.Layout == nil || e.Alpha == nil || e.Beta == nil ||
		e.Bias == nil || e.Activation == nil || e.CRC == nil || e.RowOff == nil {
		return errors.New("a field is missing")
	}
	*p = EpilogueProduct{DType: *e.DType, M: *e.M, N: *e.N, K: *e.K, Layout: *e.Layout, Alpha: *e.Alpha, Beta: *e.Beta,
		Bias: *e.Bias, Activation: *e.Activation, CRC: *e.CRC}
	switch {
	case p.DType != "bf16" && p.DType != "f16":
		return fmt.Errorf("type %q is not bf16 or f16", p.DType)
	case !slices.Contains([]string{"identity", "relu", "gelutanh"}, p.Activation):
		return fmt.Errorf("activation %q is not identity, relu or gelutanh", p.Activation)
	}
	if err := checkSizes(p.M, p.N, p.K, p.Layout); err != nil {
		return err
	}
	var err error
	p.Row, err = slice(rows, *e.RowOff, 2*p.N)
	return err
}
