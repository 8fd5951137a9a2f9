package golden

import "fmt"

// A Replacement is a recorded copy through a map that a kernel has made out of another, by tensormap.replace. The map
// that it was to become is that of the copy.
type Replacement struct {
	Base        Box // whose copy is of no meaning
	BaseStrides [4]uint64
	InGlobal    bool // changed in place, not in shared memory
	Same        int32
	Changes     []Change
	Copy
}

// What is said of the map that has come of it, beside the one that the driver makes.
const (
	OtherBits = 0 // the bits that count are not those of the driver's
	SameBits  = 1
	NoMap     = 2 // the driver has none
	Faulted   = 3 // the change itself
)

// A Change is an instruction, as a record has it. That of an address says how far behind the base's tensor.
type Change struct {
	Field Field
	Ord   uint32
	Value uint64
}

// A Field is one of tensormap.replace.
type Field uint32

// The fields.
const (
	GlobalAddress Field = iota
	Rank
	BoxDim
	GlobalDim
	GlobalStride
	ElementStride
	Elemtype
	InterleaveLayout
	SwizzleMode
	FillMode
)

const (
	baseFixed  = 4*4 + 6*4 + 5*4 + 5*4 + 3*4 + 3*4 + 5*8 + 4*8
	changeSize = 16
)

// ParseReplacements reads the records of tensormap_replace.bin.
func ParseReplacements(data []byte) ([]Replacement, error) {
	return parseRecords(data, "replacement", (*Replacement).parse)
}

// parse reads one record and returns its length.
func (r *Replacement) parse(b []byte) (int, error) {
	if len(b) < baseFixed {
		return 0, fmt.Errorf("%d bytes left of a map of %d", len(b), baseFixed)
	}
	all := len(b)
	var inGlobal, n int32
	var reserved [2]int32
	base := &r.Base
	b = decode(b, &inGlobal, &r.Same, &n, &reserved[0],
		&base.DataType, &base.Rank, &base.Swizzle, &base.Fill, &base.Mode, &reserved[1],
		base.Extent[:], base.ElementStrides[:], base.Lower[:], base.Upper[:], base.Dims[:], r.BaseStrides[:])
	switch {
	case reserved != [2]int32{}:
		return 0, fmt.Errorf("reserved words are %d", reserved)
	case inGlobal < 0 || inGlobal > 1 || r.Same < OtherBits || r.Same > Faulted:
		return 0, fmt.Errorf("place %d, outcome %d", inGlobal, r.Same)
	case n < 0 || int(n) > len(b)/changeSize:
		return 0, fmt.Errorf("%d changes in %d bytes", n, len(b))
	}
	r.InGlobal = inGlobal == 1
	if err := r.Base.check(); err != nil {
		return 0, fmt.Errorf("base: %w", err)
	}
	for range n {
		var c Change
		if b = decode(b, &c); c.Field > FillMode || c.Ord > 4 {
			return 0, fmt.Errorf("change of field %d, ordinal %d", c.Field, c.Ord)
		}
		r.Changes = append(r.Changes, c)
	}
	size, err := r.Copy.parse(b)
	return all - len(b) + size, err
}
