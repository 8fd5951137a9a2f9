package golden

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Reduction is one of 512 bytes, which was done through a tensor map, in bulk to global
// memory, or in bulk to the shared memory of another CTA.
type Reduction struct {
	Place    string // "tensor", "global" or "cluster"
	Op       int    // numbered as in a Copy: 1 add, 2 min, 3 max, 4 inc, 5 dec, 6 and, 7 or, 8 xor
	DataType int32  // of the elements; bits in bulk have that of unsigned integers
	// What lay there, what was reduced into it, and what it became.
	Before, Operand, After []byte
}

// maxDataType is the last type of a tensor map.
const maxDataType = 12

// reductionBytes is what each operand of a Reduction has.
const reductionBytes = 512

var reductionNames = []string{"", "add", "min", "max", "inc", "dec", "and", "or", "xor"}

// ParseReductions reads the lines of reduce.txt: place, operation, number of the type, and
// the bytes before, of the operand and after in hexadecimal.
func ParseReductions(data []byte) ([]Reduction, error) {
	return parseLines(data, (*Reduction).parse)
}

func (r *Reduction) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 6 {
		return fmt.Errorf("want 6 fields, got %d", len(f))
	}
	r.Place, r.Op = f[0], slices.Index(reductionNames, f[1])
	if !slices.Contains([]string{"tensor", "global", "cluster"}, r.Place) {
		return fmt.Errorf("place %q is not tensor, global or cluster", r.Place)
	}
	if r.Op < 1 {
		return fmt.Errorf("no operation %q", f[1])
	}
	typ, err := strconv.ParseUint(f[2], 10, 4)
	if err != nil || typ > maxDataType {
		return fmt.Errorf("type %q is outside 0 to %d", f[2], maxDataType)
	}
	r.DataType = int32(typ)
	for i, dst := range []*[]byte{&r.Before, &r.Operand, &r.After} {
		b, err := hex.DecodeString(f[3+i])
		if err != nil || len(b) != reductionBytes {
			return fmt.Errorf("operand %d has %d digits, want %d of hexadecimal", i, len(f[3+i]), 2*reductionBytes)
		}
		*dst = b
	}
	return nil
}
