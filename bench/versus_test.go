package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

// noisyRounds returns times of two variants in n rounds: the first takes ratio times as long,
// and a busy machine makes every round several times slower than another, and one sample in
// ten of either many times.
func noisyRounds(rng *rand.Rand, n int, ratio float64) (base, other []float64) {
	for range n {
		round := math.Exp(rng.NormFloat64())
		sample := func(t float64) float64 {
			t *= round * math.Exp(0.02*rng.NormFloat64())
			if rng.IntN(10) == 0 {
				t *= 1 + 5*rng.Float64()
			}
			return t
		}
		base, other = append(base, sample(ratio)), append(other, sample(1))
	}
	return base, other
}

// TestVersus has a gain or a loss of 5 % found in most runs of 40 such rounds, none found in
// nearly all where there is none, and the true ratio inside the interval.
func TestVersus(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 300
	for ratio, told := range map[float64][2]int{1: {0, runs / 50}, 1.05: {runs * 3 / 4, runs},
		0.95: {runs * 3 / 4, runs}} {
		found, outside, wrong := 0, 0, 0
		for range runs {
			v := versus(noisyRounds(rng, 40, ratio))
			if v.Lo > v.Ratio || v.Ratio > v.Hi || v.Confidence < Confidence || v.Rounds != 40 {
				t.Fatalf("%+v", v)
			}
			if v.told() {
				found++
				if (v.Ratio > 1) != (ratio > 1) && ratio != 1 {
					wrong++
				}
			}
			if ratio < v.Lo || ratio > v.Hi {
				outside++
			}
		}
		if found < told[0] || found > told[1] || outside > runs/30 || wrong > told[1]/100 {
			t.Errorf("ratio %v: told in %d of %d runs, want %v; in %d outside the interval, in %d on the wrong side",
				ratio, found, runs, told, outside, wrong)
		}
	}
}

// TestVersusMoreRounds wants no verdict that more of the same rounds take back.
func TestVersusMoreRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	base, other := noisyRounds(rng, 40, 1.05)
	before := versus(base, other)
	for range 3 {
		base, other = append(base, base...), append(other, other...)
		v := versus(base, other)
		if !v.told() || v.Hi-v.Lo > before.Hi-before.Lo || v.P > before.P {
			t.Errorf("%v after %v", v, before)
		}
		before = v
	}
}

func TestVersusFewRounds(t *testing.T) {
	if v := versus(nil, []float64{1}); v != nil {
		t.Errorf("no round: %v", v)
	}
	for n := 1; n <= enoughRounds; n++ {
		base, other := make([]float64, n), make([]float64, n)
		for i := range n {
			base[i], other[i] = 2+float64(i)/100, 1
		}
		v := versus(base, other)
		if v.tooFew() != (n < enoughRounds) || v.Lo != 2 || v.Hi != base[n-1] || v.told() && v.tooFew() {
			t.Errorf("%d rounds: %+v", n, v)
		}
		if want := 1 - math.Pow(2, float64(1-n)); n < enoughRounds && v.Confidence != want {
			t.Errorf("%d rounds: confidence %v, want %v", n, v.Confidence, want)
		}
	}
	same := versus([]float64{1, 1, 1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1})
	if same.told() || same.Ratio != 1 || same.P != 1 {
		t.Errorf("equal samples: %+v", same)
	}
}
