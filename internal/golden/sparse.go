package golden

import "fmt"

// SparseRowBytes is the size of a column of B of a recorded sparse multiplication.
const SparseRowBytes = 2 * WGMMARowBytes

// A SparseWGMMA is one recorded sparse instruction of 64 by 8 elements, D = A·B + C. The elements of a row of A that
// are stored, and those of a column of B, lie side by side, little-endian.
type SparseWGMMA struct {
	Type               uint32 // as in a WGMMA
	Saturate           bool
	Selector           int
	Registers          bool   // A was in registers
	SwizzleA, SwizzleB uint32 // of the K-major tiles in shared memory, as in MatrixDescriptor
	Scale

	A    [WGMMARows][WGMMARowBytes]byte
	B    [WGMMAColumns][SparseRowBytes]byte
	Meta [128]uint32 // of each thread
	C, D [WGMMARows][WGMMAColumns]uint32
}

// ParseSparseWGMMAs reads the records of wgmma_sp.bin.
func ParseSparseWGMMAs(data []byte) ([]SparseWGMMA, error) {
	return parseRecords(data, "sparse instruction", (*SparseWGMMA).parse)
}

// parse reads one record and returns its length.
func (m *SparseWGMMA) parse(b []byte) (int, error) {
	const header = 8 * 4
	if len(b) < header {
		return 0, fmt.Errorf("%d bytes left of a record's head of %d", len(b), header)
	}
	var h [8]uint32
	at := decode(b, h[:])
	bytes, ok := accumulatorBytes[h[0]]
	switch {
	case !ok:
		return 0, fmt.Errorf("unknown type %d of multiplications", h[0])
	case h[1] > 1 || h[2] > 1 || h[3] > 1:
		return 0, fmt.Errorf("saturate %d, selector %d, registers %d, want 0 or 1", h[1], h[2], h[3])
	case h[4] > 3 || h[5] > 3:
		return 0, fmt.Errorf("swizzles %d and %d are over 3", h[4], h[5])
	case h[7] > 0 && h[0] >= WGMMAS8:
		return 0, fmt.Errorf("type %d, of integers, with negate %d", h[0], h[7])
	}
	if err := m.Scale.set(h[6], h[7]); err != nil {
		return 0, err
	}
	m.Type, m.Saturate, m.Selector, m.Registers = h[0], h[1] == 1, int(h[2]), h[3] == 1
	m.SwizzleA, m.SwizzleB = h[4], h[5]
	size := header + WGMMARows*WGMMARowBytes + WGMMAColumns*SparseRowBytes + 4*len(m.Meta) + 2*WGMMARows*WGMMAColumns*bytes
	if len(b) < size {
		return 0, fmt.Errorf("%d bytes left of a record of %d", len(b), size)
	}
	at = decode(at, &m.A, &m.B, m.Meta[:])
	accumulators(&m.D, accumulators(&m.C, at, bytes), bytes)
	return size, nil
}

// Metadata returns that of the threads of a sparse DescriptorCase: places of two of each four elements, of the
// threads that contribute, and all bits set in the others.
func (c *DescriptorCase) Metadata() (meta [128]uint32) {
	const fields = 0xedcb98764321 // all that name two different places
	for t := range meta {
		lane := t % 32
		if meta[t] = ^uint32(0); lane%4/2 != c.Selector {
			continue
		}
		meta[t] = 0
		for i := range 8 {
			row, chunk := t/32*16+lane/4+i/4*8, lane%2*4+i%4
			x := hash(uint32(1<<20+row*8+chunk), c.Seed, 1)
			meta[t] |= uint32(uint64(fields)>>(x%12*4)&15) << (4 * i)
		}
	}
	return meta
}
