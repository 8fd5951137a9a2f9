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
