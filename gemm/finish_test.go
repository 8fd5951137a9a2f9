package gemm_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// finishing is what happens to the sums of a product of a test.
type finishing struct {
	scaleA, scaleB, bias, rowBias []float32
	f                             gemm.Activation
	alpha, beta                   float32
	arithmetic                    gemm.Arithmetic
}

func (e *finishing) options() []gemm.Option {
	return []gemm.Option{
		gemm.WithScales(e.scaleA, e.scaleB), gemm.WithBias(e.bias), gemm.WithRowBias(e.rowBias),
		gemm.WithActivation(e.f),
		gemm.WithAlpha(e.alpha), gemm.WithBeta(e.beta),
	}
}

// anyFinishing returns one for m rows and n columns.
func anyFinishing(r *rand.Rand, m, n int) finishing {
	values := func(size int) []float32 {
		if r.IntN(3) == 0 {
			return nil
		}
		v := make([]float32, size)
		for i := range v {
			v[i] = ordinary(r)
		}
		return v
	}
	scales := func(size int) []float32 {
		if r.IntN(2) == 0 {
			size = 1
		}
		return values(size)
	}
	activation := gemm.Activation(r.IntN(len(asm.Activations())))
	e := finishing{scales(m), scales(n), values(n), values(m), activation, 1, 0, gemm.Native}
	if r.IntN(3) == 0 {
		e.alpha = ordinary(r)
	}
	switch r.IntN(6) {
	case 0:
		e.beta = 1
	case 1:
		e.beta = ordinary(r)
	}
	return e
}

// finished returns what becomes of the sum of an element of C, in the order and with the roundings that Multiply says.
func finished[O gemm.Output](e *finishing, sum, old float32, i, j int) float32 {
	at := func(v []float32, i int) float32 { return v[min(i, len(v)-1)] }
	switch a, b := e.scaleA, e.scaleB; {
	case a != nil && len(b) == 1:
		sum *= float32(at(a, i) * b[0])
	default:
		if b != nil {
			sum *= at(b, j)
		}
		if a != nil {
			sum = float32(sum * at(a, i))
		}
	}
	sum = combined[O](e.arithmetic, e.alpha, sum, e.beta, old)
	if e.bias != nil {
		sum = float32(sum) + e.bias[j]
	}
	if e.rowBias != nil {
		sum = float32(sum) + e.rowBias[i]
	}
	x := []float32{sum}
	activate := asm.Activate
	if e.arithmetic == gemm.Hopper {
		activate = asm.ActivateHopper
	}
	activate(unsafe.Pointer(&x[0]), 4, unsafe.Pointer(&x[0]), 4, 1, 1, asm.Vector{}, e.f)
	return x[0]
}

// checkFinish compares the product of s, finished, with one in float32 whose sums are finished here.
func checkFinish[O gemm.Output, I gemm.Element](t *testing.T, s spec, e finishing) gemm.Stats {
	t.Helper()
	plain := s
	plain.ring, plain.tc = false, false
	sums := product[float32, I](t, plain)
	s.beta = e.beta // for an old C that is not NaN
	o := build[O, I](t, s)
	defer o.free()
	old := dense(o.c)
	s.opts = append(slices.Clip(s.opts), e.options()...)
	s.alpha = e.alpha
	st, err := o.multiply(s)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]O, len(old))
	for i := range want {
		want[i] = from[O](finished[O](&e, sums[i], to(old[i]), i/s.n, i%s.n))
	}
	same(t, dense(o.c), want, s.n)
	return st
}

