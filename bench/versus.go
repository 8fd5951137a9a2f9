package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of the intervals of ratios, and 1 - Confidence that of the tests:
// high, because five depths are compared with one.
const Confidence = 0.99

// A Versus says how much faster a variant is than a like one, its base, by the ratios of
// their times within each round. The JSON names are an interface.
type Versus struct {
	Ratio      float64 `json:"ratio"` // median of the base's seconds over these
	Lo         float64 `json:"lo"`    // confidence interval of that median, which assumes nothing
	Hi         float64 `json:"hi"`    // of how the ratios are distributed
	Confidence float64 `json:"confidence"`
	P          float64 `json:"p"` // of a test that neither is faster
	Rounds     int     `json:"rounds"`
}

var thresholds = benchmath.Thresholds{CompareAlpha: 1 - Confidence}

// versus compares samples of the same rounds, in their order. The ratios of a round share its
// load and clock. Were neither faster, a ratio would be as likely as its inverse: so the
// test, a Mann-Whitney U test, is of the ratios of every other round against the inverses of
// those of the rounds between. It is nil without a round.
func versus(base, other []float64) *Versus {
	n := min(len(base), len(other))
	if n == 0 {
		return nil
	}
	var ratios []float64
	var sides [2][]float64
	for i := range n {
		r := base[i] / other[i]
		ratios = append(ratios, r)
		if i%2 == 1 {
			r = 1 / r
		}
		sides[i%2] = append(sides[i%2], r)
	}
	sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &thresholds), Confidence)
	v := &Versus{Ratio: sum.Center, Lo: sum.Lo, Hi: sum.Hi, Confidence: sum.Confidence, P: 1, Rounds: n}
	if math.IsInf(v.Lo, 0) || math.IsInf(v.Hi, 0) {
		// The median is outside the range of all if they lie on one side of it.
		v.Lo, v.Hi, v.Confidence = slices.Min(ratios), slices.Max(ratios), 1-math.Pow(2, float64(1-n))
	}
	if n > 1 {
		even, odd := benchmath.NewSample(sides[0], &thresholds), benchmath.NewSample(sides[1], &thresholds)
		v.P = benchmath.AssumeNothing.Compare(even, odd).P
	}
	return v
}

// told reports whether the rounds tell the two apart: the interval and the test both do.
func (v *Versus) told() bool {
	return !v.tooFew() && (v.Lo > 1 || v.Hi < 1) && v.P < thresholds.CompareAlpha
}

// tooFew reports whether there are too few rounds for the interval.
func (v *Versus) tooFew() bool { return v.Confidence < Confidence }

// enoughRounds is the smallest number of rounds for which there is an interval.
var enoughRounds = int(math.Ceil(1 - math.Log2(1-Confidence)))

// interval returns the interval as text.
func (v *Versus) interval() string { return fmt.Sprintf("%.3f to %.3f", v.Lo, v.Hi) }

// probability returns P as text.
func (v *Versus) probability() string {
	if v.P < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", v.P)
}

// String returns the ratio and how sure it is.
func (v *Versus) String() string {
	p := "= " + v.probability()
	if v.P < 0.001 {
		p = v.probability()
	}
	return fmt.Sprintf("%.3fx depth 1 (%.3g %% interval %s, p %s, %s)",
		v.Ratio, 100*v.Confidence, v.interval(), p, plural(v.Rounds, "round"))
}

// A comparison is of results that have their places on some axes the same with that one of them which is their base.
type comparison struct {
	same []column
	base func(*Result) bool
}

var (
	byDepth = comparison{slices.Concat(axes, asides), func(r *Result) bool { return r.Depth == 1 }}
	byPlain = comparison{withoutEpilogue(slices.Concat(axes, asides, []column{depthAxis})), func(r *Result) bool {
		return r.Scales == "" && !r.Bias && r.Activation == ""
	}}
)

func withoutEpilogue(axes []column) []column {
	return slices.DeleteFunc(axes, func(a column) bool {
		return a.name == "scales" || a.name == "bias" || a.name == "activation"
	})
}

// baselines returns the base of each group that has one, and others.
func (c comparison) baselines(r *Report) map[string]*Result {
	base, several := map[string]*Result{}, map[string]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		if k := key(res, c.same); c.base(res) {
			base[k] = res
		} else {
			several[k] = true
		}
	}
	maps.DeleteFunc(base, func(k string, _ *Result) bool { return !several[k] })
	return base
}

// versus compares res with its base, or returns nil if that was not measured, or is res.
func (c comparison) versus(base map[string]*Result, res *Result) *Versus {
	if one := base[key(res, c.same)]; one != nil && one != res {
		return versus(one.Samples, res.Samples)
	}
	return nil
}
