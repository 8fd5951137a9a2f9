package bench

import (
	"fmt"
	"slices"
)

// scaling is the column of [Result.Scaling].
var scaling = column{"scaling", func(r *Result) string {
	if r.Scaling == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", r.Scaling)
}}

// hasScaling reports whether a result has a scaling.
func (r *Report) hasScaling() bool {
	return slices.ContainsFunc(r.Results, func(s Result) bool { return s.Scaling != 0 })
}

// footnotes say how to read the columns that not every table has.
func (r *Report) footnotes() []string {
	var lines []string
	if slices.ContainsFunc(r.Results, func(s Result) bool { return s.Depth == 0 }) {
		lines = append(lines, "depth auto(n): left to the engine, which took n stages")
	}
	if slices.ContainsFunc(r.Results, func(s Result) bool { return s.Callers > 1 }) {
		lines = append(lines, "callers: goroutines that multiply at once; "+
			"median: of the time that a call takes its caller; GFLOP/s: of all callers")
	}
	if len(byDepth.baselines(r)) > 0 {
		lines = append(lines, "vs depth 1: median of depth 1's time / this depth's in the same round, "+
			"its interval, and p of a U test that neither is faster")
	}
	if len(byPlain.baselines(r)) > 0 {
		lines = append(lines,
			"vs plain: median of the time without scales, bias and activation / this time in the same round")
	}
	if r.hasScaling() {
		lines = append(lines, "scaling: GFLOP/s / GFLOP/s of the same with 1 worker and 1 caller, "+
			"or with either where only that was measured")
	}
	return lines
}

// A team is what scaling compares.
type team struct{ workers, callers int }

// scale sets the scaling of results, those of x's cases, if workers or callers
// vary. Variants are compared as they were asked for: where the depth was left
// to the engine, it depends on the workers.
func (x *run) scale(results []Result) {
	teamOf := func(c *caseRun) team { return team{c.workers, c.v.callers()} }
	type place struct {
		Variant
		team
	}
	placeOf := func(c *caseRun, t team) place {
		v := c.v
		v.Workers, v.Callers = 0, 0
		return place{v, t}
	}
	speed, vary := map[place]float64{}, false
	for i, c := range x.cases {
		t := teamOf(c)
		vary = vary || t != teamOf(x.cases[0])
		if at := placeOf(c, t); speed[at] == 0 {
			speed[at] = results[i].GFLOPS
		}
	}
	if !vary {
		return
	}
	for i, c := range x.cases {
		t := teamOf(c)
		for _, one := range []team{{1, 1}, {1, t.callers}, {t.workers, 1}} {
			if base := speed[placeOf(c, one)]; base > 0 {
				results[i].Scaling = results[i].GFLOPS / base
				break
			}
		}
	}
}