// TestFinish checks scales, biases and activations in every way of computing, for every kernel and type of C, layout
// and packing.
func TestFinish(t *testing.T) {
	processors(t, 4)
	for _, p := range []struct {
		name  string
		check func(*testing.T, spec, finishing) gemm.Stats
		in    asm.Type
	}{
		{"f32-f32", checkFinish[float32, float32], asm.F32},
		{"bf16-f32", checkFinish[float32, bf16.BF16], asm.BF16},
		{"bf16-bf16", checkFinish[bf16.BF16, bf16.BF16], asm.BF16},
		{"f16-f16", checkFinish[float16.Float16, float16.Float16], asm.F16},
		{"f32-bf16", checkFinish[bf16.BF16, float32], asm.F32},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachKernel(t, p.in, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
				testFinish(t, p.check, k, opts)
			})
		})
	}
}

func testFinish(t *testing.T, check func(*testing.T, spec, finishing) gemm.Stats, k *asm.Kernel, opts []gemm.Option) {
	r := rand.New(rand.NewPCG(40, 3))
	turns, routes := 60, map[string]bool{}
	switch {
	case *long:
		turns = 2000
	case slowKernel(k.Name) && raceEnabled:
		turns = 4
	case slowKernel(k.Name) || raceEnabled:
		turns = 10
	case testing.Short() || k.Arithmetic != gemm.Native:
		turns = 25
	}
	small := [][3]int{{37, 70, 45}, {1, 300, 200}, {5, 130, 600}, {70, 96, 300}, {33, 1, 64},
		{130, 200, 90}, {8, 32, 0}, {16, 64, 64}}
	large := [][3]int{
		{1, 2100, 600}, {40, 1000, 270}, {300, 200, 530}, {256, 320, 300},
		{1500, 1, 300}, {3, 5, 20000}, {16, 64, 6000},
	}
	for turn := range turns {
		d := small[r.IntN(len(small))]
		if turn%8 == 7 && turns > 10 {
			d = large[turn/8%len(large)]
		}
		s := size(d[0], d[1], d[2], append(slices.Clip(opts), gemm.WithWorkers(1+r.IntN(4)))...)
		s.seed, s.ta, s.tb, s.tc = uint64(turn), r.IntN(4) == 0, r.IntN(2) == 0, r.IntN(3) == 0
		s.ring, s.packed, s.padC = s.k > 0 && r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(3)*5
		e := anyFinishing(r, s.m, s.n)
		e.arithmetic = k.Arithmetic
		routes[check(t, s, e).Route] = true
		if t.Failed() {
			t.Fatalf("%+v\n%+v", s, e)
		}
	}
	if turns > 10 && (!routes["caller"] || !routes["slabs"] || !routes["ring"]) {
		t.Errorf("only the ways %v", routes)
	}
}

// TestFinishErrors gives vectors and activations that do not fit a product of 3x4 and 4x5.
func TestFinishErrors(t *testing.T) {
	of := func(n int) []float32 { return make([]float32, n) }
	for _, tc := range []struct {
		opt  gemm.Option
		want []string // parts of the error
	}{
		{gemm.WithScales(of(2), nil), []string{"WithScales", "2 values", "3 rows of A"}},
		{gemm.WithScales(of(0), nil), []string{"WithScales", "0 values", "3 rows of A"}},
		{gemm.WithScales(of(1), of(3)), []string{"WithScales", "3 values", "5 columns of B"}},
		{gemm.WithBias(of(3)), []string{"WithBias", "3 values", "5 columns of C"}},
		{gemm.WithBias(of(1)), []string{"WithBias", "1 values", "5 columns of C"}},
		{gemm.WithRowBias(of(5)), []string{"WithRowBias", "5 values", "3 rows of C"}},
		{gemm.WithActivation(77), []string{"WithActivation", "Activation(77)", "relu", "gelu"}},
	} {
		for _, trans := range []bool{false, true} {
			a, b, c := gemm.NewMatrix[float32](3, 4), gemm.NewMatrix[float32](4, 5), gemm.NewMatrix[float32](3, 5)
			if trans {
				c = gemm.NewMatrix[float32](5, 3).T()
			}
			for i := range c.Data {
				c.Data[i] = 7
			}
			err := gemm.Multiply(c, a, b, tc.opt)
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v; want %q in it", err, part)
				}
			}
			if slices.ContainsFunc(c.Data, func(x float32) bool { return x != 7 }) {
				t.Errorf("%v: C is %v", err, c.Data)
			}
		}
	}
}

