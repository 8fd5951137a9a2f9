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

// TestVDPBF16PS compares the encoder with an assembler.
func TestVDPBF16PS(t *testing.T) {
	f, err := os.Open("testdata/vdpbf16ps.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var dst, a, b int
		var want string
		if _, err := fmt.Sscan(lines.Text(), &dst, &a, &b, &want); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if got := fmt.Sprintf("%x", vdpbf16ps(dst, a, b)); got != want {
			t.Errorf("vdpbf16ps(%d, %d, %d) = %s, want %s", dst, a, b, got, want)
		}
		n++
	}
	if n < 100 {
		t.Errorf("%d cases, want at least 100", n)
	}
}

// TestBytesHaveMnemonics decodes the registers of every instruction written as bytes and compares them with its comment.
func TestBytesHaveMnemonics(t *testing.T) {
	line := regexp.MustCompile(`^\tBYTE \$0x62; BYTE \$0x(..); BYTE \$0x(..); BYTE \$0x(..); BYTE \$0x52; BYTE \$0x(..) // (.*)$`)
	n := 0
	for name, text := range generate() {
		for s := range strings.Lines(string(text)) {
			if !strings.HasPrefix(s, "\tBYTE $0x62") { // no EVEX prefix: see TestAMXMnemonics
				continue
			}
			m := line.FindStringSubmatch(strings.TrimRight(s, "\n"))
			if m == nil {
				t.Fatalf("%s: %q is not VDPBF16PS with its mnemonic", name, s)
			}
			var p0, p1, p2, modrm int
			if _, err := fmt.Sscanf(strings.Join(m[1:5], " "), "%x %x %x %x", &p0, &p1, &p2, &modrm); err != nil {
				t.Fatal(err)
			}
			dst := modrm>>3&7 | (^p0>>7&1)<<3 | (^p0>>4&1)<<4
			b := modrm&7 | (^p0>>5&1)<<3 | (^p0>>6&1)<<4
			a := ^p1>>3&15 | (^p2>>3&1)<<4
			if want := fmt.Sprintf("VDPBF16PS Z%d, Z%d, Z%d", b, a, dst); m[5] != want {
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
