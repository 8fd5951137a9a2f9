package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

func (f Form) String() string { return [...]string{"in rows", "along K", "packed"}[f] }

// Explain writes what g does for q, for which it was chosen, and why not otherwise.
func (q *Problem) Explain(t *strings.Builder, g *Plan) {
	fmt.Fprintf(t, "shared   %s\nA        %s\nB        %s\nsums     wait %s",
		sharings[g.Share].says, sourcesA[g.A].says, sourcesB[g.B].says, keepers[g.Sums].says)
	if g.Slabs.Ranges > 1 && g.Share == BySlabs {
		t.WriteString(", and those of ranges of K in memory of the engine")
	}
	fmt.Fprintf(t, "\nplan     %v\n", g)
	q.others(t, g)
}

// mega returns millions, to three digits.
func mega(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x/1e6, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// why returns what no means for q, of which g is the plan by slabs.
func (q *Problem) why(no refusal, g *Plan) string {
	switch workers := q.AtOnce(); no {
	case manyRows:
		most, held := q.mostRows()
		s := fmt.Sprintf("%d rows are to be at most %d", q.M, most)
		if held {
			s += fmt.Sprintf(", as B takes no more than %.2g of second-level caches",
				q.On.columns[CrowdOf(workers)].part[q.FormB])
		}
		return s
	case smallB:
		return fmt.Sprintf("B has %d elements, and is to have %d", q.N*q.K, streamMin)
	case liesNear:
		return "B is multiplied where it lies"
	case longA:
		return "a barrier does not count so many bytes of A"
	case slabsFirst:
		return "slabs come first: C or its panels are few"
	case muchEach:
		return fmt.Sprintf("%s MFLOP of each worker are to be at most %s",
			mega(q.Flops()/float64(workers)), mega(q.each(g, workers)))
	case muchWork:
		return fmt.Sprintf("%s MFLOP are to be at most %s, or A and B to stay in second-level caches",
			mega(q.Flops()), mega(q.On.nearFlops))
	case farA:
		return fmt.Sprintf("%.0f KiB of A, of a block of K, are to be at most %d, or B a panel, or both to stay in "+
			"second-level caches", q.blockBytesA(g)/(1<<10), nearRows>>10)
	case columnsFirst:
		return "columns come first, as B is read once for so few rows"
	case packsAgain:
		return "each of them would pack A again"
	}
	return "their sums have no room"
}

// others says why q is not shared otherwise than g has it.
func (q *Problem) others(t *strings.Builder, g *Plan) {
	c := CrowdOf(q.Procs) // Workers is 1 of what stays with its caller
	work := mega(q.Flops()) + " MFLOP"
	if counted := mega(q.counted(c)); counted != mega(q.Flops()) {
		work += " count as " + counted
	}
	work += ", and up to " + mega(q.On.shared[c]) + " stay with "
	say := func(what, why string) { fmt.Fprintf(t, "not by   %s: %s\n", what, why) }
	columns := q.refusesColumns()
	slabs, refused := q.planSlabs()
	switch {
	case g.B == DotsOfB:
		fmt.Fprintf(t, "no other: %d elements of C by so deep a K are dot products; "+
			"%.0f KiB of A and B, and less than %d stay with their caller\n",
			q.M*q.N, q.dotBytes()/(1<<10), 2*dotShare>>10)
		return
	case g.Share == ByCaller && q.Alone(c):
		fmt.Fprintf(t, "no other: %stheir caller\n", work)
		return
	case q.Procs > 1 && q.Alone(c):
		say("more workers", work+"their caller")
	case q.Procs > 1:
		say("caller", work+"it")
	case refused >= packsAgain:
		say("caller", "panels of A and sums have no room")
	}
	if g.Share != ByColumns {
		say("columns", q.why(cmp.Or(columns, slabsFirst), &slabs))
	}
	if g.Share > BySlabs {
		say("slabs", q.why(cmp.Or(refused, columnsFirst), &slabs))
	}
	if g.Share != ByRing {
		say("ring", "it copies A and B for all, which is for what none of the others may compute")
	}
}
