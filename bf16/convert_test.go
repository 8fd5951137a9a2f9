package bf16

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/internal/race"
)

type element interface {
	float32 | BF16 | float16.Float16
}

// bits returns the representation of x.
func bits[T element](x T) uint32 {
	if unsafe.Sizeof(x) == 4 {
		return *(*uint32)(unsafe.Pointer(&x))
	}
	return uint32(*(*uint16)(unsafe.Pointer(&x)))
}

// eachPath runs f as a subtest for each way the conversions can take.
func eachPath(t *testing.T, f func(t *testing.T)) {
	for name, ok := range paths() {
		t.Run(name, func(t *testing.T) {
			if !ok {
				t.Skipf("NOT TESTED: no %s in this build or on this processor", name)
			}
			f(t)
		})
	}
}

// A conversion is one of the four of this package beside its twin.
type conversion[D, S element] struct {
	name    string
	run     func(dst []D, src []S)
	generic func(dst []D, src []S)
}

var (
	encoding        = conversion[BF16, float32]{"Encode", Encode, encodeGeneric}
	decoding        = conversion[float32, BF16]{"Decode", Decode, decodeGeneric}
	encodingFloat16 = conversion[float16.Float16, float32]{"EncodeFloat16", EncodeFloat16, encodeFloat16Generic}
	decodingFloat16 = conversion[float32, float16.Float16]{"DecodeFloat16", DecodeFloat16, decodeFloat16Generic}
)

// same fails the test at the first element of got that has not the bits of want.
func same[D, S element](t *testing.T, got, want []D, src []S) {
	t.Helper()
	for i := range want {
		if bits(got[i]) != bits(want[i]) {
			t.Fatalf("element %d of %d: %#x becomes %#x, want %#x", i, len(src), bits(src[i]), bits(got[i]),
				bits(want[i]))
		}
	}
}

// sample returns n elements of all kinds: random bits, so with NaNs, infinities
// and subnormals more often than numbers in use would have them.
func sample[S element](n int) []S {
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	s := make([]S, n)
	for i := range s {
		u := rng.Uint32()
		switch rng.IntN(8) {
		case 0:
			u |= 0x7f807f80 // NaN in every format
		case 1:
			u &= 0x807f80ff // subnormal, of float32 or BF16
		case 2:
			u = u&0x80ffffff | 0x38000000 // where half precision ends
		}
		if p := unsafe.Pointer(&s[i]); unsafe.Sizeof(s[i]) == 4 {
			*(*uint32)(p) = u
		} else {
			*(*uint16)(p) = uint16(u >> rng.IntN(17))
		}
	}
	return s
}

func TestEncodeBoundaries(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		in, want := bfloat16.narrowing()
		got := make([]BF16, len(in))
		Encode(got, in)
		for i := range in {
			if uint16(got[i]) != want[i] {
				t.Fatalf("%g = %#08x becomes %#04x, want %#04x", in[i], math.Float32bits(in[i]), got[i].Bits(), want[i])
			}
		}
	})
}

func TestEncodeFloat16Boundaries(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		in, want := binary16.narrowing()
		got := make([]float16.Float16, len(in))
		EncodeFloat16(got, in)
		for i := range in {
			if uint16(got[i]) != want[i] {
				t.Fatalf("%g = %#08x becomes %#04x, want %#04x", in[i], math.Float32bits(in[i]), got[i].Bits(), want[i])
			}
			if one := float16.Fromfloat32(in[i]); got[i] != one {
				t.Fatalf("%g = %#08x becomes %#04x, by Fromfloat32 %#04x", in[i], math.Float32bits(in[i]),
					got[i].Bits(), one.Bits())
			}
		}
	})
}

func TestDecodeAll(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		var in, back [1 << 16]BF16
		var got [1 << 16]float32
		for i := range in {
			in[i] = BF16(i)
		}
		Decode(got[:], in[:])
		for i, b := range in {
			if u := math.Float32bits(got[i]); u != uint32(b)<<16 || u != math.Float32bits(b.Float32()) {
				t.Fatalf("%#04x becomes %#08x", b.Bits(), u)
			}
		}
		Encode(back[:], got[:])
		for i, b := range in {
			if b.IsNaN() {
				b |= quietBit
			}
			if back[i] != b {
				t.Fatalf("%#04x comes back as %#04x", in[i].Bits(), back[i].Bits())
			}
		}
	})
}

