package golden

import (
	"fmt"
	"regexp"
	"strconv"
)

// Kinds of a recorded copy.
const (
	KindLoad     = 0
	KindStore    = 1 // or a reduction, when Red is not 0
	KindPrefetch = 2 // of which nothing is known but that it faulted, if it did
)

// Modes of a copy. A tile instruction may meet an im2col map, or the reverse.
const (
	Im2colMap  = 1
	OtherInstr = 2 // not the one for the map
)

// Box is what copies through tensor maps are recorded of. In im2col mode the extent is channels and pixels.
type Box struct {
	Kind           int32
	Red            int32 // 0 none, 1 add, 2 min, 3 max, 4 inc, 5 dec, 6 and, 7 or, 8 xor
	DataType       int32
	Rank           int32 // 1 to 5
	Interleave     int32
	Swizzle        int32
	Fill           int32
	SharedOffset   int32
	Extent         [5]int32
	ElementStrides [5]int32
	Coord          [5]int32
	Dims           [5]uint64

	Mode         int32
	Lower, Upper [3]int32
	Offsets      [3]int32
	Multicast    int32 // 1 if another CTA has issued it
}

// A Copy is one recorded load, store or reduction.
type Copy struct {
	Box
	Done    int32 // load: bytes signalled to the mbarrier; else 1; negative if the GPU faulted: its error
	Bytes   int32
	Strides [4]uint64 // bytes
	Seed    uint32
	// After is the destination afterwards: shared memory without the trailing
	// bytes that still hold SharedInit, or global memory.
	After []byte
}

// What the recorder put into memory that it did not fill with a pattern.
const (
	SharedInit = 0xEE
	SharedSize = 32 << 10
	GlobalInit = 0xCC
)

// FillGlobal writes the pattern of global memory before a load or a reduction.
func (c *Copy) FillGlobal(b []byte) {
	for k := range b {
		b[k] = byte((uint32(k)*2654435761 + c.Seed) >> 13)
	}
}

// FillShared writes the pattern of shared memory before a store or a reduction.
func (c *Copy) FillShared(b []byte) {
	for k := range b {
		b[k] = byte((uint32(k)*2246822519 + c.Seed) >> 11)
	}
}

const copyFixed = 40*4 + 5*8 + 4*8 + 2*4

// ParseCopies reads the records of tma.bin.
func ParseCopies(data []byte) ([]Copy, error) {
	return parseRecords(data, "copy", (*Copy).parse)
}

// parse reads one record and returns its length.
func (c *Copy) parse(b []byte) (int, error) {
	if len(b) < copyFixed {
		return 0, fmt.Errorf("%d bytes left of a record of at least %d", len(b), copyFixed)
	}
	var reserved [4]int32
	var n uint32
	b = decode(b, &c.Kind, &c.Red, &c.DataType, &c.Rank, &c.Interleave, &c.Swizzle, &c.Fill, &c.SharedOffset,
		&c.Done, &c.Bytes, c.Extent[:], c.ElementStrides[:], c.Coord[:], &c.Mode, c.Lower[:], c.Upper[:], c.Offsets[:],
		&c.Multicast, reserved[:], c.Dims[:], c.Strides[:], &c.Seed, &n)
	if reserved != [4]int32{} {
		return 0, fmt.Errorf("reserved words are %d", reserved)
	}
	if uint64(n) > uint64(len(b)) {
		return 0, fmt.Errorf("%d bytes left of %d of memory", len(b), n)
	}
	if err := c.Box.check(); err != nil {
		return 0, err
	}
	if c.Kind == KindLoad && n > SharedSize {
		return 0, fmt.Errorf("%d bytes of shared memory, there are %d", n, SharedSize)
	}
	c.After = b[:n:n]
	return copyFixed + int(n), nil
}

// check refuses what the recorder cannot have written.
func (b *Box) check() error {
	for _, f := range []struct {
		name string
		v    int32
		max  int32
	}{
		{"kind", b.Kind, KindPrefetch}, {"reduction", b.Red, 8}, {"type", b.DataType, maxDataType},
		{"interleave", b.Interleave, 2}, {"swizzle", b.Swizzle, 3}, {"fill", b.Fill, 1},
		{"shared offset", b.SharedOffset, SharedSize}, {"mode", b.Mode, Im2colMap | OtherInstr},
		{"multicast", b.Multicast, 1},
	} {
		if f.v < 0 || f.v > f.max {
			return fmt.Errorf("%s %d is outside 0 to %d", f.name, f.v, f.max)
		}
	}
	if b.Rank < 1 || b.Rank > 5 {
		return fmt.Errorf("rank %d is outside 1 to 5", b.Rank)
	}
	if b.Mode != 0 && b.Rank < 3 {
		return fmt.Errorf("im2col mode of rank %d, which is 3 to 5", b.Rank)
	}
	for d := range b.Rank {
		if b.Dims[d] < 1 || b.Extent[d] < 1 || b.ElementStrides[d] < 1 {
			return fmt.Errorf("dimension %d has %d elements, box %d and element stride %d",
				d, b.Dims[d], b.Extent[d], b.ElementStrides[d])
		}
	}
	return nil
}

var refusedLine = regexp.MustCompile(`^case \d+ kind (\d+) dt (\d+) rank (\d+) il (\d+) sw (\d+) oob (\d+) ` +
	`smoff (\d+) box (\S+) es (\S+) crd (\S+) dims (\S+)$`)

// ParseRefused reads the lines of tma_illegal.txt: copies on which the GPU
// raised an illegal instruction. Strides were not recorded, nor the element
// strides and dimensions behind the third, which become 1.
func ParseRefused(data []byte) ([]Box, error) {
	return parseLines(data, (*Box).parseRefused)
}

func (b *Box) parseRefused(row string) error {
	f := refusedLine.FindStringSubmatch(row)
	if f == nil {
		return fmt.Errorf("not a refused copy: %q", row)
	}
	for i, p := range []*int32{&b.Kind, &b.DataType, &b.Rank, &b.Interleave, &b.Swizzle, &b.Fill, &b.SharedOffset} {
		if err := scalar(p, f[1+i]); err != nil {
			return err
		}
	}
	b.ElementStrides = [5]int32{1, 1, 1, 1, 1}
	b.Dims = [5]uint64{1, 1, 1, 1, 1}
	for _, err := range []error{
		list(b.Extent[:], f[8]), list(b.ElementStrides[:3], f[9]),
		list(b.Coord[:], f[10]), list(b.Dims[:3], f[11]), b.check(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// A Word is an f32 word before and after a load through a TF32 map.
type Word struct{ Before, After uint32 }

var wordLine = regexp.MustCompile(`^([0-9a-f]{8}) -> ([0-9a-f]{8})$`)

// ParseWords reads the lines of tma_tf32.txt.
func ParseWords(data []byte) ([]Word, error) {
	return parseLines(data, (*Word).parse)
}

func (w *Word) parse(row string) error {
	f := wordLine.FindStringSubmatch(row)
	if f == nil {
		return fmt.Errorf("%q is not \"hex -> hex\"", row)
	}
	// The pattern admits only what fits 32 bits.
	before, _ := strconv.ParseUint(f[1], 16, 32)
	after, _ := strconv.ParseUint(f[2], 16, 32)
	*w = Word{uint32(before), uint32(after)}
	return nil
}
