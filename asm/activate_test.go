package asm

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var manyArguments = flag.Bool("activate", false, "give activations ten million arguments, not a sample")

const erfMost = 3.94 // from where the erf of erfTable is 1

// arguments calls f with some floats of every exponent, with those around which the activations change, and with many
// whose size matters; and with their negatives.
func arguments(f func(x float32)) {
	both := func(x float32) { f(x); f(-x) }
	r := rand.New(rand.NewPCG(40, 1))
	for e := range uint32(256) {
		for _, m := range []uint32{0, 1, 1 << 22, 1<<23 - 1, r.Uint32N(1 << 23), r.Uint32N(1 << 23)} {
			both(math.Float32frombits(e<<23 | m))
		}
	}
	edges := []float32{
		expLeast, expMost, 88.722839, ln2 / 2, tanhMost, siluMost, geluTanhMost, erfMost, geluMost,
		0.4990375, 0.49714568, 0.49650759, // where GELU was off most
	}
	for _, edge := range edges {
		for i := range uint32(9) {
			both(math.Float32frombits(math.Float32bits(edge) + i - 4))
		}
	}
	n := 50_000
	switch {
	case *manyArguments:
		n = 5_000_000
	case raceEnabled:
		n = 1000
	}
	for range n {
		both(float32(math.Ldexp(1+r.Float64(), r.IntN(34)-26)))
	}
}

// odd returns the odd function that is f where x is from 0 to most, and beyond what it is at most.
func odd(f func(x float32) float32, most float32) func(x float32) float32 {
	return func(x float32) float32 {
		if x != x {
			return x
		}
		return float32(math.Copysign(float64(f(least(float32(math.Abs(float64(x))), most))), float64(x)))
	}
}

// TestActivationErrors compares the activations, and what they are made of, with float64.
func TestActivationErrors(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	times := func(f func(x float64) float64) func(x float64) float64 {
		return func(x float64) float64 { return x * f(x) }
	}
	of := func(f Activation) func(x float32) float32 {
		return func(x float32) float32 { return activate(x, f) }
	}
	for _, tc := range []struct {
		name  string
		f     func(x float32) float32
		want  func(x float64) float64
		most  float64 // units of float32's last place at the result,
		of    bool    // or at the argument,
		least int     // or at 2^least if that is more
	}{
		{"exp", exp, math.Exp, 2, false, -126},
		{"tanh", of(Tanh), math.Tanh, 2, false, -126},
		{"erf", odd(func(x float32) float32 { return pieces(erfTable[:], x, erfUnit) }, erfMost), math.Erf, 2, false,
			-126},
		{"erf(x÷√2)", odd(func(x float32) float32 { return pieces(erfTable[:], x, geluUnit) }, geluMost),
			func(x float64) float64 { return math.Erf(x / math.Sqrt2) }, 2, false, -126},
		{"relu", of(ReLU), func(x float64) float64 { return max(x, 0) }, 0, false, -126},
		{"gelu", of(GELU), times(func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }), 1, true, -126},
		{"gelutanh", of(GELUTanh), times(func(x float64) float64 {
			return sigmoid(2 * math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x))
		}), 1.5, true, -126},
		{"silu", of(SiLU), times(sigmoid), 4, false, -119},
		{"sigmoid", of(Sigmoid), sigmoid, 3, false, -126},
	} {
		t.Run(tc.name, func(t *testing.T) {
			worst, at := 0.0, float32(0)
			arguments(func(x float32) {
				got, want := tc.f(x), tc.want(float64(x))
				switch {
				case x != x:
					if got == got {
						t.Fatalf("f(NaN) = %v", got)
					}
					return
				case got == float32(want) || math.IsInf(float64(x), 0):
					return
				}
				ulps := math.Abs(float64(got)-want) / ulp(want, tc.least)
				if tc.of {
					ulps = math.Abs(float64(got)-want) / ulp(float64(x), tc.least)
				}
				if !(ulps <= worst) {
					worst, at = ulps, x
				}
			})
			t.Logf("at most %.3f units off, at %v: %v, want %v", worst, at, tc.f(at), tc.want(float64(at)))
			if !(worst <= tc.most) {
				t.Errorf("f(%v) = %v, want %v: %.3f units off, more than %v", at, tc.f(at), tc.want(float64(at)), worst,
					tc.most)
			}
		})
	}
}

// ulp returns the distance between float32s at x, or at 2^least.
func ulp(x float64, least int) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e, least+1)-24)
}