// TestScalesAlone multiplies rows, each with a scale of its own, by a B with one scale, together and each alone.
func TestScalesAlone(t *testing.T) {
	const m, n, k = 70, 40, 64 // more rows than are scaled at once
	r := rand.New(rand.NewPCG(1, 2))
	a, b, sa := gemm.NewMatrix[bf16.BF16](m, k), gemm.NewMatrix[bf16.BF16](k, n), make([]float32, m)
	fill(a, func() float32 { return ordinary(r) })
	fill(b, func() float32 { return ordinary(r) })
	for i := range sa {
		sa[i] = ordinary(r)
	}
	for _, arith := range arithmetics {
		for _, c := range []gemm.Matrix[float32]{gemm.NewMatrix[float32](m, n), gemm.NewMatrix[float32](n, m).T()} {
			with, sb := gemm.WithArithmetic(arith), []float32{0.37}
			if err := gemm.Multiply(c, a, b, gemm.WithScales(sa, sb), with); err != nil {
				t.Fatal(err)
			}
			for i := range m {
				row, one := gemm.Of(1, k, a.Data[i*k:]), gemm.NewMatrix[float32](1, n)
				if err := gemm.Multiply(one, row, b, gemm.WithScales(sa[i:i+1], sb), with); err != nil {
					t.Fatal(err)
				}
				for j := range n {
					if one.At(0, j) != c.At(i, j) {
						t.Fatalf("%v: element (%d, %d) is %v, and %v alone", arith, i, j, c.At(i, j), one.At(0, j))
					}
				}
			}
		}
	}
}

// TestFinishDefaults checks that an engine's own activation holds for calls that name none, and that nil takes a
// vector back.
func TestFinishDefaults(t *testing.T) {
	e, err := gemm.New(gemm.WithActivation(gemm.ReLU), gemm.WithBias([]float32{-3, 5}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	one, two := gemm.Of(1, 1, []float32{1}), gemm.Of(1, 2, []float32{2, -4})
	for _, tc := range []struct {
		opts []gemm.Option
		want []float32
	}{
		{nil, []float32{0, 1}},
		{[]gemm.Option{gemm.WithBias(nil)}, []float32{2, 0}},
		{[]gemm.Option{gemm.WithActivation(gemm.Identity)}, []float32{-1, 1}},
	} {
		c := gemm.NewMatrix[float32](1, 2)
		if err := e.Multiply(c, one, two, tc.opts...); err != nil || !slices.Equal(c.Data, tc.want) {
			t.Errorf("%v, %v; want %v", c.Data, err, tc.want)
		}
	}
}

// TestFinishSpecials checks that NaN and infinities go through, from sums and from vectors.
func TestFinishSpecials(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for f, want := range map[gemm.Activation][]float32{
		gemm.Identity: {-inf, inf, nan, -inf}, gemm.ReLU: {0, inf, nan, 0},
		gemm.GELU: {0, inf, nan, 0}, gemm.GELUTanh: {0, inf, nan, 0},
		gemm.SiLU: {0, inf, nan, 0}, gemm.Sigmoid: {0, 1, nan, 0}, gemm.Tanh: {-1, 1, nan, -1},
	} {
		a, b := gemm.Of(1, 1, []float32{1}), gemm.Of(1, 4, []float32{-inf, inf, nan, 2})
		c := gemm.NewMatrix[float32](1, 4)
		if err := gemm.Multiply(c, a, b, gemm.WithActivation(f), gemm.WithBias([]float32{0, 0, 0, -inf})); err != nil {
			t.Fatal(err)
		}
		for j, x := range c.Data {
			if x != want[j] && !(x != x && want[j] != want[j]) {
				t.Errorf("%v: %v, want %v", f, c.Data, want)
				break
			}
		}
	}
}
