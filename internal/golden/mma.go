package golden

import (
	"fmt"
	"strings"
)

// An MMA is one mma.sync, D = A·B + C. A[i][lane] is register i of a lane.
type MMA struct {
	Op         string // as PTX names it, without mma.sync.aligned
	A, B, C, D [][WarpLanes]uint32
}

// ParseMMAs reads the lines of mma.txt: the instruction and A, B, C and D in hexadecimal, the registers of a lane
// side by side.
func ParseMMAs(data []byte) ([]MMA, error) { return parseLines(data, (*MMA).parse) }

func (r *MMA) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 5 {
		return fmt.Errorf("%d fields, want 5", len(f))
	}
	if r.Op = f[0]; !strings.Contains(r.Op, ".row.col.") {
		return fmt.Errorf("no instruction %q", r.Op)
	}
	for i, dst := range []*[][WarpLanes]uint32{&r.A, &r.B, &r.C, &r.D} {
		text := f[1+i]
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
