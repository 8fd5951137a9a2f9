package bench

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"example.com/leafhopper/asm"
)

// naive computes the product of a workload in the type of its sums, each operation rounded, in the order of K.
func naive(w Workload, a, b, c0 *operand) *operand {
	wide := SumType(w.In) == asm.F64
	round := func(x float64) float64 { // once: a float64 holds the product of two float32s, and enough of a sum
		if wide {
			return x
		}
		return float64(float32(x))
	}
	alpha, beta := w.factors()
	c, wideB := newOperand(w.Out, w.M, w.N, false), general(b)
	row := make([]float64, w.N)
	for i := range w.M {
		clear(row)
		for k := range w.K {
			v := a.at(i, k)
			for j, x := range wideB.Data[k*w.N:][:w.N] {
				row[j] = round(row[j] + round(v*x))
			}
		}
		for j := range row {
			row[j] = round(alpha * row[j])
			if c0 != nil {
				row[j] = round(row[j] + round(beta*c0.at(i, j)))
			}
		}
		c.encode(i*w.N, row)
	}
	return c
}

// put stores v in element (i, j).
func put(c *operand, i, j int, v float64) { c.encode(i*c.cols+j, []float64{v}) }

// TestCheck accepts right products and finds each kind of corruption, by the
// comparison in full and by samples and Freivalds' check alike.
func TestCheck(t *testing.T) {
	base := Workload{M: 150, N: 131, K: 67, Alpha: 1, Seed: 3}
	for _, in := range append(floatTypes[:3:3], asm.F64) {
		for _, out := range append(floatTypes[:3:3], asm.F64) {
			if (in == asm.F64) != (out == asm.F64) {
				continue
			}
			for _, full := range []bool{true, false} {
				w := base
				w.In, w.Out = in, out
				w.TransA, w.TransB = in == asm.F16, out != asm.F32
				if in == out {
					w.Alpha, w.Beta = -0.75, 1.25
				}
				t.Run(fmt.Sprintf("in=%v/out=%v/full=%v", in, out, full), func(t *testing.T) {
					a, b, c0 := newOperands(t.Context(), w)
					checkCorruptions(t, makeReference(w, a, b, c0, full), naive(w, a, b, c0))
				})
			}
		}
	}
}

func checkCorruptions(t *testing.T, r *reference, c *operand) {
	right := r.check(c)
	if !right.passed() || right.maxError == 0 {
		t.Fatalf("the right product: %v", right)
	}
	// An element that is in no sample, so that only the rest can find it.
	i, j := unsampled(r)
	old := c.at(i, j)
	restore := func() { put(c, i, j, old) }
	for name, corrupt := range map[string]func(){
		"NaN":      func() { put(c, i, j, math.NaN()) },
		"infinity": func() { put(c, i, j, math.Inf(-1)) },
		"sign":     func() { put(c, i, j, -math.Copysign(math.Abs(old)+16, old)) },
		"large":    func() { put(c, i, j, 1e4) },
	} {
		corrupt()
		o := r.check(c)
		if o.passed() || o.i != i || o.j != j {
			t.Errorf("%s in C[%d,%d]: found %v", name, i, j, o)
		}
		restore()
	}
	copied := c.clone()
	for y := 64; y < 72; y++ { // an 8x32 tile with the values of its neighbour
		for x := 32; x < 64; x++ {
			put(copied, y, x, c.at(y, x+32))
		}
	}
	if o := r.check(copied); o.passed() {
		t.Errorf("a tile in the wrong place passes")
	}
	zero := newOperand(c.elem, c.rows, c.cols, false)
	if o := r.check(zero); o.passed() {
		t.Errorf("zeros pass")
	}
	if o := r.check(c); o != right {
		t.Errorf("after the corruptions: %v, want %v", o, right)
	}
}

// unsampled returns a place of C that is not in the samples.
func unsampled(r *reference) (i, j int) {
	sampled := map[[2]int]bool{}
	for _, e := range r.some {
		sampled[[2]int{e.i, e.j}] = true
	}
	for n := 0; ; n++ {
		i, j = int(mix(1, n)%uint64(r.w.M)), int(mix(2, n)%uint64(r.w.N))
		if !sampled[[2]int{i, j}] {
			return i, j
		}
	}
}

// TestCheckLarge is TestCheck at a size that is not compared in full: one wrong
// element among half a million.
func TestCheckLarge(t *testing.T) {
	for in, off := range map[asm.Type]float64{asm.BF16: 0.05, asm.F64: 0.05 * 0x1p-29} {
		w := Workload{M: 700, N: 705, K: 300, In: in, Out: SumType(in), Alpha: 1, Seed: 11}
		a, b, _ := newOperands(t.Context(), w)
		r := newReference(w, a, b, nil)
		if r.full != nil {
			t.Fatal("the workload is compared in full; choose a larger one")
		}
		c := naive(w, a, b, nil)
		if o := r.check(c); !o.passed() || o.maxError == 0 {
			t.Fatalf("%v: the right product: %v", in, o)
		}
		for n := range 20 {
			i, j := int(mix(3, n)%700), int(mix(4, n)%705)
			old := c.at(i, j)
			put(c, i, j, old+off)
			if o := r.check(c); o.passed() || o.i != i || o.j != j {
				t.Errorf("%v: %g too much in C[%d,%d]: found %v", in, off, i, j, o)
			}
			put(c, i, j, old)
		}
	}
}

