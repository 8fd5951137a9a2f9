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
// it. It says so where the peak moved while it was measured, or must be wrong.
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
			lines = append(lines, fmt.Sprintf("The threads that measured the peak of %s on %s never had a millisecond together: it is higher.", p.Kernel, plural(p.Workers, "worker")))
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
		lines = append(lines, fmt.Sprintf("No product beats the peak: at %s of it the peak was measured too low, which is a bug; trust GFLOP/s, not fractions.", percent(top)))
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

// noisy is the spread of samples beyond which depths are not compared.
const noisy = 0.3

func readDepths(g []*Result) string {
	if !severalDepths(g) {
		return ""
	}
	best, one, spread := fastest(g), (*Result)(nil), 0.0
	for _, r := range g {
		if r.Depth == 1 && one == nil {
			one = r
		}
		spread = max(spread, r.Spread())
	}
	if spread > noisy {
		return fmt.Sprintf("The samples of one depth spread by up to %s: the machine was busy, and this comparison says little.", percent(spread))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Depth %s was the fastest, at %s of the peak", depthCell(best), percent(best.PeakFraction))
	if one != nil && best.Depth != 1 {
		wins, of := wins(best, one)
		fmt.Fprintf(&b, ": %.3fx depth 1, faster in %d of %s", one.SecondsMedian/best.SecondsMedian, wins, plural(of, "round"))
	}
	b.WriteString(".")
	var same []string
	for _, r := range g {
		if r != best && !distinct(best, r) {
			same = append(same, depthCell(r))
		}
	}
	switch {
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

// wins returns in how many of the rounds a was faster than b.
func wins(a, b *Result) (wins, rounds int) {
	rounds = min(len(a.Samples), len(b.Samples))
	for i := range rounds {
		if a.Samples[i] < b.Samples[i] {
			wins++
		}
	}
	return wins, rounds
}

// distinct reports whether a was faster than b in every round, of which there
// must be at least 5: were they equally fast, that would happen once in 32 times.
func distinct(a, b *Result) bool {
	w, n := wins(a, b)
	return n >= 5 && w == n
}
