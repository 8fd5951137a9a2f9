package tile

import "fmt"

const (
	// tileAlign is the alignment of a tile in shared memory (CUDA C++
	// Programming Guide, alignment table of the tensor copies).
	tileAlign = 128
	// maxShared keeps every address of shared memory in 32 bits.
	maxShared = 1 << 30
)

// Shared is emulated shared memory. Addresses are offsets from its base, which
// counts as a multiple of 1024, so an offset is all that a swizzle looks at.
// The bytes behind it start on a 64-byte boundary.
//
// Like memory it is unsynchronized: barriers and bulk groups order the copies
// that fill it and the code that reads it.
type Shared struct {
	mem []byte
}

// NewShared returns size bytes of zeroed shared memory, 1 to 2^30. (A block
// of a GPU has at most 227 KB.)
func NewShared(size int) (*Shared, error) {
	if size < 1 || size > maxShared {
		return nil, fmt.Errorf("tile: shared memory of %d bytes, want 1 to %d", size, maxShared)
	}
	return &Shared{mem: HeapSlots(size)}, nil
}

// Bytes returns the memory itself, not a copy.
func (s *Shared) Bytes() []byte { return s.mem }

// checkTile reports whether a box of m may lie at offset. operand names s in
// the error.
func (s *Shared) checkTile(op, operand string, m *TensorMap, offset int) error {
	return s.checkRange(op, operand, offset, m.SharedBytes(), tileAlign)
}

// checkRange reports whether size bytes, 0 or more, at an offset that is a multiple of align belong to s.
func (s *Shared) checkRange(op, operand string, offset, size, align int) error {
	switch {
	case s == nil:
		return misuse(RuleBytes, "%s: %s is nil", op, operand)
	case offset < 0:
		return misuse(RuleAlignment, "%s: %s offset %d is negative", op, operand, offset)
	case offset%align != 0:
		return misuse(RuleAlignment, "%s: %s offset %d is not a multiple of %d", op, operand, offset, align)
	case offset > len(s.mem)-size:
		return misuse(RuleBytes, "%s: %d bytes at %s offset %d end beyond its %d bytes",
			op, size, operand, offset, len(s.mem))
	}
	return nil
}
