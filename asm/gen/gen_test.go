package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
)

// TestStale fails if the generated files are not what the generator writes.
func TestStale(t *testing.T) {
	files := generate()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate in asm", name)
		}
	}
	found, err := filepath.Glob("../zz_*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if files[filepath.Base(path)] == nil {
			t.Errorf("%s is not written by the generator any more", path)
		}
	}
}

// TestEVEX compares the encoder with an assembler.
func TestEVEX(t *testing.T) {
	f, err := os.Open("testdata/avx512bf16.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var dst, a, b int
		var name, want string
		if _, err := fmt.Sscan(lines.Text(), &name, &dst, &a, &b, &want); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		for _, op := range evexOps {
			if op.String() != name {
				continue
			}
			if got := fmt.Sprintf("%x", evex(op, dst, a, b)); got != want {
				t.Errorf("%s %d, %d, %d = %s, want %s", name, dst, a, b, got, want)
			}
			n[name]++
		}
	}
	for _, op := range evexOps {
		if n[op.String()] < 100 {
			t.Errorf("%s: %d cases, want at least 100", op, n[op.String()])
		}
	}
}

var evexOps = []evexOp{dotPairs, dotPairs256, roundPairs}

// TestBytesHaveMnemonics decodes every instruction with an EVEX prefix that is written as bytes and compares it with its comment.
func TestBytesHaveMnemonics(t *testing.T) {
	line := regexp.MustCompile(`^\tBYTE \$0x62; BYTE \$0x(..); BYTE \$0x(..); BYTE \$0x(..); BYTE \$0x(..); BYTE \$0x(..) // (.*)$`)
	n := 0
	for name, text := range generate() {
		for s := range strings.Lines(string(text)) {
			if !strings.HasPrefix(s, "\tBYTE $0x62") { // no EVEX prefix: see TestAMXMnemonics
				continue
			}
			m := line.FindStringSubmatch(strings.TrimRight(s, "\n"))
			if m == nil {
				t.Fatalf("%s: %q is no instruction with its mnemonic", name, s)
			}
			var p0, p1, p2, opcode, modrm int
			if _, err := fmt.Sscanf(strings.Join(m[1:6], " "), "%x %x %x %x %x", &p0, &p1, &p2, &opcode, &modrm); err != nil {
				t.Fatal(err)
			}
			mnemonic, reg := "", ""
			for _, op := range evexOps {
				if int(op.opcode) == opcode && int(op.prefix) == p1&3 && op.ymm == (p2>>5&3 == 1) {
					mnemonic, reg = op.name, op.register()
				}
			}
			dst := modrm>>3&7 | (^p0>>7&1)<<3 | (^p0>>4&1)<<4
			b := modrm&7 | (^p0>>5&1)<<3 | (^p0>>6&1)<<4
			a := ^p1>>3&15 | (^p2>>3&1)<<4
			if want := fmt.Sprintf("%s %s%d, %s%d, %s%d", mnemonic, reg, b, reg, a, reg, dst); m[6] != want {
				t.Errorf("%s: %q encodes %s", name, strings.TrimSpace(s), want)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("no instruction is written as bytes")
	}
}

// TestVZEROUPPER checks that every function clears the upper halves before it returns.
func TestVZEROUPPER(t *testing.T) {
	for name, text := range generate() {
		returns := strings.Count(string(text), "\tRET\n")
		if clean := strings.Count(string(text), "\tVZEROUPPER\n\tRET\n"); clean != returns || returns == 0 {
			t.Errorf("%s: %d of %d returns come after VZEROUPPER", name, clean, returns)
		}
	}
}

// TestAhead checks that the kernels fetch ahead as the package says they do.
func TestAhead(t *testing.T) {
	check := func(name string, generated, said int) {
		if generated != said {
			t.Errorf("%s: %d, the package says %d", name, generated, said)
		}
	}
	check("AheadChunk", 1<<chunkShift, asm.AheadChunk)
	check("PackSteps", packSteps, asm.PackSteps)
	for _, k := range kernels {
		check("AheadSteps of "+k.name, k.unroll, asm.AheadSteps)
	}
}
