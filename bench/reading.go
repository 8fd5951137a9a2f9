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
	groups := r.byDepth()
	lines := readGroups(groups)
	if len(groups) > maxGroups {
		lines = summarise(groups)
	} else if len(groups) > 1 {
		for i, g := range groups {
			if lines[i] != "" {
				lines[i] = r.describe(g[0], true) + ": " + lines[i]
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	load := r.Load.String()
	for _, p := range r.Peak {
		if mid := p.Median(); p.LowerBound {
			lines = append(lines, fmt.Sprintf("The threads that measured the peak of %s on %s never had a millisecond together: it is higher.",
				p.Kernel, plural(p.Workers, "worker")))
		} else if load == "" && mid < 0.9*p.GFLOPS {
			lines = append(lines, fmt.Sprintf("Half of the measurements of the peak of %s on %s reached less than %s of the best: the clock changes.",
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
		lines = append(lines, fmt.Sprintf("No product beats the peak: at %s of it the peak was measured too low, which is a bug; trust GFLOP/s, not fractions.",
			percent(top)))
	}
	return lines
}

// impossible is the fraction of the peak above which the peak must be wrong;
// below, clocks that differ from one minute to the next explain it.
const impossible = 1.02

// maxGroups is the number of groups up to which each gets a sentence.
const maxGroups = 4

func readGroups(groups [][]*Result) []string {
	var lines []string
	for _, g := range groups {
		lines = append(lines, readDepths(g))
	}
	return lines
}

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

func fastest(g []*Result) *Result {
	return slices.MinFunc(g, func(a, b *Result) int { return cmp.Compare(a.SecondsMedian, b.SecondsMedian) })
}

// byDepth returns the results in groups that differ in depth alone, in order. A
// wrong result is in no group: its speed means nothing.
func (r *Report) byDepth() [][]*Result {
	var groups [][]*Result
	place := map[group]int{}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Checked && !res.Verified {
			continue
		}
		g := withoutDepth(res)
		at, ok := place[g]
		if !ok {
			at = len(groups)
			place[g] = at
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
	var one *Result
	for _, r := range g {
		if r.Depth == 1 && one == nil {
			one = r
		}
	}
	best := fastest(g)
	var b strings.Builder
	fmt.Fprintf(&b, "Depth %s was the fastest, at %s of the peak", depthCell(best), percent(best.PeakFraction))
	switch rest := slices.DeleteFunc(slices.Clone(g), func(r *Result) bool { return r.Depth == 1 }); {
	case one == nil:
	case best.Depth != 1:
		fmt.Fprintf(&b, ": %v", versus(one.Samples, best.Samples))
	case len(rest) > 0:
		next := fastest(rest)
		fmt.Fprintf(&b, ", and depth %s next: %v", depthCell(next), versus(one.Samples, next.Samples))
	}
	b.WriteString(".")
	var same []string
	rounds, few := 0, false
	for _, r := range g {
		if r == best {
			continue
		}
		v := versus(r.Samples, best.Samples)
		if v == nil {
			continue
		}
		rounds, few = v.Rounds, few || v.tooFew()
		if !v.told() {
			same = append(same, depthCell(r))
		}
	}
	switch {
	case few:
		fmt.Fprintf(&b, " %s are too few to tell depths apart; from %d on (-count) there is a %.3g %% interval.",
			plural(rounds, "round"), enoughRounds, 100*Confidence)
	case len(same) == 0:
	case len(same) == len(g)-1:
		b.WriteString(" No other depth can be told from it in these rounds.")
	default:
		noun := "depth"
		if len(same) > 1 {
			noun = "depths"
		}
		fmt.Fprintf(&b, " In these rounds it cannot be told from %s %s.", noun, strings.Join(same, ", "))
	}
	return b.String()
}
