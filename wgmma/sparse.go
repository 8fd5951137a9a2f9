package wgmma

import (
	"fmt"
	"unsafe"

	"example.com/leafhopper/internal/hopper"
)

// A Metadata says which elements of A are stored (sp-meta): one register of each thread of a warpgroup, with four bits
// for each of eight chunks. See [MetadataCoord].
//
// A chunk is four neighbours of a row, of which two are stored: the place of the first, 0 to 3, in the two lower bits,
// that of the second, another, in the two upper ones. Of tf32 a chunk is two neighbours, of which one is stored: 0b0100
// is the first, 0b1110 the second (PTX 9.7.15.6.1).
type Metadata [Threads]uint32

// metadataFields is how many chunks a register of Metadata is for.
const metadataFields = 8

// MetadataCoord returns the row, 0 to 63, and the chunk of that row, 0 to 7 or for elements of a byte 0 to 15, whose
// places bits 4i to 4i+3, i from 0 to 7, of a thread's register hold, for elements of size bytes, 1, 2 or 4 (PTX
// 9.7.15.6.2). All threads contribute if the elements have a byte, else those of which t%4/2 is the selector. It panics
// if there is no such size, thread or i.
func MetadataCoord(size, thread, i int) (row, chunk int) {
	checkSize(size)
	if thread < 0 || thread >= Threads || i < 0 || i >= metadataFields {
		panic(fmt.Sprintf("wgmma: metadata %d of thread %d, have %d in each of %d threads",
			i, thread, metadataFields, Threads))
	}
	return metadataCoord(size, thread, i)
}

// metadataCoord is MetadataCoord for arguments that are in range.
func metadataCoord(size, thread, i int) (row, chunk int) {
	row = thread/32*16 + thread%32/4
	if size == 1 {
		return row + thread%2*8, thread%4/2*8 + i
	}
	return row + i/4*8, thread%2*4 + i%4
}

// MetadataIndex is the inverse of MetadataCoord among the threads that a selector, 0 or 1, names. It panics if there is
// no such size, selector, row or chunk.
func MetadataIndex(size, selector, row, chunk int) (thread, i int) {
	checkSize(size)
	if err := checkSelector(size, selector); err != nil {
		panic("wgmma: " + err.Error())
	}
	if chunks := chunksOf(size); row < 0 || row >= M || chunk < 0 || chunk >= chunks {
		panic(fmt.Sprintf("wgmma: metadata of row %d, chunk %d, have %d rows of %d chunks", row, chunk, M, chunks))
	}
	return metadataIndex(size, selector, row, chunk)
}

// metadataIndex is MetadataIndex for arguments that are in range.
func metadataIndex(size, selector, row, chunk int) (thread, i int) {
	first, half := row/16*32+row%8*4, row%16/8
	if size == 1 {
		return first + chunk/8*2 + half, chunk % 8
	}
	return first + selector*2 + chunk/4, half*4 + chunk%4
}

// checkSelector reports a sparsity selector that there is not for elements of size bytes.
func checkSelector(size, selector int) error {
	last := 1
	if size == 1 {
		last = 0
	}
	if selector < 0 || selector > last {
		return fmt.Errorf("sparsity selector %d, must be 0 to %d for elements of %d bytes", selector, last, size)
	}
	return nil
}

// chunksOf returns the chunks of a row of A.
func chunksOf(size int) int {
	n, _ := hopper.Sparsity(size)
	return RowBytes / size / n
}

// selections are what the rows of A meet of B.
type selections [M]hopper.Selection

// selection sets them to what m says.
func (m *Metadata) selection(rows *selections, size, selector int) error {
	const last = hopper.MetadataBits - 1
	for row := range rows {
		for chunk := range chunksOf(size) {
			thread, i := metadataIndex(size, selector, row, chunk)
			at := hopper.MetadataBits * i
			field := uint8(m[thread] >> at & (1<<hopper.MetadataBits - 1))
			if want := rows[row].SetChunk(size, chunk, field); want != "" {
				return fmt.Errorf("metadata of row %d, chunk %d (thread %d, bits %d to %d) is 0b%04b, must be %s",
					row, chunk, thread, at, at+last, field, want)
			}
		}
	}
	return nil
}

// MMASparse is MMA with a sparse A (wgmma.mma_async.sp, PTX 9.7.15.6). K is 64 for elements of a byte, 32 for 16 bits
// and 16 for tf32. Half of a row of A is stored, 32 bytes in shared memory or in a [Fragment], and meta says which
// half; a column of B has 64 bytes. selector (sp-sel) names the threads whose registers of meta count: 0 or 1, or 0
// alone where all do.
//
// Besides what MMA reports, it reports a selector that there is not, and metadata that PTX leaves undefined. meta is
// read at once, and may then be changed.
func (w *Warpgroup) MMASparse(op Op, d *Accumulator, a Operand, b Descriptor, meta *Metadata, selector int) error {
	op.Sparse = true
	if err := op.Validate(); err != nil {
		return err
	}
	if meta == nil {
		return fmt.Errorf("wgmma: %v: the metadata is nil", op)
	}
	size := op.Kind.ElementSize()
	err := checkSelector(size, selector)
	if err == nil {
		if len(w.spare) == 0 {
			w.spare = append(w.spare, new(selections))
		}
		err = meta.selection(w.spare[len(w.spare)-1], size, selector)
	}
	if err != nil {
		return fmt.Errorf("wgmma: %v: %w", op, err)
	}
	last := len(w.spare) - 1
	if err = w.issue(op, d, a, b, w.spare[last]); err == nil {
		w.spare = w.spare[:last]
	}
	return err
}

// Compress splits a sparse matrix A, row-major with so many columns, into what wgmma.mma_async.sp takes: the elements
// that are stored, in rows half as long, and the metadata of every tile of 64 rows by the K of an instruction, those of
// the first 64 rows first, for either selector. T is any type of the size of the kind's elements.
//
// Of four neighbours in a row, or of two of 4 bytes, half may be other than 0, as -0 of 8 or 16 bits is. Compress
// reports the first chunk with more, and a matrix that does not divide into tiles.
func Compress[T ~int8 | ~uint8 | ~uint16 | ~float32](a []T, columns int) ([]T, []Metadata, error) {
	size := int(unsafe.Sizeof(*new(T)))
	k := 2 * RowBytes / size
	meta := make([]Metadata, len(a)/(M*k))
	values, err := hopper.Compress(a, columns, M, k, func(tile, row, chunk int, field uint32) {
		for selector := range 2 {
			if checkSelector(size, selector) == nil {
				thread, i := metadataIndex(size, selector, row, chunk)
				meta[tile][thread] |= field << (hopper.MetadataBits * i)
			}
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("wgmma: Compress: %w", err)
	}
	return values, meta, nil
}
