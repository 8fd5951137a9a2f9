package golden

import (
	"fmt"
	"strings"
)

// A MapCall is one recorded call of cuTensorMapEncodeTiled, or of
// cuTensorMapEncodeIm2col. Of the arrays only the first Rank entries count (Rank-1 of
// the strides, Rank-2 of the corners); the recorder wrote five even for the ranks 0
// and 6, which the driver refuses.
type MapCall struct {
	DataType       uint8
	Rank           int
	Address        uint64 // modulo 4096
	Dims           [5]uint64
	Strides        [4]uint64 // bytes
	Box            [5]uint32 // of an im2col map channels and pixels
	Im2col         bool
	Lower, Upper   [3]int32
	ElementStrides [5]uint32
	Interleave     uint8
	Swizzle        uint8
	L2             uint8
	Fill           uint8
	Accepted       bool
}

const (
	mapHeader    = "dtype rank addr_off dims strides box estr interleave swizzle l2 oob result"
	im2colHeader = "dtype rank addr_off dims strides lower upper channels pixels estr interleave swizzle l2 oob result"
)

// ParseMapCalls reads the rows of tensormap.txt or tensormap_im2col.txt.
func ParseMapCalls(data []byte) ([]MapCall, error) {
	rows, err := lines(data)
	if err != nil {
		return nil, err
	}
	switch rows[0] {
	case mapHeader:
		return parseRows(rows[1:], 2, (*MapCall).parse)
	case im2colHeader:
		return parseRows(rows[1:], 2, (*MapCall).parseIm2col)
	}
	return nil, fmt.Errorf("golden: line 1 is %q, want %q or %q", rows[0], mapHeader, im2colHeader)
}

func (c *MapCall) parse(row string) error {
	f, err := columns(row, mapHeader)
	if err != nil {
		return err
	}
	if err := list(c.Box[:], f[5]); err != nil {
		return err
	}
	return c.parseRest(f[:5], f[6:])
}

func (c *MapCall) parseIm2col(row string) error {
	f, err := columns(row, im2colHeader)
	if err != nil {
		return err
	}
	c.Im2col = true
	for _, err := range []error{
		list(c.Lower[:], f[5]), list(c.Upper[:], f[6]), scalar(&c.Box[0], f[7]), scalar(&c.Box[1], f[8]),
	} {
		if err != nil {
			return err
		}
	}
	return c.parseRest(f[:5], f[9:])
}

func columns(row, header string) ([]string, error) {
	f := strings.Split(row, " ")
	if want := strings.Count(header, " ") + 1; len(f) != want {
		return nil, fmt.Errorf("want %d columns, got %d", want, len(f))
	}
	return f, nil
}

// parseRest parses the columns before the box and those behind it.
func (c *MapCall) parseRest(f, g []string) error {
	var result uint8
	for _, err := range []error{
		scalar(&c.DataType, f[0]), scalar(&c.Rank, f[1]), scalar(&c.Address, f[2]),
		list(c.Dims[:], f[3]), list(c.Strides[:], f[4]), list(c.ElementStrides[:], g[0]),
		scalar(&c.Interleave, g[1]), scalar(&c.Swizzle, g[2]), scalar(&c.L2, g[3]), scalar(&c.Fill, g[4]),
		scalar(&result, g[5]),
	} {
		if err != nil {
			return err
		}
	}
	if c.Rank < 0 || c.Rank > 6 {
		return fmt.Errorf("rank %d is outside 0 to 6", c.Rank)
	}
	c.Accepted = result == 0
	return nil
}
