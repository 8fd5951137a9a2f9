package golden

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types of multiplications, as a file or record has them. Mixed ones name the type of
// A first.
const (
	MMABF16         = 0
	MMAF16          = 1
	MMATF32         = 2
	MMAE4M3         = 3
	MMAE5M2         = 4
	MMAE4M3xE5M2    = 5
	MMAE5M2xE4M3    = 6
	MMAF16Acc       = 100 // f16 accumulators, as in the next four
	MMAE4M3F16      = 110
	MMAE5M2F16      = 111
	MMAE4M3xE5M2F16 = 112
	MMAE5M2xE4M3F16 = 113
	MMAS8           = 200
	MMAU8           = 201
	MMAS8U8         = 202
	MMAS8Sat        = 203 // saturating
	MMAU8S8         = 204
	MMAB1           = 205 // bits, of which a byte holds eight, the first in its lowest place
)

// The size of every recorded multiplication.
const (
	MMARows     = 64
	MMAColumns  = 8
	MMARowBytes = 32 // of a row of A and of a column of B
)

// accumulatorBytes maps the types to the size of an element of C and D.
var accumulatorBytes = map[uint32]int{
	MMABF16: 4, MMAF16: 4, MMATF32: 4, MMAE4M3: 4, MMAE5M2: 4, MMAE4M3xE5M2: 4, MMAE5M2xE4M3: 4,
	MMAF16Acc: 2, MMAE4M3F16: 2, MMAE5M2F16: 2, MMAE4M3xE5M2F16: 2, MMAE5M2xE4M3F16: 2,
	MMAS8: 4, MMAU8: 4, MMAS8U8: 4, MMAS8Sat: 4, MMAU8S8: 4, MMAB1: 4,
}

// MMAs are the recorded multiplications D = A·B + C of one file, all of one type
// and of 64 by 8 elements.
type MMAs struct {
	Type  uint32
	Tiles []MMA
}

// An MMA is one recorded instruction. The elements of a row of A, and of a
// column of B, lie side by side, little-endian.
type MMA struct {
	A    [MMARows][MMARowBytes]byte
	B    [MMAColumns][MMARowBytes]byte
	C, D [MMARows][MMAColumns]uint32 // representations, of 16 bits for f16
}

// ParseMMAs reads a file wgmma_*.bin of one type.
func ParseMMAs(data []byte) (*MMAs, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("golden: %d bytes, want a header of 8", len(data))
	}
	kind, tiles := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	size, ok := accumulatorBytes[kind]
	if !ok {
		return nil, fmt.Errorf("golden: unknown type %d of multiplications", kind)
	}
	if tiles == 0 {
		return nil, errors.New("golden: no multiplications")
	}
	perTile := MMARows*MMARowBytes + MMAColumns*MMARowBytes + 2*MMARows*MMAColumns*size
	if want := 8 + uint64(tiles)*uint64(perTile); uint64(len(data)) != want {
		return nil, fmt.Errorf("golden: %d bytes, want %d for %d multiplications of type %d",
			len(data), want, tiles, kind)
	}
	m := &MMAs{Type: kind, Tiles: make([]MMA, tiles)}
	at := data[8:]
	for t := range m.Tiles {
		for i := range MMARows {
			at = at[copy(m.Tiles[t].A[i][:], at):]
		}
	}
	for t := range m.Tiles {
		for j := range MMAColumns {
			at = at[copy(m.Tiles[t].B[j][:], at):]
		}
	}
	for t := range m.Tiles {
		at = accumulators(&m.Tiles[t].C, at, size)
	}
	for t := range m.Tiles {
		at = accumulators(&m.Tiles[t].D, at, size)
	}
	return m, nil
}

// accumulators reads a tile of elements of size bytes and returns what follows.
func accumulators(dst *[MMARows][MMAColumns]uint32, b []byte, size int) []byte {
	for i := range dst {
		for j := range dst[i] {
			if size == 2 {
				dst[i][j] = uint32(binary.LittleEndian.Uint16(b))
			} else {
				dst[i][j] = binary.LittleEndian.Uint32(b)
			}
			b = b[size:]
		}
	}
	return b
}

