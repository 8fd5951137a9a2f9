package golden

import (
	"bytes"
	"strings"
	"testing"
)

var reductionRow = "cluster add 2 " + strings.Repeat("01", reductionBytes) + " " +
	strings.Repeat("02", reductionBytes) + " " + strings.Repeat("03", reductionBytes)

func TestReductions(t *testing.T) {
	got, err := ParseReductions([]byte(reductionRow + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	if len(got) != 1 || r.Place != "cluster" || r.Op != 1 || r.DataType != 2 ||
		!bytes.Equal(r.Before, bytes.Repeat([]byte{1}, 512)) ||
		!bytes.Equal(r.Operand, bytes.Repeat([]byte{2}, 512)) || !bytes.Equal(r.After, bytes.Repeat([]byte{3}, 512)) {
		t.Errorf("ParseReductions = %+v", got)
	}
}

func TestReductionsAreStrict(t *testing.T) {
	refuses(t, ParseReductions, reductionRow, [][2]string{
		{"cluster", "shared"}, {"cluster", ""}, {"add", "sub"}, {"add", ""}, {" 2 ", " 13 "}, {" 2 ", " -1 "},
		{" 2 ", "  "},
		{"0101", "01"}, {"0202", "0g02"}, {"0303", "030303"}, {" 03", "  03"},
	})
	for _, text := range []string{"", reductionRow, reductionRow + "\n\n", reductionRow + " 00\n"} {
		if _, err := ParseReductions([]byte(text)); err == nil {
			t.Errorf("ParseReductions accepted %d bytes", len(text))
		}
	}
}
