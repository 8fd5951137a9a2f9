package hopper

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	bf16F32 = &Spec{A: BF16, B: BF16, Acc: F32, L: 16, F: 25, Frac: 23}
	f16F32  = &Spec{A: F16, B: F16, Acc: F32, L: 16, F: 25, Frac: 23}

	specs = map[string]*Spec{
		"bf16":      bf16F32,
		"f16":       f16F32,
		"tf32":      {A: TF32, B: TF32, Acc: F32, L: 8, F: 25, Frac: 23},
		"e4m3":      {A: E4M3, B: E4M3, Acc: F32, L: 32, F: 13, Frac: 13},
		"e5m2xe4m3": {A: E5M2, B: E4M3, Acc: F32, L: 32, F: 13, Frac: 13},
		"f16 f16":   {A: F16, B: F16, Acc: F16, L: 16, F: 25, Frac: 10},
		"e5m2 f16":  {A: E5M2, B: E5M2, Acc: F16, L: 32, F: 13, Frac: 10},
	}
)

func TestSpecOf(t *testing.T) {
	for name, s := range specs {
		if got := SpecOf(s.A, s.B, s.Acc); got != *s {
			t.Errorf("%s: %+v, want %+v", name, got, *s)
		}
	}
}

// pow returns the bf16 representation of ±2^e.
func pow(e int, sign float64) uint16 {
	return uint16(math.Float32bits(float32(math.Copysign(math.Ldexp(1, e), sign))) >> 16)
}