func TestDecodeFloat16All(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		var in, back [1 << 16]float16.Float16
		var got [1 << 16]float32
		for i := range in {
			in[i] = float16.Float16(i)
		}
		DecodeFloat16(got[:], in[:])
		for i, h := range in {
			sign, magnitude := uint32(i)>>15<<31, uint16(i)&0x7fff
			want := sign | 0x7fc00000 | uint32(magnitude&0x3ff)<<13
			if magnitude < 0x7c00 {
				want = sign | math.Float32bits(float32(binary16.value(magnitude)))
			} else if magnitude == 0x7c00 {
				want = sign | 0x7f800000
			}
			if u := math.Float32bits(got[i]); u != want || u != math.Float32bits(h.Float32()) {
				t.Fatalf("%#04x becomes %#08x, want %#08x, by Float32 %#08x", h.Bits(), u, want,
					math.Float32bits(h.Float32()))
			}
		}
		EncodeFloat16(back[:], got[:])
		for i, h := range in {
			if h.IsNaN() {
				h |= 0x200
			}
			if back[i] != h {
				t.Fatalf("%#04x comes back as %#04x", in[i].Bits(), back[i].Bits())
			}
		}
	})
}

// TestLengths converts all short lengths from and to all alignments within a
// vector, and looks at what lies on either side of the result.
func TestLengths(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		testLengths(t, encoding)
		testLengths(t, decoding)
		testLengths(t, encodingFloat16)
		testLengths(t, decodingFloat16)
	})
}

func testLengths[D, S element](t *testing.T, c conversion[D, S]) {
	const longest, offsets = 200, 32
	in := sample[S](longest + offsets)
	canary := sample[D](longest + 2*offsets)
	got := make([]D, len(canary))
	want := make([]D, len(canary))
	t.Run(c.name, func(t *testing.T) {
		for n := range longest + 1 {
			for offset := range offsets {
				src := in[offset:][:n]
				at := (offset*7 + n) % offsets
				copy(got, canary)
				copy(want, canary)
				c.run(got[at:], src)
				c.generic(want[at:][:n], src)
				for i := range want {
					if bits(got[i]) != bits(want[i]) {
						t.Fatalf("n=%d, src at %d, dst at %d: element %d is %#x, want %#x", n, offset, at, i-at,
							bits(got[i]), bits(want[i]))
					}
				}
			}
		}
	})
}

// TestLoneNaN puts one NaN, with a payload that does not fit, among numbers: none
// of the tests for NaN that vectors share may miss it or touch its neighbours.
func TestLoneNaN(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for i := range 100 {
			var src [100]float32
			for j := range src {
				src[j] = math.Float32frombits(0x7f7f7fff - uint32(j)<<16)
			}
			src[i] = math.Float32frombits(0xff800001)
			var b [100]BF16
			var h [100]float16.Float16
			Encode(b[:], src[:])
			EncodeFloat16(h[:], src[:])
			for j := range src {
				wantB, wantH := BF16(0x7f7f-j), float16.Inf(1)
				if j == i {
					wantB, wantH = 0xffc0, 0xfe00
				}
				if b[j] != wantB || h[j] != wantH {
					t.Fatalf("with the NaN at %d, element %d is %#04x and %#04x, want %#04x and %#04x",
						i, j, b[j].Bits(), h[j].Bits(), wantB.Bits(), wantH.Bits())
				}
			}
		}
	})
}

// TestLong crosses the limit of one call of assembly, with all kinds of tails.
func TestLong(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		testLong(t, encoding)
		testLong(t, decoding)
		testLong(t, encodingFloat16)
		testLong(t, decodingFloat16)
	})
}

func testLong[D, S element](t *testing.T, c conversion[D, S]) {
	t.Run(c.name, func(t *testing.T) {
		src := sample[S](1<<17 + 100)
		got, want := make([]D, len(src)), make([]D, len(src))
		c.generic(want, src)
		for _, n := range []int{1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<16 + 77, 1 << 17, 1<<17 + 31, len(src)} {
			clear(got)
			c.run(got[:n], src[:n])
			same(t, got[:n], want[:n], src)
		}
	})
}

// TestShort wants a panic with both lengths, and dst as it was.
func TestShort(t *testing.T) {
	testShort(t, encoding)
	testShort(t, decoding)
	testShort(t, encodingFloat16)
	testShort(t, decodingFloat16)
}

func testShort[D, S element](t *testing.T, c conversion[D, S]) {
	t.Run(c.name, func(t *testing.T) {
		canary := sample[D](99)
		dst := append([]D(nil), canary...)
		defer func() {
			want := fmt.Sprintf("bf16: %s: dst has 98 elements, src has 99", c.name)
			if got := recover(); got != want {
				t.Errorf("panics with %q, want %q", got, want)
			}
			same(t, dst, canary, canary)
		}()
		c.run(dst[:98], sample[S](99)) // within dst's capacity, which does not count
	})
}

