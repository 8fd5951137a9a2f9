package plan

import (
	"fmt"
	"strconv"
	"strings"
)

var (
	formNames   = [...]string{"in rows", "along K", "packed"}
	sharingSays = [...]string{
		"by nobody: its caller computes it",
		"by slabs of C, for which each worker fetches what they need",
		"by columns of B, by which each worker multiplies all of A",
		"by a ring, whose slots workers fill and multiply from",
	}
	sourceASays = [...]string{
		"from where it lies",
		"from panels that who computes packs",
		"from panels in slots, packed once for all",
	}
	sourceBSays = [...]string{
		"from where it lies, by tiles of any width",
		"once, from where it lies or is packed, by kernels for few rows",
		"from where it lies, its columns as rows of A",
		"from the panels that were packed before",
		"from panels that who computes packs first",
		"from panels that are packed behind the products of those before",
		"from pieces that the kernel packs as it multiplies",
		"from panels in slots, packed once for all",
		"as blocks of K side by side, as A, too",
	}
	keeperSays = [...]string{
		"nowhere: the kernel adds up all of K",
		"in C",
		"in memory of who computes",
		"in memory of the engine",
	}
)

func (f Form) String() string { return formNames[f] }

// Explain writes what g does for q, for which it was chosen, and why not otherwise.
func (q *Problem) Explain(t *strings.Builder, g *Plan) {
	fmt.Fprintf(t, "shared   %s\n", sharingSays[g.Share])
	fmt.Fprintf(t, "A        %s\n", sourceASays[g.A])
	fmt.Fprintf(t, "B        %s\n", sourceBSays[g.B])
	fmt.Fprintf(t, "sums     wait %s\n", keeperSays[g.Sums])
	fmt.Fprintf(t, "plan     %v\n", g)
	q.others(t, g)
}

// mega returns millions, to three digits.
func mega(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x/1e6, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// others says why q is not shared otherwise than g has it.
func (q *Problem) others(t *strings.Builder, g *Plan) {
	workers := q.Procs
	c := q.Crowd(workers)
	say := func(what string, is bool, format string, args ...any) {
		if !is {
			fmt.Fprintf(t, "not by   %s: %s\n", what, fmt.Sprintf(format, args...))
		}
	}
	if g.B == DotsOfB {
		fmt.Fprintf(t, "no other: %d elements of C by so deep a K are dot products; "+
			"%.0f KiB of A and B, and less than %d stay with their caller\n",
			q.M*q.N, q.dotBytes()/(1<<10), 2*dotShare>>10)
		return
	}
	if g.Share == ByCaller && q.Alone(c) {
		fmt.Fprintf(t, "no other: %s MFLOP count as %s, and up to %s stay with their caller\n",
			mega(q.flops()), mega(q.counted(c)), mega(q.On.shared[c]))
		return
	}
	say("caller", g.Share == ByCaller, "%s MFLOP count as %s, and up to %s stay with it",
		mega(q.flops()), mega(q.counted(c)), mega(q.On.shared[c]))
	rows := &q.On.Columns[c]
	say("columns", g.Share == ByColumns, "%d rows are to be at most %d, or %d if B takes at most %.2g of the caches; "+
		"it has %d elements, and is to have %d",
		q.M, rows.Most[q.FormB], rows.held[q.FormB], rows.part[q.FormB], q.N*q.K, streamMin)
	switch each := q.each(g, workers); {
	case g.Share == ByColumns:
		say("slabs", false, "of so few rows B is read but once")
	case each > 0:
		say("slabs", g.Share <= BySlabs, "%s MFLOP of each worker are to be at most %s",
			mega(q.flops()/float64(workers)), mega(each))
	default:
		say("slabs", g.Share <= BySlabs,
			"A and B are to be at most %.3g and %.3g second-level caches of each worker, or A %d KiB, or B a panel",
			q.On.nearA, q.On.nearB, nearRows>>10)
	}
	say("ring", g.Share == ByRing, "it is for what is too large for the others")
}
