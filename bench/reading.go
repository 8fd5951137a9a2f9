package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reading says in a sentence or two what the numbers show, and what they do not:
// for each group of results that differ in depth alone, the fastest depth, by
// how much and how surely it beats depth 1, and which depths cannot be told from
// it. It says so where the process did not get its cores, or a peak must be wrong.
func (r *Report) Reading() []string {
	groups := r.groupsByDepth()
	var lines []string
	if len(groups) > maxGroups {
		lines = summarise(groups)
	} else {
		for _, g := range groups {
			switch line := readDepths(g); {
			case line != "" && len(groups) > 1:
				lines = append(lines, r.describe(g[0], true)+": "+line)
			case line != "":
				lines = append(lines, line)
			}
		}
	}
	load := r.Load.String()
	for _, p := range r.Peak {
		if mid := p.Median(); p.LowerBound {
			lines = append(lines, fmt.Sprintf("The threads that measured the peak of %s on %s "+
				"never had a millisecond together: it is higher.",
				p.Kernel, plural(p.Workers, "worker")))
		} else if load == "" && mid < 0.9*p.GFLOPS {
			lines = append(lines, fmt.Sprintf("Half of the measurements of the peak of %s on %s "+
				"reached less than %s of the best: the clock changes.",
				p.Kernel, plural(p.Workers, "worker"), percent(mid/p.GFLOPS)))
		}
	}
	if load != "" {
		lines = append(lines, load)
	}
	top := 0.0
	for i := range r.Results {
		top = max(top, r.Results[i].PeakFraction)
	}
	if top > impossible {
		lines = append(lines, fmt.Sprintf("No product beats the peak: at %s of it the peak was measured too low, "+
			"which is a bug; trust GFLOP/s, not fractions.",
			percent(top)))
	}
	return lines
}

// impossible is the fraction of the peak above which the peak must be wrong;
// below, clocks that differ from one minute to the next explain it.
const impossible = 1.02

// maxGroups is the number of groups up to which each gets a sentence.
const maxGroups = 4

// summarise counts how often each depth was the fastest of its group.
func summarise(groups [][]*Result) []string {
	count := map[int]int{}
	for _, g := range groups {
		if severalDepths(g) {
			count[fastest(g).Depth]++
		}
	}
	var parts []string
	for _, depth := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s in %s", depthName(depth), plural(count[depth], "case")))
	}
	if parts == nil {
		return nil
	}
	return []string{"Fastest depth: " + strings.Join(parts, ", ") + "; the table says by how much."}
}

// severalDepths reports whether g has results of more than one asked depth.
func severalDepths(g []*Result) bool {
	return slices.ContainsFunc(g, func(r *Result) bool { return r.Depth != g[0].Depth })
}

// depth1 returns the first of g with depth 1, or nil.
func depth1(g []*Result) *Result {
	if i := slices.IndexFunc(g, func(r *Result) bool { return r.Depth == 1 }); i >= 0 {
		return g[i]
	}
	return nil
}

// fastest returns the fastest of g: beside depth 1 by the ratios within a round, which say more than medians.
func fastest(g []*Result) *Result { return fastestBeside(depth1(g), g) }

func fastestBeside(one *Result, g []*Result) *Result {
	return slices.MinFunc(g, func(a, b *Result) int {
		if one != nil {
			if v, w := versus(one.Samples, a.Samples), versus(one.Samples, b.Samples); v != nil && w != nil {
				return cmp.Compare(w.Ratio, v.Ratio)
			}
		}
		return cmp.Compare(a.SecondsMedian, b.SecondsMedian)
	})
}

// groupsByDepth returns the results in groups that differ in depth alone, in order. A
// wrong result is in no group: its speed means nothing.
func (r *Report) groupsByDepth() [][]*Result {
	var groups [][]*Result
	place := map[string]int{}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Checked && !res.Verified {
			continue
		}
		k := key(res, byDepth.same)
		at, ok := place[k]
		if !ok {
			at = len(groups)
			place[k] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], res)
	}
	return groups
}

func readDepths(g []*Result) string {
	if !severalDepths(g) {
		return ""
	}
	best, one := fastest(g), depth1(g)
	var b strings.Builder
	fmt.Fprintf(&b, "Depth %s was the fastest, at %s of the peak", depthCell(best), percent(best.PeakFraction))
	if one != nil {
		if best.Depth != 1 {
			fmt.Fprintf(&b, ": %v", versus(one.Samples, best.Samples))
		} else {
			next := fastestBeside(one, slices.DeleteFunc(slices.Clone(g), func(r *Result) bool { return r.Depth == 1 }))
			fmt.Fprintf(&b, ", and depth %s next: %v", depthCell(next), versus(one.Samples, next.Samples))
		}
	}
	b.WriteString(".")
	rounds := min(len(g[0].Samples), len(best.Samples))
	if rounds < enoughRounds {
		few := fmt.Sprintf("%d rounds are", rounds)
		if rounds == 1 {
			few = "1 round is"
		}
		fmt.Fprintf(&b, " %s too few to tell depths apart; from %d on (-count) there is a %.3g %% interval.",
			few, enoughRounds, 100*Confidence)
		return b.String()
	}
	var same, faster, slower []string
	for _, r := range g {
		if r != best && !versus(r.Samples, best.Samples).told() {
			same = append(same, depthCell(r))
		}
		if one == nil || r == one {
			continue
		}
		if v := versus(one.Samples, r.Samples); v.told() && v.Ratio > 1 {
			faster = append(faster, depthCell(r))
		} else if v.told() {
			slower = append(slower, depthCell(r))
		}
	}
	if len(same) == len(g)-1 {
		b.WriteString(" No other depth can be told from it in these rounds.")
	} else if len(same) > 0 {
		fmt.Fprintf(&b, " In these rounds it cannot be told from %s.", depthList(same))
	}
	if len(faster) > 0 {
		fmt.Fprintf(&b, " Faster than depth 1 at the 1 %% level: %s.", depthList(faster))
	}
	if len(slower) > 0 {
		fmt.Fprintf(&b, " Slower than depth 1 at the 1 %% level: %s.", depthList(slower))
	}
	return b.String()
}

// depthList names depths.
func depthList(names []string) string {
	noun := "depth "
	if len(names) > 1 {
		noun = "depths "
	}
	return noun + strings.Join(names, ", ")
}