// A MatrixDescriptor is one operand of a recorded DescriptorCase. Start, LBO and
// SBO are in bytes.
type MatrixDescriptor struct {
	Start, LBO, SBO uint32
	Swizzle         uint32 // as in the descriptor: 0 none, 1 128B, 2 64B, 3 32B
	BaseOffset      uint32
	MNMajor         bool // "transposed"
}

// Word returns the hardware's form, which was given to the instruction.
func (m *MatrixDescriptor) Word() uint64 {
	return uint64(m.Start/16) | uint64(m.LBO/16)<<16 | uint64(m.SBO/16)<<32 | uint64(m.BaseOffset)<<49 |
		uint64(m.Swizzle)<<62
}

// A DescriptorCase is one recorded m64nNk16 product of bf16, or a sparse m64nNk32 one,
// whose operands, both in shared memory, hold small integers. C was 0.
type DescriptorCase struct {
	N        int
	Seed     uint32
	Sparse   bool
	Selector int
	A, B     MatrixDescriptor
	D        []int16 // 64 rows of N
}

// Element returns the integer in the element i of shared memory, counted in
// bf16 elements of 2 bytes from address 0.
func (c *DescriptorCase) Element(i uint32) int { return int(hashed(i, c.Seed)%17) - 8 }

func hashed(i, seed uint32) uint32 {
	x := i*2654435761 + seed*40503
	x = (x>>16 ^ x) * 0x45d9f3b
	return x>>16 ^ x
}

const (
	descriptorHeader = 16 * 4
	// maxOffset bounds the addresses and offsets of a descriptor: 14 bits that
	// count units of 16 bytes.
	maxOffset = 1 << 18
)

// ParseDescriptors reads the records of wgmma_desc.bin or wgmma_sp_desc.bin.
func ParseDescriptors(data []byte) ([]DescriptorCase, error) {
	return parseRecords(data, "descriptor", (*DescriptorCase).parse)
}

// parse reads one record and returns its length.
func (c *DescriptorCase) parse(b []byte) (int, error) {
	if len(b) < descriptorHeader {
		return 0, fmt.Errorf("%d bytes left of a record of at least %d", len(b), descriptorHeader)
	}
	var h [16]uint32
	for i := range h {
		h[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	switch {
	case h[0] < 8 || h[0] > 256 || h[0]%8 != 0:
		return 0, fmt.Errorf("n %d is not a multiple of 8 in 8 to 256", h[0])
	case h[1] > 1 || h[2] > 1:
		return 0, fmt.Errorf("transposes %d and %d, want 0 or 1", h[1], h[2])
	case h[14] > 2 || h[15] != 0:
		return 0, fmt.Errorf("word 14 is %d, want 0 to 2, or word 15 is %d, want 0", h[14], h[15])
	}
	c.N, c.Seed = int(h[0]), h[3]
	if h[14] > 0 { // the selector plus 1
		c.Sparse, c.Selector = true, int(h[14])-1
	}
	c.A = MatrixDescriptor{h[4], h[5], h[6], h[7], h[12], h[1] == 1}
	c.B = MatrixDescriptor{h[8], h[9], h[10], h[11], h[13], h[2] == 1}
	for _, m := range []*MatrixDescriptor{&c.A, &c.B} {
		if err := m.check(); err != nil {
			return 0, err
		}
	}
	size := descriptorHeader + MMARows*c.N*2
	if len(b) < size {
		return 0, fmt.Errorf("%d bytes left of a record of %d", len(b), size)
	}
	c.D = make([]int16, MMARows*c.N)
	for i := range c.D {
		c.D[i] = int16(binary.LittleEndian.Uint16(b[descriptorHeader+2*i:]))
	}
	return size, nil
}

// check refuses what a descriptor cannot hold.
func (m *MatrixDescriptor) check() error {
	for _, f := range []struct {
		name string
		v    uint32
	}{{"start", m.Start}, {"LBO", m.LBO}, {"SBO", m.SBO}} {
		if f.v >= maxOffset || f.v%16 != 0 {
			return fmt.Errorf("%s %d is not a multiple of 16 below %d", f.name, f.v, maxOffset)
		}
	}
	if m.Swizzle > 3 || m.BaseOffset > 7 {
		return fmt.Errorf("swizzle %d is over 3 or base offset %d over 7", m.Swizzle, m.BaseOffset)
	}
	return nil
}