func TestNil(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		Encode(nil, nil)
		Decode(nil, nil)
		EncodeFloat16(nil, nil)
		DecodeFloat16(nil, nil)
	})
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("what the race detector is told of escapes")
	}
	eachPath(t, func(t *testing.T) {
		if n := testing.AllocsPerRun(100, func() {
			var f [100]float32
			var b [100]BF16
			var h [100]float16.Float16
			Encode(b[:], f[:])
			Decode(f[:], b[:])
			EncodeFloat16(h[:], f[:])
			DecodeFloat16(f[:], h[:])
		}); n != 0 {
			t.Errorf("converting arrays on the stack allocates %g times", n)
		}
	})
}

var all32 = flag.Bool("all32", false, "narrow all 2**32 float32 values on every path (minutes)")

// TestEncodeAll32 compares with the conversion of single values, which
// TestFromFloat32 checks by itself.
func TestEncodeAll32(t *testing.T) {
	if !*all32 {
		t.Skip("NOT TESTED: all 2**32 float32 values; -all32 does, in minutes")
	}
	eachPath(t, func(t *testing.T) {
		const n = 1 << 16
		src := make([]float32, n)
		b, h := make([]BF16, n), make([]float16.Float16, n)
		for high := range uint32(1 << 16) {
			for low := range src {
				src[low] = math.Float32frombits(high<<16 | uint32(low))
			}
			Encode(b, src)
			EncodeFloat16(h, src)
			for i, f := range src {
				if b[i] != FromFloat32(f) || h[i] != float16.Fromfloat32(f) {
					t.Fatalf("%#08x becomes %#04x and %#04x, want %#04x and %#04x", math.Float32bits(f),
						b[i].Bits(), h[i].Bits(), FromFloat32(f).Bits(), float16.Fromfloat32(f).Bits())
				}
			}
		}
	})
}

// TestStops has the runtime stop all goroutines, as it does to collect garbage, while one converts a slice that takes
// milliseconds: it waits for the end no more than for a loop in Go, which it can interrupt anywhere. Where other
// programs have the processors both take long to stop, so one of many rounds has to show it: a conversion that cannot
// be interrupted takes half of its time in all of them.
func TestStops(t *testing.T) {
	wide, short := make([]float32, 16<<20), make([]BF16, 16<<20)
	half := make([]float16.Float16, len(wide))
	loop := func() {
		for i := range wide {
			wide[i]++
		}
	}
	for name, convert := range map[string]func(){
		"Encode":        func() { Encode(short, wide) },
		"Decode":        func() { Decode(wide, short) },
		"EncodeFloat16": func() { EncodeFloat16(half, wide) },
		"DecodeFloat16": func() { DecodeFloat16(wide, half) },
	} {
		takes := time.Hour
		for range 4 { // the first touches the memory
			start := time.Now()
			convert()
			takes = min(takes, time.Since(start))
		}
		for round := 1; ; round++ {
			stop := stopBeside(takes/2, convert)
			if stop < takes/8 {
				break
			}
			if most := stopBeside(takes/2, loop); stop <= most {
				break
			} else if round == 20 {
				t.Errorf("%s takes %v, and to stop it %v in the median; a loop %v", name, takes, stop, most)
				break
			}
		}
	}
}

// stopBeside returns the median time that the runtime takes to stop all goroutines while one does work again and again.
func stopBeside(pause time.Duration, work func()) time.Duration {
	var over atomic.Bool
	done := make(chan bool)
	go func() {
		for !over.Load() {
			work()
		}
		close(done)
	}()
	var stops []time.Duration
	var stats runtime.MemStats
	for range 25 {
		time.Sleep(pause)
		start := time.Now()
		runtime.ReadMemStats(&stats)
		stops = append(stops, time.Since(start))
	}
	over.Store(true)
	<-done
	slices.Sort(stops)
	return stops[len(stops)/2]
}

// TestOddAddresses converts what lies between the elements of other slices, as in a file that is mapped.
func TestOddAddresses(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("not every processor has them")
	}
	const n = 100
	memory := make([]byte, 6*n+2)
	wide := unsafe.Slice((*float32)(unsafe.Pointer(&memory[1])), n)
	narrow := unsafe.Slice((*BF16)(unsafe.Pointer(&memory[1+4*n])), n)
	halves := unsafe.Slice((*float16.Float16)(unsafe.Pointer(&memory[1+4*n])), n)
	for i := range wide {
		wide[i] = float32(i)
	}
	for _, via := range []struct{ encode, decode func() }{
		{func() { Encode(narrow, wide) }, func() { Decode(wide, narrow) }},
		{func() { EncodeFloat16(halves, wide) }, func() { DecodeFloat16(wide, halves) }},
	} {
		via.encode()
		clear(wide)
		via.decode()
		for i, f := range wide {
			if f != float32(i) {
				t.Fatalf("element %d has become %v", i, f)
			}
		}
	}
}
