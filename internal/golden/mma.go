package golden

import (
	"fmt"
	"strconv"
	"strings"
)

// An MMA is one mma.sync, D = A·B + C. A[i][lane] is register i of a lane.
type MMA struct {
	Op         string // as PTX names it, without mma.sync.aligned
	A, B, C, D [][WarpLanes]uint32
}

// ParseMMAs reads the lines of mma.txt or mma_b1.txt: the instruction and A, B, C and D in hexadecimal, the registers
// of a lane side by side.
func ParseMMAs(data []byte) ([]MMA, error) { return parseLines(data, (*MMA).parse) }

func (r *MMA) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 5 {
		return fmt.Errorf("want 5 fields, got %d", len(f))
	}
	return r.fields(f[0], f[1:])
}

// fields reads the instruction and A, B, C and D.
func (r *MMA) fields(op string, registers []string) error {
	if r.Op = op; !strings.Contains(op, ".row.col.") {
		return fmt.Errorf("no instruction %q", op)
	}
	for i, dst := range []*[][WarpLanes]uint32{&r.A, &r.B, &r.C, &r.D} {
		text := registers[i]
		n := len(text) / 8 / WarpLanes
		if n == 0 || n > 16 || len(text) != n*8*WarpLanes {
			return fmt.Errorf("%d digits of hexadecimal, want 1 to 16 words of %d lanes", len(text), WarpLanes)
		}
		words, err := hexWords(text)
		if err != nil {
			return err
		}
		*dst = make([][WarpLanes]uint32, n)
		for at, w := range words {
			(*dst)[at%n][at/n] = w
		}
	}
	if len(r.C) != len(r.D) {
		return fmt.Errorf("%d registers of C, %d of D", len(r.C), len(r.D))
	}
	return nil
}

// A SparseMMA is one mma.sp, of which Op is the whole name.
type SparseMMA struct {
	MMA
	Selector int
	Meta     [WarpLanes]uint32
}

// ParseSparseMMAs reads the lines of mma_sp.txt: those of mma.txt with the selector and the metadata behind the
// instruction.
func ParseSparseMMAs(data []byte) ([]SparseMMA, error) { return parseLines(data, (*SparseMMA).parse) }

func (r *SparseMMA) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 7 {
		return fmt.Errorf("want 7 fields, got %d", len(f))
	}
	selector, err := strconv.ParseUint(f[1], 10, 2)
	if err != nil {
		return fmt.Errorf("no selector %q", f[1])
	}
	r.Selector = int(selector)
	words, err := hexWords(f[2])
	if err == nil && len(words) != len(r.Meta) {
		err = fmt.Errorf("metadata of %d lanes, want %d", len(words), len(r.Meta))
	}
	if err != nil {
		return err
	}
	copy(r.Meta[:], words)
	return r.fields(f[0], f[3:])
}