// TestReferenceOfFloat64 wants the reference of float64 products to be the exact sums, rounded once, which sums in
// float64 are not, and wrong bits to be found down to the bound.
func TestReferenceOfFloat64(t *testing.T) {
	w := Workload{M: 3, N: 40, K: 2000, In: asm.F64, Out: asm.F64, TransB: true, Alpha: 1, Seed: 8}
	a, b, _ := newOperands(t.Context(), w)
	c, rounded := newOperand(asm.F64, w.M, w.N, false), 0
	r := makeReference(w, a, b, nil, true)
	for i := range w.M {
		for j := range w.N {
			exact, plain := new(big.Float).SetPrec(2000), 0.0
			for k := range w.K {
				x, y := big.NewFloat(a.at(i, k)), big.NewFloat(b.at(k, j))
				exact.Add(exact, new(big.Float).SetPrec(2000).Mul(x, y))
				plain += a.at(i, k) * b.at(k, j)
			}
			want, _ := exact.Float64()
			if got := r.full[i*w.N+j].want; got != want {
				t.Errorf("C[%d,%d] = %v, want %v", i, j, got, want)
			}
			if put(c, i, j, want); plain != want {
				rounded++
			}
		}
	}
	if rounded < w.M*w.N/2 {
		t.Errorf("only %d sums in float64 are not the exact ones", rounded)
	}
	if o := r.check(c); o.maxError != 0 {
		t.Errorf("the exact product: %v", o)
	}
	found := 0
	for bit := range 52 {
		want := c.at(1, 7)
		wrong := math.Float64frombits(math.Float64bits(want) ^ 1<<bit)
		put(c, 1, 7, wrong)
		bad := math.Abs(wrong-want) > r.full[w.N+7].bound
		if o := r.check(c); o.passed() == bad {
			t.Errorf("bit %d is another, too much so is %v: found %v", bit, bad, o)
		} else if bad {
			found++
		}
		put(c, 1, 7, want)
	}
	if found < 30 { // the bound is about 2^-36, and a last bit 2^-49 or less
		t.Errorf("%d of 52 wrong bits are found", found)
	}
}

// TestBound compares the bound with that of the package comment.
func TestBound(t *testing.T) {
	const u = 0x1p-24
	c0 := newOperand(asm.F32, 1, 1, false)
	for _, test := range []struct {
		out       asm.Type
		beta      float64
		acc, abs  float64
		old, want float64
		bound     float64
	}{
		{asm.F32, 0, 1, 4, 0, 2, 100 * u * 8},
		{asm.F32, -3, 1, 4, 5, -13, 100 * u * (8 + 15)},
		{asm.F32, 0.1, 1, 4, 5, 2 + 5*float64(float32(0.1)), 100 * u * (8 + 0.5)},
		{asm.BF16, 0, 1, 4, 0, 2, 100*u*8 + 0x1p-8*2},
		{asm.F16, 0, 1, 4, 0, 2, 100*u*8 + 0x1p-11*2},
		{asm.F16, 0, 0, 0, 0, 0, 0x1p-25},
		{asm.F64, 0.1, 1, 4, 5, 2.5, 100 * 0x1p-53 * (8 + 0.5)},
		{asm.F64, 0, 0x1p1000, 0x1p1000, 0, 0x1p1001, 100 * 0x1p948},
		{asm.F64, 1e308, 8e307, 8e307, 1, math.Inf(1), math.Inf(1)}, // only the last sum overflows
	} {
		r := &reference{w: Workload{K: 92, Out: test.out, Alpha: 2, Beta: test.beta}}
		if test.out == asm.F64 {
			r.w.In, c0 = test.out, newOperand(asm.F64, 1, 1, false)
		}
		if test.beta != 0 {
			r.c0 = c0
		}
		put(c0, 0, 0, test.old)
		l := r.limit(test.acc, test.abs, 0, 0)
		if l.want != test.want || !(l.bound >= test.bound && l.bound <= test.bound*(1+1e-4)+1e-30) {
			t.Errorf("%+v: got %+v", test, l)
		}
	}
}

func TestRatioOverflow(t *testing.T) {
	f16 := roundingOf(asm.F16).overflow
	inf := math.Inf(1)
	for _, test := range []struct {
		got  float64
		l    limit
		want float64
	}{
		{inf, limit{want: 65530, bound: 32}, 0},
		{inf, limit{want: 65000, bound: 32}, inf},
		{-inf, limit{want: 65530, bound: 32}, inf},
		{65504, limit{want: 65530, bound: 32}, 26. / 32},
		{math.NaN(), limit{want: 65530, bound: 32}, inf},
		{math.NaN(), limit{want: 65530, bound: inf}, 0},
	} {
		if e := test.l.ratio(test.got, f16); e != test.want {
			t.Errorf("ratio(%v) with %+v = %v, want %v", test.got, test.l, e, test.want)
		}
	}
}
