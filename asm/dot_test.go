package asm

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"
)

var recordDot = flag.Bool("record-vdpbf16ps", false,
	"write testdata/vdpbf16ps.bin anew from this processor's VDPBF16PS")

// A dotCase is the operands of one lane of VDPBF16PS.
type dotCase struct{ acc, a, b uint32 }

// dotSpecials are halves and accumulators where something happens: zeros, subnormals, the smallest and largest normals,
// infinities, quiet and signalling NaNs, and halfway values.
var dotSpecials = []uint16{0, 0x8000, 1, 0x8001, 0x7f, 0x807f, 0x80, 0x8080, 0x81, 0x100, 0x3f80, 0xbf80, 0x3f81,
	0x4000, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0xff81, 0x7fc0, 0xffc0}

// dotCases returns n cases of kind 0 to 5, from tame to targeted.
func dotCases(r *rand.Rand, kind, n int) []dotCase {
	cases := make([]dotCase, n)
	for i := range cases {
		c := &cases[i]
		a, b, acc := r.Uint32(), r.Uint32(), r.Uint32()
		special := func() uint32 { return uint32(dotSpecials[r.IntN(len(dotSpecials))]) }
		switch kind {
		case 0: // near one: cancellation and ties
			*c = dotCase{acc&0x81ffffff | 0x3e000000, a&0x80ff80ff | 0x3f003f00, b&0x80ff80ff | 0x3f003f00}
		case 1: // short mantissas, so that many sums are ties
			*c = dotCase{acc&0x8700ffff&^0xffe | 0x38000000, a&0x87c087c0 | 0x3c003c00, b&0x87c087c0 | 0x3c003c00}
		case 2: // any bits
			*c = dotCase{acc, a, b}
		case 3: // specials
			*c = dotCase{special()<<16 | acc&0xffff*uint32(r.IntN(2)), special()<<16 | special(),
				special()<<16 | special()}
		case 4: // products around 2^-126 and accumulators to match: results at the border of the normals
			*c = dotCase{acc & 0x81ffffff, a&0x80ff80ff | 0x20002000, b&0x80ff80ff | 0x1f001f00}
			if r.IntN(2) == 0 {
				// A sum a little below 2^-126: tiny before rounding, perhaps not after.
				c.acc = acc&0x80000000 | 0x00800000
				c.a, c.b = a&0x81e081e0+0x19001900, b&0x81e081e0+0x19001900
			}
		default: // large products: overflow
			*c = dotCase{acc&0x81ffffff | 0x7e000000, a&0x80ff80ff | 0x5f005f00, b&0x80ff80ff | 0x5f005f00}
		}
	}
	return cases
}

// hardwareDot runs the cases through the kernel: the tile of row i and column j multiplies word i of A by word j of
// B, so a case uses the diagonal of 8.
func hardwareDot(k *Kernel, cases []dotCase) []uint32 {
	results := make([]uint32, len(cases))
	var a [8]uint32
	var b [32]uint32
	var tile [8 * 32]uint32
	for i := 0; i < len(cases); i += 8 {
		block := cases[i:min(i+8, len(cases))]
		for j, c := range block {
			a[j], b[j], tile[32*j+j] = c.a, c.b, c.acc
		}
		p := unsafe.Pointer(&tile)
		k.Mul(1, 1, unsafe.Pointer(&a), unsafe.Pointer(&b), p, 128, p, 128)
		for j := range block {
			results[i+j] = tile[32*j+j]
		}
	}
	return results
}

func checkDot(t *testing.T, kind int, cases []dotCase, want []uint32) {
	t.Helper()
	bad := 0
	for i, c := range cases {
		got := dotBF16(math.Float32frombits(c.acc), c.a, c.b)
		if !sameBits(got, math.Float32frombits(want[i])) {
			t.Errorf("kind %d: dotBF16(%#08x, %#08x, %#08x) = %#08x, VDPBF16PS gives %#08x", kind, c.acc, c.a, c.b,
				math.Float32bits(got), want[i])
			if bad++; bad > 4 {
				return
			}
		}
	}
}

const dotKinds = 6