// Sums that tell the rule from its neighbours: one more or one less bit kept,
// other groups, rounding to nearest, summation in f32.
func TestRule(t *testing.T) {
	const inf, nan = 0x7f80, 0x7fc0
	one := pow(0, 1)
	repeat := func(n int, x, y uint16) (pairs [][2]uint16) {
		for range n {
			pairs = append(pairs, [2]uint16{x, y})
		}
		return pairs
	}
	for _, c := range []struct {
		name  string
		pairs [][2]uint16
		acc   float32
		want  uint32
	}{
		{"16 ones beside 2^24", repeat(16, one, one), 1 << 24, 0x4B800008},
		{"3 ones beside 2^24, truncated", repeat(3, one, one), 1 << 24, 0x4B800001},
		{"two halves of an ulp", repeat(2, pow(-12, 1), pow(-12, 1)), 1, 0x3F800001},
		{"four quarters", repeat(4, pow(-12, 1), pow(-13, 1)), 1, 0x3F800001},
		{"all below 2^-25", repeat(16, pow(-13, 1), pow(-13, 1)), 1, 0x3F800000},
		{"pulled toward zero", repeat(1, pow(-12, 1), pow(-13, 1)), -1, 0xBF7FFFFF},
		{"lost beside -1", repeat(1, pow(-13, 1), pow(-13, 1)), -1, 0xBF800000},
		{"1 lost between ±2^40", [][2]uint16{{pow(40, 1), one}, {pow(40, -1), one}, {one, one}}, 0, 0},
		{"a half kept under 2^24", [][2]uint16{{pow(24, 1), one}, {pow(24, -1), one}, {one, one}}, 0.5, 0x3FC00000},
		{"a quarter lost under 2^24", [][2]uint16{{pow(24, 1), one}, {pow(24, -1), one}, {one, one}}, 0.25, 0x3F800000},
		{"overflow", repeat(1, pow(100, 1), pow(100, 1)), 0, 0x7F800000},
		{"negative overflow", repeat(1, pow(100, 1), pow(100, -1)), 0, 0xFF800000},
		{"no overflow inside", [][2]uint16{{pow(100, 1), pow(100, 1)}, {pow(100, 1), pow(100, -1)},
			{pow(60, 1), pow(60, 1)}}, 0, 0},
		{"smallest subnormal", repeat(1, pow(-75, 1), pow(-74, 1)), 0, 1},
		{"truncated to nothing", repeat(1, pow(-75, 1), pow(-75, 1)), 0, 0},
		{"negative truncated to +0", repeat(1, pow(-75, 1), pow(-75, -1)), 0, 0},
		{"summed before truncation", repeat(2, pow(-75, 1), pow(-75, 1)), 0, 1},
		{"infinity times zero", repeat(1, inf, 0), 0, 0x7FFFFFFF},
		{"zero times infinity", repeat(1, 0x8000, inf), 0, 0x7FFFFFFF},
		{"infinities of both signs", repeat(1, inf, one), float32(math.Inf(-1)), 0x7FFFFFFF},
		{"infinity wins", [][2]uint16{{inf, pow(0, -1)}, {one, one}}, math.MaxFloat32, 0xFF800000},
		{"infinite C wins", repeat(1, one, one), float32(math.Inf(-1)), 0xFF800000},
		{"NaN operand", repeat(1, nan, one), 0, 0x7FFFFFFF},
		{"NaN beats infinity", [][2]uint16{{inf, one}, {0xffff, one}}, 0, 0x7FFFFFFF},
		{"NaN C", repeat(1, one, one), float32(math.NaN()), 0x7FFFFFFF},
		{"zeros of all signs", repeat(4, 0x8000, one), float32(math.Copysign(0, -1)), 0},
		{"C alone", nil, -3.1415927, math.Float32bits(-3.1415927)},
		{"subnormal C alone", nil, math.SmallestNonzeroFloat32, 1},
		{"products near 4 have exponent 0", [][2]uint16{{0x3fff, 0x3fff}, {0x3fff, 0xbfff}, {pow(-12, 1), pow(-13, 1)}},
			0, 0x33000000},
		{"subnormals have the exponent of the smallest normal",
			[][2]uint16{{1, pow(100, 1)}, {1, pow(100, -1)}, {pow(-58, 1), one}}, 0, 0},
		{"and not a larger one", [][2]uint16{{1, pow(100, 1)}, {1, pow(100, -1)}, {pow(-51, 1), one}}, 0,
			math.Float32bits(float32(math.Ldexp(1, -51)))},
	} {
		var x, y [16]uint16
		for k, p := range c.pairs {
			x[k], y[k] = p[0], p[1]
		}
		acc := math.Float32bits(c.acc)
		if got := step(bf16F32, acc, x[:], y[:]); got != c.want {
			t.Errorf("%s: Step gives %08X, want %08X", c.name, got, c.want)
		}
		d := []uint32{acc}
		if multiply(bf16F32, d, 1, x[:], y[:], len(x)); d[0] != c.want {
			t.Errorf("%s: Multiply gives %08X, want %08X", c.name, d[0], c.want)
		}
	}
}

// step is the chain of Step over two vectors.
func step[T uint8 | uint16 | uint32](s *Spec, acc uint32, x, y []T) uint32 {
	for k := 0; k < len(x); k += s.L {
		var a, b []Word
		for i := k; i < k+s.L; i++ {
			a, b = append(a, s.A.Decode(uint32(x[i]))), append(b, s.B.Decode(uint32(y[i])))
		}
		acc = s.Step(acc, a, b)
	}
	return acc
}

// multiply is the chain of Multiply over K, of which x has len(x)/k rows and y as many of columns.
func multiply[T uint8 | uint16 | uint32](s *Spec, d []uint32, stride int, x, y []T, k int) {
	var a, b Panel
	for at := 0; at < k; at += s.L {
		a.PackRows(s.A, stepRows(s.A, x, k, at), false)
		b.PackRows(s.B, stepRows(s.B, y, k, at), false)
		s.Multiply(d, stride, &a, &b)
	}
}

// stepRows returns what a step takes from element at of each row on.
func stepRows[T uint8 | uint16 | uint32](f Format, x []T, k, at int) []Row {
	rows := make([]Row, len(x)/k)
	for i := range rows {
		for n := 0; n < len(Row{}); n += f.Size() {
			u := uint32(x[i*k+at+n/f.Size()])
			for b := range f.Size() {
				rows[i][n+b] = byte(u >> (8 * b))
			}
		}
	}
	return rows
}

