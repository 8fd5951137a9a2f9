package golden

import (
	"slices"
	"strings"
	"testing"
)

var (
	shuffleRow = "shfl.up 0000ffff 8 " + strings.Repeat("0000000a", 32) + " " +
		strings.Repeat("0000000b", 32) + " " + strings.Repeat("0000000c", 32)
	matrixRow = "stmatrix.x2.trans ffffffff 0 " + strings.Repeat("0000000a", 64) + " " +
		strings.Repeat("0000003f", 32) + " " + strings.Repeat("0000000c", 256)
)

func TestWarps(t *testing.T) {
	got, err := ParseWarps([]byte(shuffleRow + "\n" + matrixRow + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, m := got[0], got[1]
	if s.Op != "shfl.up" || s.Kind() != "shfl" || s.Mask != 0xffff || s.Width != 8 ||
		!slices.Equal(s.A, slices.Repeat([]uint32{10}, 32)) || !slices.Equal(s.B, slices.Repeat([]uint32{11}, 32)) ||
		!slices.Equal(s.Result, slices.Repeat([]uint32{12}, 32)) {
		t.Errorf("the shuffle is %+v", s)
	}
	if m.Kind() != "stmatrix" || m.Matrices() != 2 || len(m.A) != 64 || len(m.Result) != WarpMatrixWords {
		t.Errorf("the matrices are %+v", m)
	}
}

func TestWarpsAreStrict(t *testing.T) {
	for _, change := range [][3]string{
		{shuffleRow, "shfl.up", "shfl.left"}, {shuffleRow, "shfl.up", "shfl"}, {shuffleRow, "shfl.up", "shfl."},
		{shuffleRow, "shfl.up", "warp.up"}, {shuffleRow, "0000ffff", "00000000"}, {shuffleRow, "0000ffff", "10000ffff"},
		{shuffleRow, " 8 ", " 0 "}, {shuffleRow, " 8 ", " 6 "}, {shuffleRow, " 8 ", " 64 "}, {shuffleRow, " 8 ", " -8 "},
		{shuffleRow, "0000000a", "000000a"}, {shuffleRow, "0000000c", "0000000g"}, {shuffleRow, " 8 ", "  "},
		{matrixRow, " 0 ", " 8 "}, {matrixRow, "0000003f", "00000040"}, {matrixRow, "x2", "x4"}, {matrixRow, "x2", "x3"},
	} {
		refuses(t, ParseWarps, change[0], [][2]string{{change[1], change[2]}})
	}
}
