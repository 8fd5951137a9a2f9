package wgmma

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/tile"
)

func newAccumulator(t testing.TB, typ AccumulatorType, n int) *Accumulator {
	t.Helper()
	d, err := NewAccumulator(typ, n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Elements and registers are views of the same storage.
func TestAccumulatorRegisters(t *testing.T) {
	for _, typ := range []AccumulatorType{F32, F16, S32} {
		d := newAccumulator(t, typ, 24)
		for thread := range Threads {
			for i := range d.Registers() {
				d.SetRegister(thread, i, uint32(thread<<20|i<<4|1)|1<<31)
			}
		}
		want := map[AccumulatorType]int{F32: 12, F16: 6, S32: 12}[typ]
		if d.Registers() != want {
			t.Errorf("%v: %d registers, want %d", typ, d.Registers(), want)
		}
		for row := range M {
			for col := range d.N() {
				thread, i := AccumulatorIndex(row, col)
				var want uint32
				if typ == F16 {
					want = d.Register(thread, i/2) >> (16 * (i % 2)) & 0xffff
				} else {
					want = d.Register(thread, i)
				}
				if got := d.Bits(row, col); got != want {
					t.Fatalf("%v: (%d, %d) is %#x, its register has %#x", typ, row, col, got, want)
				}
			}
		}
		for thread := range Threads {
			for i := range d.Registers() {
				if got, want := d.Register(thread, i), uint32(thread<<20|i<<4|1)|1<<31; got != want {
					t.Fatalf("%v: register %d of thread %d is %#x, want %#x", typ, i, thread, got, want)
				}
			}
		}
	}
}

func TestAccumulatorValues(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		typ  AccumulatorType
		v    float64
		bits uint32
		want float64
	}{
		{F32, 1.5, 0x3fc00000, 1.5},
		{F32, 1 + 0x1p-24, 0x3f800000, 1},
		{F32, -inf, 0xff800000, -inf},
		{F32, 1e300, 0x7f800000, inf},
		{F16, 1.5, 0x3e00, 1.5},
		{F16, 65520, 0x7c00, inf},
		{F16, 65519.999999999, 0x7bff, 65504},
		{F16, 1 + 0x1p-11, 0x3c00, 1},                      // a tie, to even
		{F16, 1 + 0x1p-11 + 0x1p-40, 0x3c01, 1.0009765625}, // just above it
		{F16, 1 + 0x1p-11 - 0x1p-40, 0x3c00, 1},
		{F16, -0x1p-24, 0x8001, -0x1p-24},
		{F16, 0x1p-25 + 0x1p-60, 0x0001, 0x1p-24},
		{F16, 1e300, 0x7c00, inf},
		{S32, -7, 0xfffffff9, -7},
		{S32, 2.5, 2, 2},
		{S32, 1e10, 0x7fffffff, math.MaxInt32},
		{S32, -inf, 0x80000000, math.MinInt32},
		{S32, math.NaN(), 0, 0},
	} {
		d := newAccumulator(t, c.typ, 8)
		d.Set(63, 7, c.v)
		if got := d.Bits(63, 7); got != c.bits {
			t.Errorf("%v: %v is %#x, want %#x", c.typ, c.v, got, c.bits)
		}
		if got := d.At(63, 7); got != c.want {
			t.Errorf("%v: %v comes back as %v, want %v", c.typ, c.v, got, c.want)
		}
	}
	d := newAccumulator(t, F32, 8)
	d.Set(0, 0, math.NaN())
	if got := d.At(0, 0); got == got {
		t.Errorf("NaN comes back as %v", got)
	}
	h := newAccumulator(t, F16, 8)
	h.SetBits(1, 1, 0x12343c00)
	if got := h.Bits(1, 1); got != 0x3c00 {
		t.Errorf("f16 element is %#x, want its lower half", got)
	}
}

// Float32 is the value of an element of a thread, whatever its type.
func TestAccumulatorFloat32(t *testing.T) {
	for typ, want := range map[AccumulatorType]func(u uint32) float32{
		F32: math.Float32frombits,
		F16: func(u uint32) float32 { return float16.Frombits(uint16(u)).Float32() },
		S32: func(u uint32) float32 { return float32(int32(u)) },
	} {
		d := newAccumulator(t, typ, 80)
		for row := range M {
			for col := range d.N() {
				d.SetBits(row, col, 0xbc003f81^uint32(row<<14|col<<3))
			}
		}
		for thread := range Threads {
			for i := range d.N() / 2 {
				row, col := AccumulatorCoord(thread, i)
				got, want := d.Float32(thread, i), want(d.Bits(row, col))
				if got != want && (got == got || want == want) {
					t.Fatalf("%v: element %d of thread %d is %v, want %v", typ, i, thread, got, want)
				}
			}
		}
	}
	d := newAccumulator(t, F16, 8)
	for _, at := range [][2]int{{-1, 0}, {Threads, 0}, {0, -1}, {0, 4}} {
		const format = "wgmma: accumulator element %d of thread %d, have 4 elements in each of 128 threads"
		want := fmt.Sprintf(format, at[1], at[0])
		if got := fmt.Sprint(recovered(func() { d.Float32(at[0], at[1]) })); got != want {
			t.Errorf("Float32%v panics with %q, want %q", at, got, want)
		}
	}
}

func TestAccumulatorErrors(t *testing.T) {
	for n := -8; n <= 300; n++ {
		ok := n >= 8 && n <= 256 && n%8 == 0
		for typ, ok := range map[AccumulatorType]bool{F32: ok, F16: ok, S32: ok && (n <= 24 || n%16 == 0)} {
			_, err := NewAccumulator(typ, n)
			if (err == nil) != ok {
				t.Errorf("%v, N = %d: error %v", typ, n, err)
			}
			if err != nil && !strings.Contains(err.Error(), "must be") {
				t.Errorf("%v, N = %d: error %q names no rule", typ, n, err)
			}
		}
	}
	if _, err := NewAccumulator(3, 8); err == nil {
		t.Error("no error for type 3")
	}
	d := newAccumulator(t, F16, 8)
	f := NewFragment(TF32F32)
	for name, f := range map[string]func(){
		"row":               func() { d.At(64, 0) },
		"column":            func() { d.Bits(0, 8) },
		"negative column":   func() { d.Set(0, -1, 0) },
		"register":          func() { d.Register(0, 2) },
		"thread":            func() { d.SetRegister(128, 0, 0) },
		"fragment k":        func() { f.Bits(0, 8) },
		"fragment row":      func() { f.SetBits(-1, 0, 0) },
		"fragment register": func() { f.Register(0, 4) },
		"fragment kind":     func() { NewFragment(99) },
		"K-major swizzle":   func() { KMajor(0, tile.SwizzleNone) },
		"MN-major swizzle":  func() { MNMajor(0, 4, 1024) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for a bad %s", name)
				}
			}()
			f()
		}()
	}
}
