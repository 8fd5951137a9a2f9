package gemm

import (
	"fmt"
	"sync/atomic"
)

// A Plan is how a product is computed: what was chosen for a problem on four axes, and how it is cut. What runs
// it decides nothing. No choice changes a bit of the result.
type Plan struct {
	share   sharing
	a       sourceA
	b       sourceB
	sums    keeper
	workers int  // who compute
	past    bool // C is larger than the caches
	depth   int  // elements of K of a panel of B
	group   int  // panels of B that are packed one after the other
	slabs   slabCut
	columns columnCut
	ring    ringCut
}

// sharing says who shares a product.
type sharing uint8

const (
	byCaller  sharing = iota // the caller computes it
	bySlabs                  // workers take slabs of C
	byColumns                // workers take columns of B, and all of A
	byRing                   // workers fill and empty the slots of a ring
)

// sourceA says where the kernels read A.
type sourceA uint8

const (
	rowsOfA   sourceA = iota // where it lies
	panelsOfA                // in panels that who computes has packed
	slotsOfA                 // in panels in slots
)

// sourceB says where the kernels read B.
type sourceB uint8

const (
	unpackedB sourceB = iota // as it lies, by tiles of any width
	streamedB                // as it lies or is packed, by kernels for few rows
	alongB                   // its columns as rows of A
	storedB                  // in the panels of a Packed
	packedB                  // in panels that who computes has packed
	behindB                  // in panels that it packs behind the products of those before
	sweptB                   // in pieces that the kernel packs as it multiplies those before
	slotsOfB                 // in panels in slots
	dotsOfB                  // in panels of blocks of K side by side, and A, too
)

// keeper says where sums wait for more of K.
type keeper uint8

const (
	inRegisters keeper = iota // nowhere: K is one block
	inC                       // in C
	inScratch                 // in memory of who computes
	inEngine                  // in memory of the engine
)

var (
	sharingNames = [...]string{"caller", "slabs", "columns", "ring"}
	sourceANames = [...]string{"rows", "panels", "slots"}
	sourceBNames = [...]string{"unpacked", "streamed", "along", "stored", "packed", "behind", "swept", "slots", "dots"}
	keeperNames  = [...]string{"registers", "C", "scratch", "engine"}
)

// lies reports whether kernels read B where it lies.
func (b sourceB) lies() bool { return b <= streamedB }

func (s sharing) String() string { return sharingNames[s] }
func (a sourceA) String() string { return sourceANames[a] }
func (b sourceB) String() string { return sourceBNames[b] }
func (k keeper) String() string  { return keeperNames[k] }

// String says who shares · A · B · sums, and the cut.
func (g *Plan) String() string {
	s := fmt.Sprintf("%v · A %v · B %v · sums %v", g.share, g.a, g.b, g.sums)
	switch g.share {
	case bySlabs:
		s += fmt.Sprintf(" · %d workers, %d slabs of %dx%d", g.workers, g.slabs.count, g.slabs.rows, g.slabs.cols)
		if g.slabs.ranges > 1 {
			s += fmt.Sprintf(" by %d ranges of %d blocks of K", g.slabs.ranges, g.slabs.span)
		}
	case byColumns:
		c := &g.columns
		s += fmt.Sprintf(" · %d workers, %d slabs of %d columns, %d at a time, %d parts of K in steps of %d", g.workers, c.slabs, c.cols, c.block, c.items, g.depth)
	case byRing:
		r := &g.ring
		s += fmt.Sprintf(" · %d workers, tiles of %dx%dx%dx%d, slabs of %dx%d, depth %d", g.workers, r.ctas, r.bm, r.bn, r.bk, r.slabRows, r.slabCols, r.depth)
	}
	return s
}

// tinyPlan is that of all that is too small to think about.
var tinyPlan = Plan{workers: 1}

// plans keeps the plans of an engine's problems: the last of those that come to lie in the same place.
type plans [256]atomic.Pointer[planned]

type planned struct {
	problem
	plan Plan
}

// plan returns how to compute p. A product that is worth sharing asks how many there are to share it.
func (e *Engine) plan(p *product, s *settings) *Plan {
	p.survey(here, s)
	q := &p.problem
	if !q.alone(many) {
		q.workers, q.procs, q.waits = s.workerCount(), s.processors(), s.ctx != nil
		if q.alone(q.crowd(q.atOnce())) {
			q.workers, q.waits = 1, false
		}
	}
	at := &e.plans[q.hash()%uint(len(e.plans))]
	if last := at.Load(); last != nil && last.problem == *q {
		return &last.plan
	}
	now := &planned{problem: *q, plan: choose(q)}
	at.Store(now)
	return &now.plan
}

// hash returns a number that problems have which are equal, and few others. A small product notices multiplications
// that wait for each other.
func (q *problem) hash() uint {
	h := uint(q.m)*0x9e3779b1 + uint(q.n)*0x85ebca6b + uint(q.k)*0xc2b2ae35 + uint(q.workers)*0x27d4eb2f + uint(q.elem)*0x165667b1 + uint(q.formB)*0x61c88647
	return h>>20 ^ h>>9
}
