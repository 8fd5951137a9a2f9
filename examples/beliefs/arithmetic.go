package main

import (
	"encoding/binary"
	"io"
	"math"
	"math/big"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/hopper"
)

// A sum is a rule for one element of D: acc is C, a and b are bf16.
type sum func(acc uint32, a, b []uint16) uint32

var bf16Spec = hopper.Spec{A: hopper.BF16, B: hopper.BF16, Acc: hopper.F32, L: 16, F: 25, Frac: 23}

func hopperSum(acc uint32, a, b []uint16) uint32 {
	var x, y [16]hopper.Word
	for i := range a {
		x[i], y[i] = hopper.BF16.Decode(uint32(a[i])), hopper.BF16.Decode(uint32(b[i]))
	}
	return bf16Spec.Step(acc, x[:], y[:])
}

// flushedSum takes subnormal operands as zeros.
func flushedSum(acc uint32, a, b []uint16) uint32 {
	flush := func(v []uint16) []uint16 {
		w := make([]uint16, len(v))
		for i, u := range v {
			if u&0x7f80 != 0 {
				w[i] = u
			}
		}
		return w
	}
	return hopperSum(acc, flush(a), flush(b))
}

func wide(u uint16) float32 { return math.Float32frombits(uint32(u) << 16) }

// float32Sum adds one product after the other. A product of two bf16 is exact in
// float32 unless it leaves its range; every sum is rounded to nearest.
func float32Sum(acc uint32, a, b []uint16) uint32 {
	s := math.Float32frombits(acc)
	for i := range a {
		s += float32(wide(a[i]) * wide(b[i]))
	}
	return unsigned(s)
}

// exactSum rounds once, to nearest.
func exactSum(acc uint32, a, b []uint16) uint32 {
	s := new(big.Float).SetPrec(1200).SetFloat64(float64(math.Float32frombits(acc)))
	for i := range a {
		s.Add(s, big.NewFloat(float64(wide(a[i]))*float64(wide(b[i]))))
	}
	f, _ := s.Float32()
	return unsigned(f)
}

// unsigned returns the bits of f, those of +0 for -0, so that the sign of a zero
// is not what is counted.
func unsigned(f float32) uint32 {
	if f == 0 {
		return 0
	}
	return math.Float32bits(f)
}

// finite says whether all operands are numbers; what is said about sums is said
// about those.
func finite(acc uint32, a, b []uint16) bool {
	ok := acc&0x7f800000 != 0x7f800000
	for i := range a {
		ok = ok && a[i]&0x7f80 != 0x7f80 && b[i]&0x7f80 != 0x7f80
	}
	return ok
}

func halves(row []byte) []uint16 {
	v := make([]uint16, len(row)/2)
	for i := range v {
		v[i] = binary.LittleEndian.Uint16(row[2*i:])
	}
	return v
}

func arithmetic(w io.Writer) error {
	data, err := recording("wgmma/testdata/wgmma_bf16.bin.gz")
	if err != nil {
		return err
	}
	all, err := golden.ParseWGMMAs(data)
	if err != nil {
		return err
	}
	apply := func(rule sum) (c count) {
		for t := range all {
			m := &all[t]
			for i := range m.D {
				for j, want := range m.D[i] {
					if acc, a, b := m.C[i][j], halves(m.A[i][:]), halves(m.B[j][:]); finite(acc, a, b) {
						c.add(rule(acc, a, b) == want)
					}
				}
			}
		}
		return c
	}
	apply(hopperSum).print(w, "elements", "bf16 wgmma: the rule that holds")
	apply(float32Sum).print(w, "elements", "products are added up in float32, one after the other")
	apply(exactSum).print(w, "elements", "the sum is exact and rounded once, to nearest")
	apply(flushedSum).print(w, "elements", "subnormal operands count as zeros")
	return nil
}
