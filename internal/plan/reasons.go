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
		"nowhere: K is one block",
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
	fmt.Fprintf(t, "sums     wait %s", keeperSays[g.Sums])
	if g.Slabs.Ranges > 1 && g.Share == BySlabs {
		t.WriteString(", and those of ranges of K in memory of the engine")
	}
	t.WriteByte('\n')
	fmt.Fprintf(t, "plan     %v\n", g)
	q.others(t, g)
}

// mega returns millions, to three digits.
func mega(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x/1e6, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// says returns what w means for q, of which g is the plan by slabs.
func (q *Problem) says(w refusal, g *Plan) string {
	workers := q.AtOnce()
	switch w {
	case manyRows:
		most, held := q.mostRows()
		s := fmt.Sprintf("%d rows are to be at most %d", q.M, most)
		if held {
			s += fmt.Sprintf(", as B takes no more than %.2g of second-level caches",
				q.On.Columns[q.Crowd(workers)].part[q.FormB])
		}
		return s
	case smallB:
		return fmt.Sprintf("B has %d elements, and is to have %d", q.N*q.K, streamMin)
	case turnedC:
		return "C lies transposed"
	case liesNear:
		return "B is multiplied where it lies"
	case longA:
		return "a barrier does not count so many bytes of A"
	case muchEach:
		return fmt.Sprintf("%s MFLOP of each worker are to be at most %s",
			mega(q.flops()/float64(workers)), mega(q.each(g, workers)))
	case muchWork:
		return fmt.Sprintf("%s MFLOP are to be at most %s, or A and B to stay in second-level caches",
			mega(q.flops()), mega(q.On.nearFlops))
	case farA:
		return fmt.Sprintf("%.0f KiB of A, of a block of K, are to be at most %d, or B a panel, or both to stay in "+
			"second-level caches", q.blockBytesA(g)/(1<<10), nearRows>>10)
	case packsAgain:
		return "each of them would pack A again"
	}
	return "their sums have no room"
}

// others says why q is not shared otherwise than g has it.
func (q *Problem) others(t *strings.Builder, g *Plan) {
	c := q.Crowd(q.Procs) // Workers is 1 of what stays with its caller
	counted := func() string {
		s := mega(q.flops()) + " MFLOP"
		if q.counted(c) != q.flops() {
			s += " count as " + mega(q.counted(c))
		}
		return s + ", and up to " + mega(q.On.shared[c])
	}
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
		fmt.Fprintf(t, "no other: %s stay with their caller\n", counted())
		return
	case q.Procs == 1 && (refused == packsAgain || refused == noRoom):
		say("caller", "panels of A and sums have no room")
	case q.Procs == 1:
	case q.Alone(c):
		say("more workers", counted()+" stay with their caller")
	default:
		say("caller", counted()+" stay with it")
	}
	switch {
	case g.Share == ByColumns:
	case columns == fits:
		say("columns", fmt.Sprintf("slabs come first if C has at most %d columns, or fewer panels than workers", nearCols))
	default:
		say("columns", q.says(columns, &slabs))
	}
	switch {
	case g.Share <= BySlabs:
	case refused == fits:
		say("slabs", "columns come first, as B is read but once for so few rows")
	default:
		say("slabs", q.says(refused, &slabs))
	}
	if g.Share != ByRing {
		say("ring", "it copies A and B for all, which is for what none of the others may compute")
	}
}