// operand makes representations of f that meet often: zeros, subnormals, the
// largest, the special ones, and numbers of exponents near each other or not.
func operand(r *rand.Rand, f Format, mood int) uint32 {
	n, p := formats[f].exp, formats[f].frac
	mask := uint32(1)<<(1+n+p) - 1
	u := r.Uint32() & mask
	switch r.IntN(12) {
	case 0:
		u &= 1 << (n + p) // zero
	case 1:
		u &^= (1<<n - 1) << p // subnormal
	case 2:
		if mood == 0 {
			u |= (1<<n - 1) << p // infinite or NaN, large in e4m3
		}
	case 3:
		if mood == 0 {
			u = u&(1<<(n+p)) | (1<<n-1)<<p // infinite
		}
	default:
		if mood != 1 {
			bias := uint32(1)<<(n-1) - 1
			near := bias - 2 + uint32(r.IntN(5))
			u = u&^((1<<n-1)<<p) | near<<p
		}
	}
	if mood != 0 && u>>p&(1<<n-1) == 1<<n-1 {
		u &^= 1 << p << (n - 1)
	}
	if f == TF32 {
		u = u<<13 | r.Uint32()&0x1fff
	}
	return u
}

// Multiply agrees with Step on whatever bits.
func TestMultiply(t *testing.T) {
	for name, s := range specs {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(s.L)))
			const rows, cols = 5, 7
			finite, special := 0, 0
			for n := range 1500 {
				k := s.L * (1 + n%3)
				x, y := make([]uint32, rows*k), make([]uint32, cols*k)
				for i := range x {
					x[i] = operand(r, s.A, n%3)
				}
				for i := range y {
					y[i] = operand(r, s.B, n%3)
				}
				d := make([]uint32, rows*cols)
				for i := range d {
					d[i] = operand(r, s.Acc, n%3)
				}
				want := slices.Clone(d)
				for i := range rows {
					for j := range cols {
						w := &want[i*cols+j]
						*w = step(s, *w, x[i*k:(i+1)*k], y[j*k:(j+1)*k])
						if s.Acc.Decode(*w).Class == Finite {
							finite++
						} else {
							special++
						}
					}
				}
				multiply(s, d, cols, x, y, k)
				if i := firstDifference(d, want); i >= 0 {
					t.Fatalf("round %d: D(%d, %d) = %#x, Step gives %#x", n, i/cols, i%cols, d[i], want[i])
				}
			}
			if finite < 1000 || special < 1000 {
				t.Errorf("%d finite and %d other results test too little", finite, special)
			}
		})
	}
}

func firstDifference(a, b []uint32) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// Accumulators outside the product stay as they are.
func TestStride(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rows, cols, k, stride, outside = 3, 4, 80, 6, 0x40490fdb
	x, y := make([]uint16, rows*k), make([]uint16, cols*k)
	for i := range x {
		x[i] = uint16(operand(r, BF16, 2))
	}
	for i := range y {
		y[i] = uint16(operand(r, BF16, 2))
	}
	d := slices.Repeat([]uint32{outside}, rows*stride)
	multiply(bf16F32, d[:(rows-1)*stride+cols], stride, x, y, k)
	for at, got := range d {
		i, j, want := at/stride, at%stride, uint32(outside)
		if j < cols {
			want = step(bf16F32, outside, x[i*k:][:k], y[j*k:][:k])
		}
		if got != want {
			t.Errorf("D(%d, %d) = %#x, want %#x", i, j, got, want)
		}
	}
}

// Rows are packed as their elements one by one, negated or not.
func TestPackRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, f := range []Format{BF16, F16, TF32, E4M3, E5M2} {
		l := len(Row{}) / f.Size()
		x := make([]uint32, 9*l)
		for i := range x {
			x[i] = operand(r, f, 0)
		}
		rows := stepRows(f, x, l, 0)
		var p Panel
		for _, negate := range []bool{false, true} {
			p.PackRows(f, rows, negate)
			for i, u := range x {
				if negate {
					u ^= f.SignBit()
				}
				value, exp := f.split(u)
				got, e := p.value[i/block][i%block], p.exp[i/block][i%block]
				if math.Float64bits(got) != math.Float64bits(value) || e != exp {
					t.Fatalf("format %d, negate %v: element %d is %v, exponent %d, want %v, %d",
						f, negate, i, got, e, value, exp)
				}
			}
		}
	}
}

