package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Atomic is one atomic operation of one thread.
type Atomic struct {
	Place    string // "shared" or "global"
	Op, Type string // "add", "f32", ...: see atomicTypes
	// The bits of what lay there, of the operand, of what cas compares with, of what came back,
	// and of what lies there then.
	Before, Operand, Compare, Returned, After uint64
}

// atomicTypes are the types of each operation.
var atomicTypes = map[string]string{
	"add": "u32 s32 u64 f32 f64", "sub": "u32 s32", "exch": "u32 s32 u64 f32",
	"min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64", "inc": "u32", "dec": "u32",
	"and": "u32 s32 u64", "or": "u32 s32 u64", "xor": "u32 s32 u64", "cas": "u32 s32 u64",
}

// ParseAtomics reads the lines of atomic.txt: the place, the operation with its type, and the
// five words in hexadecimal.
func ParseAtomics(data []byte) ([]Atomic, error) { return parseLines(data, (*Atomic).parse) }

func (r *Atomic) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 7 {
		return fmt.Errorf("want 7 fields, got %d", len(f))
	}
	if r.Place = f[0]; r.Place != "shared" && r.Place != "global" {
		return fmt.Errorf("place %q is not shared or global", r.Place)
	}
	r.Op, r.Type, _ = strings.Cut(f[1], "_")
	if !slices.Contains(strings.Fields(atomicTypes[r.Op]), r.Type) {
		return fmt.Errorf("no operation %q", f[1])
	}
	if r.Place == "global" && !(r.Op == "add" && r.Type[0] == 'f') {
		return fmt.Errorf("%s in global memory, where only sums of floats were recorded", f[1])
	}
	size := 32
	if strings.HasSuffix(r.Type, "64") {
		size = 64
	}
	for i, dst := range []*uint64{&r.Before, &r.Operand, &r.Compare, &r.Returned, &r.After} {
		v, err := strconv.ParseUint(f[2+i], 16, size)
		if err != nil {
			return fmt.Errorf("word %q of %s", f[2+i], f[1])
		}
		*dst = v
	}
	return nil
}
