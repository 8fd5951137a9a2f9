package golden

import (
	"fmt"
	"strings"
)

// A MapCall is one recorded call of cuTensorMapEncodeTiled. Of the arrays only
// the first Rank entries count (Rank-1 of the strides); the recorder wrote five
// even for the ranks 0 and 6, which the driver refuses.
type MapCall struct {
	DataType       uint8
	Rank           int
	Address        uint64 // modulo 4096
	Dims           [5]uint64
	Strides        [4]uint64 // bytes
	Box            [5]uint32
	ElementStrides [5]uint32
	Interleave     uint8
	Swizzle        uint8
	L2             uint8
	Fill           uint8
	Accepted       bool
}

const mapHeader = "dtype rank addr_off dims strides box estr interleave swizzle l2 oob result"

// ParseMapCalls reads the rows of tensormap.txt.
func ParseMapCalls(data []byte) ([]MapCall, error) {
	rows, err := lines(data)
	if err != nil {
		return nil, err
	}
	if rows[0] != mapHeader {
		return nil, fmt.Errorf("golden: line 1 is %q, want %q", rows[0], mapHeader)
	}
	return parseRows(rows[1:], 2, (*MapCall).parse)
}

func (c *MapCall) parse(row string) error {
	f := strings.Split(row, " ")
	if want := strings.Count(mapHeader, " ") + 1; len(f) != want {
		return fmt.Errorf("%d columns, want %d", len(f), want)
	}
	var result uint8
	for _, err := range []error{
		scalar(&c.DataType, f[0]), scalar(&c.Rank, f[1]), scalar(&c.Address, f[2]),
		list(c.Dims[:], f[3]), list(c.Strides[:], f[4]),
		list(c.Box[:], f[5]), list(c.ElementStrides[:], f[6]),
		scalar(&c.Interleave, f[7]), scalar(&c.Swizzle, f[8]), scalar(&c.L2, f[9]), scalar(&c.Fill, f[10]),
		scalar(&result, f[11]),
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
