package hopper

import (
	"encoding/binary"
	"math"
)

// block is how many elements a panel keeps side by side; every L is a multiple.
const block = 8

// Exponents in a panel are biased, so that the larger of two sums tells all:
// one with a zero factor is below every sum of two nonzero factors, and one with
// a factor that is not finite is above.
const (
	expBias    = 512
	expZero    = 0
	expSpecial = 4096

	sumNonzero = 2 * (expBias - 126)
	sumSpecial = expSpecial
)

// A Panel is a matrix operand decoded for [Spec.Multiply]: the rows of A, or the columns of B, of one instruction, row
// after row. Its zero value is empty.
type Panel struct {
	rows  int
	per   int // blocks of a row, L/block
	value [][block]float64
	exp   [][block]int32
}

// split returns the value of a representation and its exponent as a panel has
// it.
func (f Format) split(u uint32) (float64, int32) {
	w := f.widen(u)
	return float64(math.Float32frombits(w)), exponent(w, int32(f.minExp()), expBias)
}

// exponent returns the exponent of the f32 representation w, not below minExp,
// and biased; expZero of a zero and expSpecial of an infinity or a NaN.
func exponent(w uint32, minExp, bias int32) int32 {
	field := int32(w >> 23 & 0xff)
	switch {
	case field == 0xff:
		return expSpecial
	case w<<1 == 0:
		return expZero
	}
	return max(field-127, minExp) + bias
}

// A Row is the row of one instruction's operand: L elements, little-endian. All
// kinds have 32 bytes of them.
type Row [32]byte

// PackRows fills p, whose memory it reuses, with rows, each element times -1 if negate is set.
func (p *Panel) PackRows(format Format, rows []Row, negate bool) {
	size := format.Size()
	p.resize(len(rows), len(Row{})/size/block)
	flip := uint32(0)
	if negate {
		flip = format.SignBit()
	}
	for i := range rows {
		row := rows[i][:]
		for n := i * p.per; n < (i+1)*p.per; n++ {
			value, exp := &p.value[n], &p.exp[n]
			for k := range block {
				var u uint32
				switch size {
				case 1:
					u = uint32(row[k])
				case 2:
					u = uint32(binary.LittleEndian.Uint16(row[2*k:]))
				default:
					u = binary.LittleEndian.Uint32(row[4*k:])
				}
				value[k], exp[k] = format.split(u ^ flip)
			}
			row = row[block*size:]
		}
	}
}

// resize makes p one of rows of per blocks, with elements of any value.
func (p *Panel) resize(rows, per int) {
	p.rows, p.per = rows, per
	n := rows * per
	if n > cap(p.value) {
		p.value, p.exp = make([][block]float64, n), make([][block]int32, n)
	}
	p.value, p.exp = p.value[:n], p.exp[:n]
}
