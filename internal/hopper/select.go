package hopper

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Sparsity returns how many elements of how many neighbours, a chunk, a sparse A stores: 2:4, or of elements of four
// bytes 1:2 (PTX ISA 9.1, sections 9.7.14.6.1 and 9.7.15.6.1).
func Sparsity(size int) (n, of int) {
	if size == 4 {
		return 1, 2
	}
	return 2, 4
}

// The metadata of a chunk: the place of the first stored element in the lower two bits, that of the second in the upper
// two. Of 1:2 there are but two.
const (
	MetadataBits = 4
	FirstOfTwo   = 0b0100
	SecondOfTwo  = 0b1110
)

// Compress splits a sparse matrix A, row-major with so many columns, into the elements that are stored, in rows half as
// long, and the metadata of every chunk of the tiles of m rows by k, those of the first m rows first. It reports a
// matrix that does not divide into tiles, and the first chunk of which more are other than 0 than can be stored.
func Compress[T ~int8 | ~uint8 | ~uint16 | ~float32](a []T, columns, m, k int,
	put func(tile, row, chunk int, metadata uint32)) ([]T, error) {
	if columns <= 0 || columns%k != 0 || len(a)%columns != 0 || len(a)/columns%m != 0 {
		return nil, fmt.Errorf("%d elements in rows of %d, must be a multiple of %d rows of a multiple of %d",
			len(a), columns, m, k)
	}
	n, of := Sparsity(int(unsafe.Sizeof(*new(T))))
	values := make([]T, 0, len(a)/2)
	for at := 0; at < len(a); at += of {
		row, column, chunk := at/columns, at%columns, a[at:][:of]
		stored := uint(0) // a bit for each place
		for i, v := range chunk {
			if v != 0 {
				stored |= 1 << i
			}
		}
		if bits.OnesCount(stored) > n {
			return nil, fmt.Errorf("row %d, columns %d to %d: %v, must have at most %d other than 0",
				row, column, column+of-1, chunk, n)
		}
		for i := 0; bits.OnesCount(stored) < n; i++ {
			stored |= 1 << i
		}
		first, last := bits.TrailingZeros(stored), bits.Len(stored)-1
		metadata := uint32(first | last<<2)
		if values = append(values, chunk[first]); n == 2 {
			values = append(values, chunk[last])
		} else if metadata = FirstOfTwo; first == 1 {
			metadata = SecondOfTwo
		}
		put(row/m*(columns/k)+column/k, row%m, column%k/of, metadata)
	}
	return values, nil
}

// A Selection says which elements of a column of B a row of a sparse A meets: stored
// element k of the row meets element s[k] of the column, which has twice as many.
type Selection [len(Row{})]uint8

// SetChunk makes a chunk of elements of size bytes meet what its metadata say. Of metadata that PTX leaves undefined it
// returns what they must be.
func (s *Selection) SetChunk(size, chunk int, metadata uint8) (want string) {
	n, of := Sparsity(size)
	base, first, second := uint8(chunk*of), metadata&3, metadata>>2
	switch {
	case n == 1 && metadata != FirstOfTwo && metadata != SecondOfTwo:
		return "0b0100 or 0b1110"
	case n == 1:
		s[chunk] = base + first/2
	case first == second:
		return "two different places"
	default:
		s[2*chunk], s[2*chunk+1] = base+first, base+second
	}
	return ""
}

// Rows fills dst with what the row meets of columns of bytes, of each of which b has
// two rows.
func (s *Selection) Rows(dst, b []Row) {
	for j := range dst {
		column := b[2*j:][:2]
		for k, at := range s {
			dst[j][k] = column[at/uint8(len(Row{}))][at%uint8(len(Row{}))]
		}
	}
}

// Select fills p, whose memory it reuses, with what a row meets of columns, of each of
// which b has two rows.
func (p *Panel) Select(b *Panel, s *Selection) {
	p.resize(b.rows/2, b.per)
	for j := range p.rows {
		for k := range p.per * block {
			to, from := j*p.per+k/block, 2*j*p.per+int(s[k])/block
			p.value[to][k%block] = b.value[from][s[k]%block]
			p.exp[to][k%block] = b.exp[from][s[k]%block]
		}
	}
}
