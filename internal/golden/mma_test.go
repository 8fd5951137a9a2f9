package golden

import (
	"strings"
	"testing"
)

var syncRow = "m16n8k8.row.col.f32.bf16.bf16.f32 " + strings.Repeat("0000000a00000010", 32) + " " +
	strings.Repeat("0000000b", 32) + " " + strings.Repeat("0000000c", 128) + " " + strings.Repeat("0000000d", 128)

func TestMMASyncs(t *testing.T) {
	got, err := ParseMMAs([]byte(syncRow + "\n"))
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	r := got[0]
	if r.Op != "m16n8k8.row.col.f32.bf16.bf16.f32" || len(r.A) != 2 || len(r.B) != 1 || len(r.C) != 4 || len(r.D) != 4 ||
		r.A[0][31] != 10 || r.A[1][0] != 16 || r.B[0][1] != 11 || r.C[3][31] != 12 || r.D[0][7] != 13 {
		t.Errorf("the record is %+v", r)
	}
	refuses(t, ParseMMAs, syncRow, [][2]string{
		{".row", ".col"}, {"f32 ", "f32"}, {"0000000b ", "000000b "}, {"0000000b ", "0000000b0000000b "},
		{" " + strings.Repeat("0000000b", 32), " "}, {"0000000d", "0000000g"},
		{strings.Repeat("0000000d", 128), strings.Repeat("0000000d", 64)},
		{strings.Repeat("0000000b", 32), strings.Repeat("0000000b", 17*32)},
	})
}

func TestSparseMMASyncs(t *testing.T) {
	name, registers, _ := strings.Cut(syncRow, " ")
	meta := strings.Repeat("0000000e", 31) + "0000000f"
	row := "mma.sp.sync.aligned." + name + " 3 " + meta + " " + registers
	got, err := ParseSparseMMAs([]byte(row + "\n"))
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	r := got[0]
	if r.Op != "mma.sp.sync.aligned."+name || r.Selector != 3 || r.Meta[0] != 14 || r.Meta[31] != 15 || len(r.A) != 2 ||
		r.A[1][0] != 16 || r.B[0][1] != 11 || r.C[3][31] != 12 || r.D[0][7] != 13 {
		t.Errorf("the record is %+v", r)
	}
	refuses(t, ParseSparseMMAs, row, [][2]string{
		{" 3 ", " 4 "}, {" 3 ", " "}, {" 3 ", " x "}, {"0000000f ", " "}, {"0000000f ", "0000000f0000000f "},
		{"0000000f ", "0000000g "}, {".row", ".col"}, {"0000000b ", "000000b "},
	})
}
