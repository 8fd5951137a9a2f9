package golden

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types of multiplications, as a file or record has them. Mixed ones name the type of
// A first.
const (
	WGMMABF16         = 0
	WGMMAF16          = 1
	WGMMATF32         = 2
	WGMMAE4M3         = 3
	WGMMAE5M2         = 4
	WGMMAE4M3xE5M2    = 5
	WGMMAE5M2xE4M3    = 6
	WGMMAF16Acc       = 100 // f16 accumulators, as in the next four
	WGMMAE4M3F16      = 110
	WGMMAE5M2F16      = 111
	WGMMAE4M3xE5M2F16 = 112
	WGMMAE5M2xE4M3F16 = 113
	WGMMAS8           = 200
	WGMMAU8           = 201
	WGMMAS8U8         = 202
	WGMMAS8Sat        = 203 // saturating
	WGMMAU8S8         = 204
	WGMMAB1           = 205 // bits, of which a byte holds eight, the first in its lowest place
)

// The size of every recorded multiplication.
const (
	WGMMARows     = 64
	WGMMAColumns  = 8
	WGMMARowBytes = 32 // of a row of A and of a column of B
)

// accumulatorBytes maps the types to the size of an element of C and D.
var accumulatorBytes = map[uint32]int{
	WGMMABF16: 4, WGMMAF16: 4, WGMMATF32: 4, WGMMAE4M3: 4, WGMMAE5M2: 4, WGMMAE4M3xE5M2: 4, WGMMAE5M2xE4M3: 4,
	WGMMAF16Acc: 2, WGMMAE4M3F16: 2, WGMMAE5M2F16: 2, WGMMAE4M3xE5M2F16: 2, WGMMAE5M2xE4M3F16: 2,
	WGMMAS8: 4, WGMMAU8: 4, WGMMAS8U8: 4, WGMMAS8Sat: 4, WGMMAU8S8: 4, WGMMAB1: 4,
}

// A Scale is scale-d = 0, and the imm-scale-a/b that are -1.
type Scale struct{ Overwrite, NegateA, NegateB bool }

// set makes s what its two words in a record say.
func (s *Scale) set(overwrite, negate uint32) error {
	if overwrite > 1 || negate > 3 {
		return fmt.Errorf("overwrite %d is over 1 or negate %d over 3", overwrite, negate)
	}
	*s = Scale{overwrite == 1, negate&1 != 0, negate&2 != 0}
	return nil
}

// A WGMMA is one recorded instruction of 64 by 8 elements, D = A·B + C. The elements of a row of A, and of a
// column of B, lie side by side, little-endian.
type WGMMA struct {
	Type uint32
	Scale
	A    [WGMMARows][WGMMARowBytes]byte
	B    [WGMMAColumns][WGMMARowBytes]byte
	C, D [WGMMARows][WGMMAColumns]uint32 // representations, of 16 bits for f16
}

// ParseWGMMAs reads a file wgmma_*.bin of one type, without scales.
func ParseWGMMAs(data []byte) ([]WGMMA, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("golden: %d bytes, want a header of 8", len(data))
	}
	var typ, n uint32
	at := decode(data, &typ, &n)
	size, ok := accumulatorBytes[typ]
	if !ok {
		return nil, fmt.Errorf("golden: unknown type %d of multiplications", typ)
	}
	if n == 0 {
		return nil, errors.New("golden: no multiplications")
	}
	each := WGMMARows*WGMMARowBytes + WGMMAColumns*WGMMARowBytes + 2*WGMMARows*WGMMAColumns*size
	if want := 8 + uint64(n)*uint64(each); uint64(len(data)) != want {
		return nil, fmt.Errorf("golden: %d bytes, want %d for %d multiplications of type %d", len(data), want, n, typ)
	}
	all := make([]WGMMA, n)
	for i := range all {
		all[i].Type, at = typ, decode(at, &all[i].A)
	}
	for i := range all {
		at = decode(at, &all[i].B)
	}
	for i := range all {
		at = accumulators(&all[i].C, at, size)
	}
	for i := range all {
		at = accumulators(&all[i].D, at, size)
	}
	return all, nil
}

// ParseScaledWGMMAs reads the records of wgmma_scale.bin, each of a type of floats.
func ParseScaledWGMMAs(data []byte) ([]WGMMA, error) {
	return parseRecords(data, "scaled instruction", (*WGMMA).parse)
}

// parse reads one record and returns its length.
func (m *WGMMA) parse(b []byte) (int, error) {
	const header = 3 * 4
	if len(b) < header {
		return 0, fmt.Errorf("%d bytes left of a record's head of %d", len(b), header)
	}
	var overwrite, negate uint32
	at := decode(b, &m.Type, &overwrite, &negate)
	bytes, ok := accumulatorBytes[m.Type]
	if !ok || m.Type >= WGMMAS8 {
		return 0, fmt.Errorf("unknown type %d of multiplications of floats", m.Type)
	}
	if err := m.Scale.set(overwrite, negate); err != nil {
		return 0, err
	}
	size := header + (WGMMARows+WGMMAColumns)*WGMMARowBytes + 2*WGMMARows*WGMMAColumns*bytes
	if len(b) < size {
		return 0, fmt.Errorf("%d bytes left of a record of %d", len(b), size)
	}
	at = decode(at, &m.A, &m.B)
	accumulators(&m.D, accumulators(&m.C, at, bytes), bytes)
	return size, nil
}

// accumulators reads a tile of elements of size bytes and returns what follows.
func accumulators(dst *[WGMMARows][WGMMAColumns]uint32, b []byte, size int) []byte {
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
func (c *DescriptorCase) Element(i uint32) int { return int(hash(i, c.Seed, 1)%17) - 8 }

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
	rest := decode(b, h[:])
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
	size := descriptorHeader + WGMMARows*c.N*2
	if len(b) < size {
		return 0, fmt.Errorf("%d bytes left of a record of %d", len(b), size)
	}
	c.D = make([]int16, WGMMARows*c.N)
	decode(rest, c.D)
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
