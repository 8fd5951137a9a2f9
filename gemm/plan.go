package gemm

import "fmt"

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

// slabCut cuts C into slabs.
type slabCut struct {
	rows, cols int
	across     int // slabs side by side, of the same rows
	count      int // of each range of K
	ranges     int // of K, 1 if it is not shared out
	span       int // blocks of a range
}

// columnCut cuts B for workers that share out its columns: what one takes at a time is a slab, a range of
// columns, of an item, a part of K.
type columnCut struct {
	cols      int // of a slab
	block     int // columns of a slab at a time, which scratch memory bounds
	slabs     int
	panelsA   int
	steps     int // blocks of K
	each      int // steps of a block of sums, or 1 if a step has several of those
	items     int // parts of K
	span      int // steps of an item
	jobPanels int // panels of A in a copy job, of a step after the other

	alongTiles, alongSteps int // of columns read as rows: tiles and steps of a panel of A before the next
}

// ringCut cuts a product into the tiles, stages, slabs and copy jobs of a grid.
//
//	C, M x N            a cluster tile: ctas x bm rows, bn columns
//	+-----+-----+       +------------------+  CTA 0   cut into slabs of
//	|tile |     |       |  slab  |  slab   |          slabRows x slabCols,
//	+-----+-----+       +------------------+          each computed by one
//	|     |     |       |  slab  |  slab   |          worker at a time
//	+-----+-----+       +==================+
//	                    |  ...             |  CTA 1
//
// A stage holds, bk elements of K deep, every CTA's panels of A and the panels
// of B that all CTAs of the cluster share.
type ringCut struct {
	extentK        int // K of the product
	tilesM, tilesN int
	ctas           int
	bm, bn, bk     int // CTA rows, columns, elements of K in a stage
	steps          int // stages of a tile
	blockK         int // elements of K in a block
	blockSteps     int // stages of a block
	rowSlabs       int // slabs of a CTA: rowSlabs x colSlabs
	colSlabs       int
	slabRows       int
	slabCols       int
	jobRows        int // rows of A in one copy job
	jobCols        int // columns of B in one copy job
	depth          int
	workers        int
	bytesA, bytesB int // of a stage: one CTA's A, the cluster's B
	bytesAcc       int // accumulators of a cluster tile
	bytesChain     int // those of an unfinished block, laid out like them, if blocks have several stages
}

// tinyPlan is that of all that is too small to think about.
var tinyPlan = Plan{workers: 1}
