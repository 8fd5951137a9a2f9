package golden

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A WarpRecord is one instruction of a whole warp: a shuffle, vote, match or reduction of the
// lanes in Mask, or a load or store of matrices by all.
type WarpRecord struct {
	Op    string // as PTX names it: "shfl.up", "redux.min.s32", "stmatrix.x4.trans", ...
	Mask  uint32 // of the lanes that do it; the others have 0 in Result
	Width int    // of a shuffle, or 0
	// A lane's words lie side by side. A are its operands, B what a shuffle also takes.
	//
	// Of matrices B is the row of shared memory, 16 bytes wide, whose address the lane gives. A is
	// the memory of a load, and Result its registers; of a store it is the other way round, onto zeros.
	A, B, Result []uint32
}

// What the words of a WarpRecord are for.
const (
	WarpLanes       = 32
	WarpMatrixRows  = 64
	WarpMatrixWords = WarpMatrixRows * 4
)

// warpKinds are the operations of each kind, separated by "|".
var warpKinds = map[string]string{
	"shfl":  "idx|up|down|bfly",
	"vote":  "ballot|any|all",
	"match": "any|all",
	"redux": "add.u32|add.s32|min.u32|min.s32|max.u32|max.s32|and.b32|or.b32|xor.b32",

	"ldmatrix": "x1|x2|x4|x1.trans|x2.trans|x4.trans",
	"stmatrix": "x1|x2|x4|x1.trans|x2.trans|x4.trans",
}

// Kind is what Op begins with: "shfl", "vote", "match", "redux", "ldmatrix" or "stmatrix".
func (r *WarpRecord) Kind() string {
	kind, _, _ := strings.Cut(r.Op, ".")
	return kind
}

// Matrices returns how many a load or store moves.
func (r *WarpRecord) Matrices() int { return int(r.Op[len("ldmatrix.x")] - '0') }

// ParseWarps reads the lines of warp.txt: the operation, the mask, the width of a shuffle or 0,
// and A, B and the result in hexadecimal.
func ParseWarps(data []byte) ([]WarpRecord, error) { return parseLines(data, (*WarpRecord).parse) }

func (r *WarpRecord) parse(row string) error {
	f := strings.Split(row, " ")
	if len(f) != 6 {
		return fmt.Errorf("want 6 fields, got %d", len(f))
	}
	r.Op = f[0]
	kind, op, _ := strings.Cut(r.Op, ".")
	if !slices.Contains(strings.Split(warpKinds[kind], "|"), op) || op == "" {
		return fmt.Errorf("no operation %q", f[0])
	}
	mask, err := strconv.ParseUint(f[1], 16, 32)
	if err != nil || mask == 0 {
		return fmt.Errorf("mask %q is no set of lanes", f[1])
	}
	r.Mask = uint32(mask)
	r.Width, err = strconv.Atoi(f[2])
	if shuffles := kind == "shfl"; err != nil || shuffles != (r.Width != 0) ||
		shuffles && (r.Width < 1 || r.Width > WarpLanes || bits.OnesCount(uint(r.Width)) > 1) {
		return fmt.Errorf("width %q of %s", f[2], r.Op)
	}
	sizes := [3]int{WarpLanes, WarpLanes, WarpLanes} // of A, B and Result
	switch kind {
	case "ldmatrix":
		sizes[0], sizes[2] = WarpMatrixWords, WarpLanes*r.Matrices()
	case "stmatrix":
		sizes[0], sizes[2] = WarpLanes*r.Matrices(), WarpMatrixWords
	}
	for i, dst := range []*[]uint32{&r.A, &r.B, &r.Result} {
		text := f[3+i]
		if len(text) != 8*sizes[i] {
			return fmt.Errorf("%d digits of hexadecimal, want %d words", len(text), sizes[i])
		}
		if *dst, err = hexWords(text); err != nil {
			return err
		}
	}
	if most := slices.Max(r.B); strings.HasSuffix(kind, "matrix") && most >= WarpMatrixRows {
		return fmt.Errorf("row %d of %d", most, WarpMatrixRows)
	}
	return nil
}

// hexWords reads words of 8 digits each, side by side.
func hexWords(text string) ([]uint32, error) {
	words := make([]uint32, len(text)/8)
	for i := range words {
		digits := text[8*i:][:8]
		w, err := strconv.ParseUint(digits, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("word %q is not hexadecimal", digits)
		}
		words[i] = uint32(w)
	}
	return words, nil
}
