package asm

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"
)

// caseRows is the rows of a tileCase: two panels.
const caseRows = 2 * amxMR

// A tileCase is the operands of caseRows × amxNR elements of C, one block of K deep, in the layout of the panels.
type tileCase struct {
	a   [caseRows * amxStep]uint32
	b   [amxStep * amxNR]uint32
	acc [caseRows * amxNR]uint32
}

// tileKinds counts the kinds of tileCase: those of dotCase, dense, and those again with few words of K that are not
// zero.
const tileKinds = 2 * dotKinds

func newTileCase(r *rand.Rand, kind int) *tileCase {
	c := new(tileCase)
	words := dotCases(r, kind%dotKinds, len(c.acc))
	for i, w := range words {
		c.acc[i] = w.acc
		// Row i/amxStep of A and row i/amxNR of B: word w of K is zero in the sparse kinds unless its bit is set.
		if i < len(c.a) {
			c.a[i] = w.a
		}
		if i < len(c.b) {
			c.b[i] = w.b
		}
	}
	if kind >= dotKinds {
		one, other := r.IntN(amxStep), r.IntN(amxStep)
		for w := range amxStep {
			if w != one && w != other {
				for i := range caseRows {
					c.a[i*amxStep+w] = 0
				}
				clear(c.b[w*amxNR:][:amxNR])
			}
		}
	}
	return c
}

// element returns the operands of element (i, j).
func (c *tileCase) element(i, j int) (acc float32, a, b *[amxStep]uint32) {
	b = new([amxStep]uint32)
	for w := range b {
		b[w] = c.b[w*amxNR+j]
	}
	return math.Float32frombits(c.acc[i*amxNR+j]), (*[amxStep]uint32)(c.a[i*amxStep:]), b
}

// TestDotTile compares the model, where nothing is subnormal or overflows, with exact arithmetic rounded at each step.
func TestDotTile(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 15))
	round := func(x *big.Float) float32 { f, _ := x.Float32(); return f }
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(float64(x)) }
	for range 20 {
		c := newTileCase(r, 0)
		for range 50 {
			acc, a, b := c.element(r.IntN(caseRows), r.IntN(amxNR))
			var sums [2]float32
			for w := range a {
				for half := range sums {
					x, y := math.Float32frombits(a[w]>>(16*half)<<16), math.Float32frombits(b[w]>>(16*half)<<16)
					p := exact(x)
					sums[half] = round(p.Mul(p, exact(y)).Add(p, exact(sums[half])))
				}
			}
			both := exact(sums[0])
			sum := exact(round(both.Add(both, exact(sums[1]))))
			want := round(sum.Add(sum, exact(acc)))
			if got := dotTile(acc, a, b); got != want {
				t.Fatalf("dotTile(%x, %#x, %#x) = %x, want %x", acc, *a, *b, got, want)
			}
		}
	}
}

// goldenTiles calls f with the cases of testdata/tdpbf16ps.bin.
func goldenTiles(f func(kind int, c *tileCase)) {
	r := rand.New(rand.NewPCG(12, 13))
	for kind := range tileKinds {
		for range 2 {
			f(kind, newTileCase(r, kind))
		}
	}
}

// TestDotTileGolden compares the model with what an Emerald Rapids computed, on any machine. The file holds the
// results of the first 16 × 16 elements of each case.
func TestDotTileGolden(t *testing.T) {
	const file = "testdata/tdpbf16ps.bin"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	goldenTiles(func(kind int, c *tileCase) {
		for i := range 16 {
			for j := range 16 {
				if len(data) < 4 {
					t.Fatalf("%s is too short", file)
				}
				want := binary.LittleEndian.Uint32(data)
				data = data[4:]
				acc, a, b := c.element(i, j)
				if got := dotTile(acc, a, b); !sameBits(got, math.Float32frombits(want)) {
					t.Fatalf("kind %d: dotTile(%x, %#x, %#x) = %x, TDPBF16PS gives %#x", kind, acc, *a, *b, got, want)
				}
			}
		}
	})
	if len(data) > 0 {
		t.Errorf("%s has %d bytes too many", file, len(data))
	}
}

// TestPackTilesLong crosses the bounds on one call of an assembly packer of A, and packs nothing.
func TestPackTilesLong(t *testing.T) {
	const r, k = 67, 2*4096 + 11
	kern := Named("goamx")
	src := make([]uint16, r*k)
	for i := range src {
		src[i] = uint16(i * 0x9e37)
	}
	for _, kContiguous := range []bool{true, false} {
		stride := r * 2
		if kContiguous {
			stride = k * 2
		}
		n := (r + amxMR - 1) / amxMR * amxMR * amxWords(k)
		got, want := make([]uint32, n), make([]uint32, n)
		from, to := unsafe.Pointer(&src[0]), unsafe.Pointer(&got[0])
		kern.PackA(BF16, kContiguous)(to, from, stride, 0, k)
		kern.PackA(BF16, kContiguous)(to, from, stride, r, 0)
		for i, w := range got {
			if w != 0 {
				t.Fatalf("packing nothing wrote word %d", i)
			}
		}
		kern.PackA(BF16, kContiguous)(to, from, stride, r, k)
		packTilesA(kContiguous)(unsafe.Pointer(&want[0]), from, stride, r, k)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("kContiguous=%v: word %d is %#x, want %#x", kContiguous, i, got[i], want[i])
			}
		}
	}
}

// TestTilesRefused checks that a system that refuses AMX leaves the next kernel as the choice, and is quoted.
func TestTilesRefused(t *testing.T) {
	c := fake("intel", 6, 0xcf, isaAVX2, isaAVX512BF16, isaAMX)
	refusal := errors.New("no tiles today")
	c.tiles = func() error { return refusal }
	ks := register(c)
	want := "avx512"
	if !assembled {
		want = "go"
	}
	if chosen := choose(ks, Native)[BF16]; chosen.Name != want {
		t.Errorf("%s is chosen, want %s", chosen.Name, want)
	}
	if err := ks[0].Supported(); !errors.Is(err, refusal) {
		t.Errorf("%s: %v, want %v", ks[0].Name, err, refusal)
	}
}
