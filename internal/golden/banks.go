package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A BankAccess is what an access of shared memory by the lanes of a warp has taken.
type BankAccess struct {
	Op    string         // as PTX names it: "ld.shared.v2.u32", "atom.shared.add.u32", "stmatrix.x4.trans", ...
	Mask  uint32         // of the lanes that do it
	Taken float64        // cycles, of many in a row by warps that do nothing else, or the wavefronts counted
	At    [WarpLanes]int // the addresses of the lanes, of matrices those of their rows
}

// BankBytes is the memory that the addresses lie in.
const BankBytes = 8192

// bankOps are the operations, and the bytes that a lane accesses or a row has.
var bankOps = func() map[string]int {
	ops := map[string]int{}
	for size, names := range map[int]string{
		1: "ld.shared.u8 st.shared.u8", 2: "ld.shared.u16 st.shared.u16", 4: "ld.shared.u32 st.shared.u32",
		8: "ld.shared.v2.u32 st.shared.v2.u32", 16: "ld.shared.v4.u32 st.shared.v4.u32",
	} {
		for _, name := range strings.Fields(names) {
			ops[name] = size
		}
	}
	for _, op := range strings.Fields("add.u32 min.s32 max.s32 inc.u32 dec.u32 and.b32 or.b32 xor.b32 exch.b32 cas.b32") {
		ops["atom.shared."+op] = 4
	}
	ops["atom.shared.exch.b64"], ops["atom.shared.cas.b64"] = 8, 8
	for _, kind := range []string{"ldmatrix", "stmatrix"} {
		for _, shape := range strings.Split(warpKinds[kind], "|") {
			ops[kind+"."+shape] = 16
		}
	}
	return ops
}()

// Size returns the bytes that a lane accesses, or that a row of a matrix has.
func (r *BankAccess) Size() int { return bankOps[r.Op] }

// Matrices returns how many are loaded or stored, 0 of other operations.
func (r *BankAccess) Matrices() int {
	_, shape, ok := strings.Cut(r.Op, "matrix.x")
	if !ok {
		return 0
	}
	return int(shape[0] - '0')
}

// ParseBanks reads the lines of banks.txt and banks_ncu.txt: the operation, the mask in hexadecimal, what it has taken,
// and the addresses, of four digits of hexadecimal each.
func ParseBanks(data []byte) ([]BankAccess, error) { return parseLines(data, (*BankAccess).parse) }

func (r *BankAccess) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 4 {
		return fmt.Errorf("want 4 fields, got %d", len(f))
	}
	size, ok := bankOps[f[0]]
	if r.Op = f[0]; !ok {
		return fmt.Errorf("no operation %q", f[0])
	}
	mask, err := strconv.ParseUint(f[1], 16, 32)
	if r.Mask = uint32(mask); err != nil || mask == 0 || r.Matrices() > 0 && r.Mask != 1<<WarpLanes-1 {
		return fmt.Errorf("mask %q of %s", f[1], f[0])
	}
	r.Taken, err = strconv.ParseFloat(f[2], 64)
	if err != nil || !(r.Taken > 0 && r.Taken < 1000) {
		return fmt.Errorf("%q is not what one takes", f[2])
	}
	if len(f[3]) != 4*WarpLanes {
		return fmt.Errorf("%d digits of hexadecimal, want %d addresses", len(f[3]), WarpLanes)
	}
	for lane := range r.At {
		at, err := strconv.ParseUint(f[3][4*lane:][:4], 16, 16)
		if r.At[lane] = int(at); err != nil || r.At[lane] > BankBytes-size || r.At[lane]%size != 0 {
			return fmt.Errorf("address %q of %s", f[3][4*lane:][:4], f[0])
		}
	}
	return nil
}

// Together reports whether of 8 or 16 bytes twice as many lanes are loaded together: of every two active lanes that are
// neighbours both have the same address, or of every two that are two apart.
func (r *BankAccess) Together() bool {
	return slices.ContainsFunc([]int{1, 2}, func(apart int) bool {
		for lane, at := range r.At {
			if other := lane ^ apart; (r.Mask>>lane)&(r.Mask>>other)&1 != 0 && at != r.At[other] {
				return false
			}
		}
		return true
	})
}