// Decode and the value of a representation agree on all representations.
func TestDecode(t *testing.T) {
	for _, f := range []Format{BF16, F16, E4M3, E5M2, TF32} {
		width := 1 + formats[f].exp + formats[f].frac
		for u := range uint32(1) << width {
			word := u
			if f == TF32 {
				word = u<<13 | 0x1555
			}
			v, w := float64(math.Float32frombits(f.widen(word))), f.Decode(word)
			var got float64
			switch w.Class {
			case NaN:
				got = math.NaN()
			case Infinite:
				got = math.Inf(1)
			default:
				got = math.Ldexp(float64(w.Sig), int(w.Exp)-f.fraction())
				if normal := w.Sig>>f.fraction() == 1; !normal && int(w.Exp) != f.minExp() {
					t.Fatalf("format %d: %#x has significand %#x and exponent %d", f, word, w.Sig, w.Exp)
				}
			}
			if w.Neg {
				got = -got
			}
			if got != v && (got == got || v == v) || w.Neg != (word&f.SignBit() != 0) {
				t.Fatalf("format %d: %#x decodes to %+v, %v, want %v", f, word, w, got, v)
			}
		}
	}
}

func TestMultiplyPanics(t *testing.T) {
	pack := func(f Format, rows int) *Panel {
		var p Panel
		p.PackRows(f, make([]Row, rows), false)
		return &p
	}
	two := pack(BF16, 2)
	for name, f := range map[string]func(){
		"other L":      func() { bf16F32.Multiply(make([]uint32, 4), 2, pack(TF32, 2), two) },
		"short stride": func() { bf16F32.Multiply(make([]uint32, 4), 1, two, two) },
		"short D":      func() { bf16F32.Multiply(make([]uint32, 3), 2, two, two) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	bf16F32.Multiply(nil, 0, pack(BF16, 0), two) // nothing to do
}

func FuzzMultiply(f *testing.F) {
	f.Add(uint64(1), uint32(0), uint8(0))
	f.Add(uint64(2), uint32(0x7f800000), uint8(5))
	names := []string{"bf16", "f16", "tf32", "e4m3", "e5m2xe4m3", "f16 f16", "e5m2 f16"}
	f.Fuzz(func(t *testing.T, seed uint64, acc uint32, kind uint8) {
		s := specs[names[int(kind)%len(names)]]
		r := rand.New(rand.NewPCG(seed, 0))
		x, y := make([]uint32, s.L), make([]uint32, s.L)
		for i := range x {
			x[i], y[i] = operand(r, s.A, int(seed%3)), operand(r, s.B, int(seed%3))
		}
		d := []uint32{acc}
		multiply(s, d, 1, x, y, s.L)
		if want := step(s, acc, x, y); d[0] != want {
			t.Errorf("%x · %x + %#x = %#x, Step gives %#x", x, y, acc, d[0], want)
		}
	})
}

// Every f16 has its value in f32, keeps its sign and its payload, and comes back.
func TestF16(t *testing.T) {
	for u := range uint32(1 << 16) {
		f, w := FromF16(u), F16.Decode(u)
		value := math.Ldexp(float64(w.Sig), int(w.Exp)-10)
		if w.Neg {
			value = -value
		}
		ok := f>>31 == u>>15 && ToF16(f) == u
		switch w.Class {
		case Finite:
			ok = ok && float64(math.Float32frombits(f)) == value
		case Infinite:
			ok = ok && f<<1 == infF32<<1
		case NaN:
			ok = ok && f<<1 > infF32<<1
		}
		if !ok {
			t.Fatalf("%#x is %#x, which is %#x", u, f, ToF16(f))
		}
	}
}
