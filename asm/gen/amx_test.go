package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// assembleAMX encodes an instruction in the words of testdata/amx.txt.
func assembleAMX(t *testing.T, text string) []byte {
	op, args, _ := strings.Cut(text, " ")
	var a, b, c int
	var m memory
	scan := func(args string, into ...any) {
		if _, err := fmt.Sscan(args, into...); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	switch op {
	case "TDPBF16PS":
		scan(args, &a, &b, &c)
		return tdpbf16ps(a, b, c)
	case "TILEZERO":
		scan(args, &a)
		return tilezero(a)
	case "LDTILECFG":
		return ldtilecfg(args)
	case "TILERELEASE":
		return tilerelease()
	}
	for _, mem := range []tileOp{tileLoad, tileLoadT1, tileStore} {
		if mem.name == op {
			scan(args, &a, &m.base, &m.index, &m.scale, &m.disp)
			return tileMemory(mem, a, m)
		}
	}
	t.Fatalf("%q is no instruction of AMX", text)
	return nil
}

// TestAMXEncoding compares the encoder with an assembler.
func TestAMXEncoding(t *testing.T) {
	data, err := os.ReadFile("testdata/amx.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		if got := fmt.Sprintf("%x", assembleAMX(t, line[:cut])); got != line[cut+1:] {
			t.Errorf("%s is encoded %s, want %s", line[:cut], got, line[cut+1:])
		}
		n++
	}
	if n < 300 {
		t.Errorf("%d cases, want at least 300", n)
	}
}

// TestAMXMnemonics encodes the mnemonic of every instruction written as bytes again and compares.
func TestAMXMnemonics(t *testing.T) {
	memoryForm := regexp.MustCompile(`(-?\d*)\((\w+)\)\((\w+)\*(\d)\)`)
	n := 0
	files := generate()
	for line := range strings.Lines(string(files["zz_amx_amd64.s"]) + string(files["zz_amxsweep_amd64.s"])) {
		code, mnemonic, found := strings.Cut(strings.TrimSpace(line), " // ")
		if !found || !strings.HasPrefix(code, "BYTE $0xC4") { // a VEX prefix; for the others see TestBytesHaveMnemonics
			continue
		}
		op, args, _ := strings.Cut(mnemonic, " ")
		args = strings.NewReplacer(",", "", "TMM", "").Replace(args)
		if m := memoryForm.FindStringSubmatch(args); m != nil {
			disp := m[1]
			if disp == "" {
				disp = "0"
			}
			tile := strings.TrimSpace(memoryForm.ReplaceAllString(args, ""))
			args = strings.Join([]string{tile, m[2], m[3], m[4], disp}, " ")
		} else if op == "TDPBF16PS" {
			f := strings.Fields(args)
			args = f[2] + " " + f[1] + " " + f[0]
		}
		args = strings.Trim(args, "()")
		want := fmt.Sprintf("%X", assembleAMX(t, strings.TrimSpace(op+" "+args)))
		if got := strings.NewReplacer("BYTE $0x", "", "; ", "").Replace(code); got != want {
			t.Errorf("%s is written %s, want %s", mnemonic, got, want)
		}
		n++
	}
	if n == 0 {
		t.Error("no instruction is written as bytes")
	}
}
