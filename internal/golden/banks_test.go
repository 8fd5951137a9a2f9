package golden

import (
	"strings"
	"testing"
)

func TestBanks(t *testing.T) {
	row := func(op, mask, taken string, at ...string) string {
		for len(at) < WarpLanes {
			at = append(at, "0010")
		}
		return op + " " + mask + " " + taken + " " + strings.Join(at, "")
	}
	good := []string{
		row("ld.shared.v4.u32", "ffffffff", "2.03"),
		row("stmatrix.x2.trans", "ffffffff", "2.00", "1ff0"),
		row("atom.shared.cas.b64", "00000003", "4.00", "0008", "1ff8"),
		row("ld.shared.u8", "80000000", "1.00", "1fff"),
	}
	all, err := ParseBanks([]byte(strings.Join(good, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	load, matrix, cas := &all[0], &all[1], &all[2]
	if load.Op != "ld.shared.v4.u32" || load.Mask != 1<<32-1 || load.Taken != 2.03 || load.At[31] != 16 ||
		load.Size() != 16 || load.Matrices() != 0 || !load.Together() {
		t.Errorf("the load is %+v", load)
	}
	if matrix.Matrices() != 2 || matrix.Size() != 16 || matrix.At[0] != 0x1ff0 {
		t.Errorf("the store is %+v", matrix)
	}
	if cas.Mask != 3 || cas.Size() != 8 || !cas.Together() || cas.At[1] != 0x1ff8 {
		t.Errorf("the atomic is %+v", cas)
	}
	cas.Mask = 7 // 0 and 1 differ, and 0 and 2
	if cas.At[2] = 0; cas.Together() {
		t.Error("lanes go together that lie in different places")
	}
	for _, bad := range []string{
		row("ld.shared.u64", "ffffffff", "1.00"), row("ldmatrix.x3", "ffffffff", "1.00"), row("ldmatrix", "ffffffff", "1.00"),
		row("ld.shared.u8", "00000000", "1.00"), row("ld.shared.u8", "1ffffffff", "1.00"), row("ld.shared.u8", "x", "1.00"),
		row("ldmatrix.x1", "000000ff", "1.00"), row("ld.shared.u8", "00000001", "0.00"),
		row("ld.shared.u8", "00000001", "NaN"),
		row("ld.shared.u8", "00000001", "1e9"), row("ld.shared.u8", "00000001", "1.00") + " 1",
		row("ld.shared.u8", "00000001", "1.00", "001"), row("ld.shared.u8", "00000001", "1.00", "00g0"),
		row("ld.shared.u8", "00000001", "1.00", "2000"), row("ld.shared.v2.u32", "00000001", "1.00", "0004"),
	} {
		if got, err := ParseBanks([]byte(bad + "\n")); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}
