package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// TestNames holds the names of all functions to the grammar in the documentation of package asm.
func TestNames(t *testing.T) {
	name := regexp.MustCompile(`^(mul|rows|lanes|mulPack|edge|unpacked|vector|stream|pack|sweep|scan|exponents|tame|` +
		`wide|widen|apply|combine|add|copy|round|peak)` +
		`(Along|Across|Panels|Short|Far|Past|Round|Hopper)*(512|256|AMX)` +
		`(Pairs8?|Words8?|Doubles|BF16|F16|E4M3|E5M2|Tiles|A|B)?(x\d+)*$`)
	declared := regexp.MustCompile(`(?m)^func (\w+)\(`)
	n := 0
	for file, text := range generate() {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			if n++; !name.Match(m[1]) {
				t.Errorf("%s: %s is not called as others are", file, m[1])
			}
		}
	}
	if n < 100 {
		t.Errorf("%d functions, want at least 100", n)
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
		var dst, a, b, disp int
		var name, base, want string
		if text, ok := strings.CutPrefix(lines.Text(), broadcast); ok {
			if _, err := fmt.Sscan(text, &dst, &a, &base, &disp, &want); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			if got := fmt.Sprintf("%x", evexBroadcast(dotPairs, dst, a, base, disp)); got != want {
				t.Errorf("%s %d, %d, %d(%s) = %s, want %s", broadcast, dst, a, disp, base, got, want)
			}
			n[broadcast]++
			continue
		}
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
	names := []string{broadcast}
	for _, op := range evexOps {
		names = append(names, op.String())
	}
	for _, name := range names {
		if n[name] < 100 {
			t.Errorf("%s: %d cases, want at least 100", name, n[name])
		}
	}
}

var evexOps = []evexOp{dotPairs, dotPairs256, roundPairs}

const broadcast = "VDPBF16PS.BCST" // in the list of encodings

// TestBytesHaveMnemonics decodes every instruction with an EVEX prefix that is written as bytes and compares it with
// its comment.
func TestBytesHaveMnemonics(t *testing.T) {
	line := regexp.MustCompile(`^\tBYTE \$0x62; ` + strings.Repeat(`BYTE \$0x(..); `, 4) +
		`BYTE \$0x(..)((?:; BYTE \$0x..)*) // (.*)$`)
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
			if _, err := fmt.Sscanf(strings.Join(m[1:6], " "), "%x %x %x %x %x", &p0, &p1, &p2, &opcode,
				&modrm); err != nil {
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
			source := fmt.Sprintf("%s%d", reg, b)
			if p2>>4&1 == 1 {
				mnemonic += ".BCST"
				disp, err := strconv.ParseUint("0"+strings.ReplaceAll(m[6], "; BYTE $0x", ""), 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				switch modrm >> 6 {
				case 1:
					disp = uint64(uint32(int8(disp)) * 4)
				case 2:
					disp = uint64(bits.ReverseBytes32(uint32(disp)))
				}
				source = address(registers[b&15], int(int32(disp)))
			}
			if want := fmt.Sprintf("%s %s, %s%d, %s%d", mnemonic, source, reg, a, reg, dst); m[7] != want {
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
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		returns := strings.Count(string(text), "\tRET\n")
		if clean := strings.Count(string(text), "\tVZEROUPPER\n\tRET\n"); clean != returns || returns == 0 {
			t.Errorf("%s: %d of %d returns come after VZEROUPPER", name, clean, returns)
		}
	}
}

// TestPacking checks that the kernels pack as the package says they do.
func TestPacking(t *testing.T) {
	check := func(name string, generated, said int) {
		if generated != said {
			t.Errorf("%s: %d, the package says %d", name, generated, said)
		}
	}
	check("PackChunk", packChunk, asm.PackChunk)
	check("PackSteps", packSteps, asm.PackSteps)
}
