package tile

import (
	"encoding/binary"
	"unsafe"

	"example.com/leafhopper/tf32"
)

// chunk is the 16-byte atom that a swizzle moves and a store clips to.
const chunk = 16

// A line is a 128-byte line of shared memory as the eight chunks it holds.
type line [8][chunk]byte

// asLine views the first 128 bytes of b as a line. It panics if b is shorter.
func asLine(b []byte) *line {
	return (*line)(unsafe.Pointer((*[128]byte)(b)))
}

// flip returns the bits by which the swizzle changes every address of the
// 128-byte line that holds at. A swizzled row never leaves its line.
func (m *TensorMap) flip(at int) int { return at >> 7 & m.mask << 4 }

// gather copies the first n bytes of each row of p from src to dst, through
// the swizzle and the rounding of the map.
func (m *TensorMap) gather(dst, src []byte, p plane, n int) {
	to, from, stride := p.shared, p.global, int(m.stride[1])
	for range p.rows {
		switch {
		case m.cfg.DataType.tf32():
			m.roundRow(dst, to, src[from:from+n])
		case m.mask == 0:
			copy(dst[to:to+n], src[from:from+n])
		case n == len(line{})*chunk:
			d, s := asLine(dst[to:]), asLine(src[from:])
			x := to >> 7
			d[x&7] = s[0]
			d[(x^1)&7] = s[1]
			d[(x^2)&7] = s[2]
			d[(x^3)&7] = s[3]
			d[(x^4)&7] = s[4]
			d[(x^5)&7] = s[5]
			d[(x^6)&7] = s[6]
			d[(x^7)&7] = s[7]
		default:
			at, x, row := to, m.flip(to), src[from:from+n]
			for ; len(row) >= chunk; row = row[chunk:] {
				*(*[chunk]byte)(dst[at^x:]) = [chunk]byte(row)
				at += chunk
			}
			if len(row) > 0 {
				copy(dst[at^x:], row)
			}
		}
		to += m.pitch
		from += stride
	}
}

// roundRow copies a row of f32 words to address to, rounded to tf32.
func (m *TensorMap) roundRow(dst []byte, to int, row []byte) {
	x := m.flip(to)
	for ; len(row) >= chunk; row = row[chunk:] {
		d, s := (*[chunk]byte)(dst[to^x:]), (*[chunk]byte)(row)
		binary.LittleEndian.PutUint64(d[:8], tf32.RoundPair(binary.LittleEndian.Uint64(s[:8])))
		binary.LittleEndian.PutUint64(d[8:], tf32.RoundPair(binary.LittleEndian.Uint64(s[8:])))
		to += chunk
	}
	for ; len(row) > 0; row = row[4:] {
		w := binary.LittleEndian.Uint32(row)
		binary.LittleEndian.PutUint32(dst[to^x:], tf32.RoundBits(w))
		to += 4
	}
}

// scatter is the inverse of gather, n being whole chunks and no word rounded.
// Bytes that would fall behind dst are dropped: the padding of the last row.
func (m *TensorMap) scatter(dst, src []byte, p plane, n int) {
	to, from, stride := p.global, p.shared, int(m.stride[1])
	for range p.rows {
		row := dst[to:min(to+n, len(dst))]
		switch {
		case m.mask == 0:
			copy(row, src[from:from+n])
		case len(row) == len(line{})*chunk:
			d, s := asLine(row), asLine(src[from:])
			x := from >> 7
			d[0] = s[x&7]
			d[1] = s[(x^1)&7]
			d[2] = s[(x^2)&7]
			d[3] = s[(x^3)&7]
			d[4] = s[(x^4)&7]
			d[5] = s[(x^5)&7]
			d[6] = s[(x^6)&7]
			d[7] = s[(x^7)&7]
		default:
			at, x := from, m.flip(from)
			for ; len(row) >= chunk; row = row[chunk:] {
				*(*[chunk]byte)(row) = [chunk]byte(src[at^x:])
				at += chunk
			}
			if len(row) > 0 {
				copy(row, src[at^x:])
			}
		}
		from += m.pitch
		to += stride
	}
}

// nanPattern is what FillNaN repeats. Two of them are a NaN in f32, four in
// f64. A TF32 load leaves it as it is: rounding belongs to loaded words.
const nanPattern = 0x7FF7

// fillBox writes the fill of the map over the rows of a whole box.
func (m *TensorMap) fillBox(dst []byte, offset int) {
	if m.cfg.Fill == FillZero && m.row == m.pitch {
		clear(dst[offset : offset+m.rows*m.pitch])
		return
	}
	var pattern [chunk]byte
	if m.cfg.Fill == FillNaN {
		for i := 0; i < chunk; i += 2 {
			binary.LittleEndian.PutUint16(pattern[i:], nanPattern)
		}
	}
	at := offset
	for range m.rows {
		x := m.flip(at)
		for c := at; c < at+m.row; c += chunk {
			*(*[chunk]byte)(dst[c^x:]) = pattern
		}
		at += m.pitch
	}
}

// copyRows copies the rows lo to hi of a tile from one address to another that
// is congruent to it modulo 1024, so that both have the same swizzle.
func (m *TensorMap) copyRows(dst []byte, to int, src []byte, from, lo, hi int) {
	to, from = to+lo*m.pitch, from+lo*m.pitch
	if m.row == m.pitch {
		n := (hi - lo) * m.pitch
		copy(dst[to:to+n], src[from:])
		return
	}
	for range hi - lo {
		x := m.flip(to)
		for at := 0; at < m.row; at += chunk {
			*(*[chunk]byte)(dst[(to+at)^x:]) = [chunk]byte(src[(from+at)^x:])
		}
		to += m.pitch
		from += m.pitch
	}
}
