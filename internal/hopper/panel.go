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

// A Panel is a matrix operand decoded for [Spec.Multiply]: rows of A, or columns
// of B. Its zero value is empty; memory is reused from one Reset to the next.
//
//	step 0              step 1
//	┌─────────────────┐ ┌─────────────────┐
//	│ row 0: L values │ │ row 0: L values │
//	│ row 1: L values │ │ row 1: L values │
//	│ ...             │ │ ...             │
//	└─────────────────┘ └─────────────────┘
type Panel struct {
	rows, steps int
	per         int // blocks of a row in one step, L/block
	format      Format
	value       [][block]float64
	exp         [][block]int32
}

// Reset makes p an operand of rows rows and k columns, all zero. k is rounded up
// to whole steps of l, the L of the instruction: zeros that meet zeros change no
// bit of a result.
func (p *Panel) Reset(format Format, rows, k, l int) {
	p.rows, p.steps, p.per, p.format = rows, (k+l-1)/l, l/block, format
	n := p.rows * p.steps * p.per
	if n > cap(p.value) {
		p.value, p.exp = make([][block]float64, n), make([][block]int32, n)
		return
	}
	p.value, p.exp = p.value[:n], p.exp[:n]
	clear(p.value)
	clear(p.exp)
}

// put decodes one element.
func (p *Panel) put(row, k int, u uint32) {
	l := p.per * block
	at := (k/l*p.rows+row)*p.per + k%l/block
	p.value[at][k%block], p.exp[at][k%block] = p.format.split(u)
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

// PackRows fills p with the rows of one step, each element times -1 if negate is
// set. It calls Reset itself.
func (p *Panel) PackRows(format Format, rows []Row, negate bool) {
	size := format.Size()
	p.Reset(format, len(rows), len(Row{})/size, len(Row{})/size)
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

// Pack fills p with a whole operand of rows rows and k columns for steps of l:
// element (i, j) has the representation src[i*rowStride+j*colStride], so that a
// transposed operand is one with the strides exchanged. It calls Reset itself.
func Pack[T ~uint8 | ~uint16 | ~uint32](p *Panel, format Format, l int, src []T, rows, k, rowStride, colStride int) {
	p.Reset(format, rows, k, l)
	for i := range rows {
		for j := range k {
			p.put(i, j, uint32(src[i*rowStride+j*colStride]))
		}
	}
}
