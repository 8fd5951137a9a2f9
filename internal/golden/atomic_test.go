package golden

import "testing"

const atomicRow = "shared cas_s32 1 2 3 4 ffffffff"

func TestAtomics(t *testing.T) {
	got, err := ParseAtomics([]byte(atomicRow + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Atomic{"shared", "cas", "s32", 1, 2, 3, 4, 1<<32 - 1}); len(got) != 1 || got[0] != want {
		t.Errorf("ParseAtomics = %+v, want %+v", got, want)
	}
	refuses(t, ParseAtomics, atomicRow, [][2]string{
		{"shared", "cluster"}, {"shared", "global"}, {"cas_s32", "cas_f32"}, {"cas_s32", "cas"}, {"cas_s32", "_s32"},
		{"cas_s32", "nand_s32"}, {"cas_s32", "cas_"}, {" 1 ", " g "}, {" 1 ", "  "}, {" 2", " 2 2"},
		{"ffffffff", "100000000"},
	})
}
