package mma

import (
	"fmt"
	"unsafe"

	"example.com/leafhopper/internal/hopper"
)

// A Metadata says which elements of a sparse A are stored: one register of each lane, with four bits for each of eight
// chunks. See [Op.MetadataCoord].
//
// A chunk is four neighbours of a row, of which two are stored: the place of the first, 0 to 3, in the two lower bits,
// that of the second, another, in the two upper ones. Of tf32 a chunk is two neighbours, of which one is stored: 0b0100
// is the first, 0b1110 the second (PTX 9.7.14.6.1).
type Metadata [Lanes]uint32

// metadataFields is how many chunks a register of Metadata is for.
const metadataFields = 8

// chunks returns those of a row of a sparse A.
func (op Op) chunks() int {
	_, of := hopper.Sparsity(types[op.A].width / 8)
	return op.Shape.K() / of
}

// Selectors returns how many sparsity selectors an instruction with a sparse A has: of four neighbouring lanes the
// metadata of one, of two or of all count, which of them says the selector. It panics if op is not valid or A not
// sparse.
func (op Op) Selectors() int {
	op.checkSparse()
	return Lanes * metadataFields / (op.Shape.M() * op.chunks())
}

func (op Op) checkSparse() {
	op.check()
	if !op.Sparse {
		panic(fmt.Sprintf("mma: %v: A is not sparse", op))
	}
}

// MetadataCoord returns the row and the chunk of that row whose places bits 4i to 4i+3, i from 0 to 7, of a lane's
// register hold (PTX 9.7.14.6.2). Of the lanes of four l%4 / (4/Selectors) is the selector with which they count. It
// panics as Selectors does, and if there is no such lane or i.
func (op Op) MetadataCoord(lane, i int) (row, chunk int) {
	n := op.Selectors()
	if uint(lane) >= Lanes || uint(i) >= metadataFields {
		panic(fmt.Sprintf("mma: metadata %d of lane %d, have %d in each of %d lanes", i, lane, metadataFields, Lanes))
	}
	member := lane % (4 / n)
	if types[op.A].width == 8 {
		return lane/4 + member%2*8, member/2*8 + i
	}
	return lane/4 + i/4*8, member*4 + i%4
}

// MetadataIndex is the inverse of MetadataCoord among the lanes that a selector names. It panics as Selectors does, and
// if there is no such selector, row or chunk.
func (op Op) MetadataIndex(selector, row, chunk int) (lane, i int) {
	op.checkSparse()
	if err := op.checkSelector(selector); err != nil {
		panic("mma: " + err.Error())
	}
	if uint(row) >= uint(op.Shape.M()) || uint(chunk) >= uint(op.chunks()) {
		panic(fmt.Sprintf("mma: metadata of row %d, chunk %d, have %d rows of %d chunks",
			row, chunk, op.Shape.M(), op.chunks()))
	}
	return op.metadataIndex(selector, row, chunk)
}

// metadataIndex is MetadataIndex for arguments that are in range.
func (op Op) metadataIndex(selector, row, chunk int) (lane, i int) {
	first, half := row%8*4+selector*op.chunks()/4, row/8
	if types[op.A].width == 8 {
		return first + chunk/8*2 + half, chunk % 8
	}
	return first + chunk/4, half*4 + chunk%4
}

// checkSelector reports a sparsity selector that there is not.
func (op Op) checkSelector(selector int) error {
	if last := op.Selectors() - 1; selector < 0 || selector > last {
		return fmt.Errorf("%v: sparsity selector %d, must be 0 to %d", op, selector, last)
	}
	return nil
}

// selections are what the rows of a sparse A meet of B.
type selections [len(rows{})]hopper.Selection

// selection sets what the rows of A meet of B to what m says.
func (m *Metadata) selection(rows *selections, op Op, selector int) error {
	const last = hopper.MetadataBits - 1
	for row := range rows {
		for k := range rows[row] {
			rows[row][k] = uint8(2 * k) // of what is longer than K both are zero
		}
		for chunk := range op.chunks() {
			lane, i := op.metadataIndex(selector, row, chunk)
			at := hopper.MetadataBits * i
			field := uint8(m[lane] >> at & (1<<hopper.MetadataBits - 1))
			want := rows[row].SetChunk(types[op.A].width/8, chunk, field)
			if want == "" && op.Ordered && field&3 > field>>2 {
				want = "two places in ascending order"
			}
			if want != "" {
				return fmt.Errorf("%v: metadata of row %d, chunk %d (lane %d, bits %d to %d) is 0b%04b, must be %s",
					op, row, chunk, lane, at, at+last, field, want)
			}
		}
	}
	return nil
}

// MMASparse is MMA with a sparse A (mma.sp, PTX 9.7.14.6). Half of a row of A is in a, and meta says which half; K is
// that of B. selector names the lanes whose registers of meta count, 0 to op.Selectors() less one.
//
// Besides what MMA reports, it reports a selector that there is not, and metadata that PTX leaves undefined.
func (w *Warp) MMASparse(op Op, d, a, b [][Lanes]uint32, meta *Metadata, selector int) error {
	op.Sparse = true
	if err := op.Validate(); err != nil {
		return err
	}
	fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
	if err := op.checkRegisters(fa, fb, fd, len(a), len(b), len(d)); err != nil {
		return err
	}
	if meta == nil {
		return fmt.Errorf("mma: %v: the metadata is nil", op)
	}
	m := w.working()
	err := op.checkSelector(selector)
	if err == nil {
		err = meta.selection(&m.selected, op, selector)
	}
	if err != nil {
		return fmt.Errorf("mma: %w", err)
	}
	fa.gather(m.a[:], a)
	fb.gather(m.long[:], b)
	m.load(fd, d)
	if types[op.A].width == 8 {
		m.multiplyBytes(op)
	} else {
		m.multiplySparse(op.A, op.D, &m.a, &m.long, &m.selected)
	}
	m.store(fd, d)
	return nil
}

// Compress splits a sparse matrix A, row-major with so many columns, into what the instruction takes: the elements that
// are stored, in rows half as long, and the metadata of every tile of M rows by K, those of the first M rows first, for
// any selector. T has the size of op.A's elements.
//
// Of four neighbours in a row, or of two of 4 bytes, half may be other than 0, as -0 of 8 or 16 bits is. Compress
// reports the first chunk with more, a matrix that does not divide into tiles, and an op that is not valid.
func Compress[T ~int8 | ~uint8 | ~uint16 | ~float32](op Op, a []T, columns int) ([]T, []Metadata, error) {
	op.Sparse = true
	if err := op.Validate(); err != nil {
		return nil, nil, err
	}
	m, k, size := op.Shape.M(), op.Shape.K(), types[op.A].width/8
	if n := int(unsafe.Sizeof(*new(T))); n != size {
		return nil, nil, fmt.Errorf("mma: Compress: %v: elements of %d bytes, must be of %d", op, n, size)
	}
	meta := make([]Metadata, len(a)/(m*k))
	values, err := hopper.Compress(a, columns, m, k, func(tile, row, chunk int, field uint32) {
		for selector := range op.Selectors() {
			lane, i := op.metadataIndex(selector, row, chunk)
			meta[tile][lane] |= field << (hopper.MetadataBits * i)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("mma: Compress: %v: %w", op, err)
	}
	return values, meta, nil
}