// TestDotBF16Hardware compares the model with the instruction. It is the test that says whether a processor that the
// model was not made on has the same arithmetic.
func TestDotBF16Hardware(t *testing.T) {
	k, err := Select(BF16, "avx512bf16")
	if err != nil {
		t.Skip(err)
	}
	n := 500_000
	if raceEnabled || testing.Short() {
		n = 20_000
	}
	r := rand.New(rand.NewPCG(6, 7))
	for kind := range dotKinds {
		cases := dotCases(r, kind, n)
		checkDot(t, kind, cases, hardwareDot(k, cases))
	}
	// Every special with every special, for the accumulator and one product, and the other product 0 or 1.
	var cases []dotCase
	for _, acc := range dotSpecials {
		for _, x := range dotSpecials {
			for _, y := range dotSpecials {
				for _, other := range []uint32{0, 0x3f80, 0x8000} {
					a, b, o := uint32(x), uint32(y), uint32(acc)<<16
					cases = append(cases, dotCase{o, a<<16 | other, b<<16 | 0x3f80},
						dotCase{o, other<<16 | a, 0x3f80<<16 | b})
				}
			}
		}
	}
	checkDot(t, dotKinds, cases, hardwareDot(k, cases))
}

// TestDotBF16Golden compares the model with what a Zen 5 computed, on any machine.
func TestDotBF16Golden(t *testing.T) {
	const file = "testdata/vdpbf16ps.bin"
	if *recordDot {
		k, err := Select(BF16, "avx512bf16")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r := rand.New(rand.NewPCG(8, 9))
		for kind := range dotKinds {
			cases := dotCases(r, kind, 400)
			for i, result := range hardwareDot(k, cases) {
				binary.Write(&out, binary.LittleEndian, []uint32{cases[i].acc, cases[i].a, cases[i].b, result})
			}
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != dotKinds*400*16 {
		t.Fatalf("%s has %d bytes, want %d", file, len(data), dotKinds*400*16)
	}
	for ; len(data) > 0; data = data[16:] {
		word := func(i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }
		checkDot(t, -1, []dotCase{{word(0), word(1), word(2)}}, []uint32{word(3)})
	}
}

// TestFMA32 compares fma32 with exact arithmetic.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	bits := func(exp uint32) float32 {
		return math.Float32frombits(r.Uint32()&0x807fffff | exp<<23)
	}
	n := 200_000
	if raceEnabled || testing.Short() {
		n = 20_000
	}
	for i := range n {
		// The product's exponent falls near the sum's, near the subnormals, near overflow, or anywhere.
		ex, ez := uint32(r.IntN(255)), uint32(r.IntN(255))
		ey := uint32(r.IntN(255))
		switch i % 4 {
		case 0:
			ex, ey, ez = 127, 127, uint32(127+r.IntN(60)-30)
		case 1:
			ex, ey, ez = uint32(30+r.IntN(40)), uint32(30+r.IntN(60)), uint32(r.IntN(4))
		case 2:
			ex, ey, ez = uint32(188+r.IntN(5)), uint32(188+r.IntN(5)), uint32(250+r.IntN(5))
		}
		x, y, z := bits(ex), bits(ey), bits(ez)
		if i%3 == 0 {
			// Few bits, so that many sums fall half-way between two float32s.
			x = math.Float32frombits(math.Float32bits(x) &^ 0xfff)
			y = math.Float32frombits(math.Float32bits(y) &^ 0x7ff)
			z = math.Float32frombits(math.Float32bits(z) &^ 0x3ff)
		}
		exact := func(f float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(f)) }
		sum := exact(x)
		sum.Mul(sum, exact(y)).Add(sum, exact(z))
		want, _ := sum.Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	negZero := float32(math.Copysign(0, -1))
	for _, c := range [][4]float32{
		{inf, 1, 1, inf}, {inf, -1, 1, -inf}, {1, 1, inf, inf}, {inf, 1, -inf, nan}, {inf, 0, 1, nan}, {nan, 1, 1, nan},
		{1, 1, nan, nan},
		{0, 0, negZero, 0}, {negZero, 1, negZero, negZero}, {1, 1, -1, 0}, {math.MaxFloat32, 2, -inf, -inf},
		{math.MaxFloat32, 2, 0, inf},
	} {
		if got := fma32(c[0], c[1], c[2]); !sameBits(got, c[3]) {
			t.Errorf("fma32(%v, %v, %v) = %v, want %v", c[0], c[1], c[2], got, c[3])
		}
	}
}
