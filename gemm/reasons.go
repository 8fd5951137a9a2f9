package gemm

import (
	"fmt"
	"strings"
)

var (
	formNames   = [...]string{"in rows", "along K", "packed"}
	sharingSays = [...]string{"by nobody: its caller computes it", "by slabs of C, for which each worker fetches what they need",
		"by columns of B, by which each worker multiplies all of A", "by a ring, whose slots workers fill and multiply from"}
	sourceASays = [...]string{"from where it lies", "from panels that who computes packs", "from panels in slots, packed once for all"}
	sourceBSays = [...]string{"from where it lies, by tiles of any width", "once, from where it lies or is packed, by kernels for few rows",
		"from where it lies, its columns as rows of A", "from the panels that were packed before", "from panels that who computes packs first",
		"from panels that are packed behind the products of those before", "from pieces that the kernel packs as it multiplies",
		"from panels in slots, packed once for all", "as blocks of K side by side, as A, too"}
	keeperSays = [...]string{"nowhere: the kernel adds up all of K", "in C", "in memory of who computes", "in memory of the engine"}
)

func (f form) String() string { return formNames[f] }

// explain writes what g does for q, for which it was chosen, and why not otherwise.
func (q *problem) explain(t *strings.Builder, g *Plan) {
	fmt.Fprintf(t, "shared   %s\n", sharingSays[g.share])
	fmt.Fprintf(t, "A        %s\nB        %s\nsums     wait %s\n", sourceASays[g.a], sourceBSays[g.b], keeperSays[g.sums])
	fmt.Fprintf(t, "plan     %v\n", g)
	q.others(t, g)
}

// others says why q is not shared otherwise than g has it.
func (q *problem) others(t *strings.Builder, g *Plan) {
	workers := q.procs
	c := q.crowd(workers)
	say := func(what string, is bool, format string, args ...any) {
		if !is {
			fmt.Fprintf(t, "not by   %s: %s\n", what, fmt.Sprintf(format, args...))
		}
	}
	if g.share == byCaller && q.alone(c) {
		fmt.Fprintf(t, "no other: %.3g MFLOP count as %.3g, and up to %.3g stay with their caller\n", q.flops()/1e6, q.counted(c)/1e6, q.on.shared[c]/1e6)
		return
	}
	say("caller", g.share == byCaller, "%.3g MFLOP count as %.3g, and up to %.3g stay with it", q.flops()/1e6, q.counted(c)/1e6, q.on.shared[c]/1e6)
	rows := &q.on.columns[c]
	say("columns", g.share == byColumns, "%d rows are to be at most %d, or %d if B takes at most %.2g of the caches; it has %d elements, and is to have %d",
		q.m, rows.most[q.formB], rows.held[q.formB], rows.part[q.formB], q.n*q.k, streamMin)
	switch each := q.each(g, workers); {
	case g.share == byColumns:
		say("slabs", false, "of so few rows B is read but once")
	case each > 0:
		say("slabs", g.share <= bySlabs, "%.3g MFLOP of each worker are to be at most %.3g", q.flops()/1e6/float64(workers), each/1e6)
	default:
		say("slabs", g.share <= bySlabs, "A and B are to be at most %.3g and %.3g second-level caches of each worker, or A %d KiB", q.on.nearA, q.on.nearB, int(q.on.nearRows)>>10)
	}
	say("ring", g.share == byRing, "it is for what is too large for the others")
}
