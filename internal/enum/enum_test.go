package enum

import "testing"

func TestName(t *testing.T) {
	type digit uint8
	names := []string{1: "one", 3: "three"}
	for v, want := range map[digit]string{
		0: "digit(0)", 1: "one", 2: "digit(2)", 3: "three", 4: "digit(4)", 255: "digit(255)",
	} {
		if got := Name("digit", names, v); got != want {
			t.Errorf("%d is called %q, want %q", uint8(v), got, want)
		}
	}
}
