package plan

import "fmt"

// A Plan is how a product is computed: what was chosen for a problem on four axes, and how it is cut. What runs
// it decides nothing. No choice changes a bit of the result.
type Plan struct {
	Share   Sharing
	A       SourceA
	B       SourceB
	Sums    Keeper    // of a block of K; kernels that read B where it lies add them to those before themselves
	Workers int       // who compute
	Past    bool      // C is larger than the caches
	Step    int       // elements of K of a panel of B
	Room    Room      // in scratch memory, of the largest slab
	Slabs   SlabCut   // if it is the caller's, who has one, or by slabs
	Columns ColumnCut // if it is by columns
	Ring    RingCut   // if it is by a ring
}

// Sharing says who shares a product.
type Sharing uint8

const (
	ByCaller  Sharing = iota // the caller computes it
	BySlabs                  // workers take slabs of C
	ByColumns                // workers take columns of B, and all of A
	ByRing                   // workers fill and empty the slots of a ring
)

// SourceA says where the kernels read A.
type SourceA uint8

const (
	RowsOfA   SourceA = iota // where it lies
	PanelsOfA                // in panels that who computes has packed
	SlotsOfA                 // in panels in slots
)

// SourceB says where the kernels read B.
type SourceB uint8

const (
	UnpackedB SourceB = iota // as it lies, by tiles of any width
	StreamedB                // as it lies or is packed, by kernels for few rows
	TurnedB                  // its columns as rows of A
	StoredB                  // in the panels of a Packed
	PackedB                  // in panels that who computes has packed
	BehindB                  // in panels that it packs behind the products of those before
	SweptB                   // in pieces that the kernel packs as it multiplies those before
	SlotsOfB                 // in panels in slots
	DotsOfB                  // in panels of blocks of K side by side, and A, too
)

// Keeper says where sums wait for more of K.
type Keeper uint8

const (
	InRegisters Keeper = iota // nowhere: K is one block
	InC                       // in C
	InScratch                 // in memory of who computes
	InEngine                  // in memory of the engine
)

// A wording is the name of what a plan chooses, and what it means.
type wording struct{ name, says string }

var (
	sharings = [...]wording{
		ByCaller:  {"caller", "by nobody: its caller computes it"},
		BySlabs:   {"slabs", "by slabs of C, for which each worker fetches what they need"},
		ByColumns: {"columns", "by columns of B, by which each worker multiplies all of A"},
		ByRing:    {"ring", "by a ring, whose slots workers fill and multiply from"},
	}
	sourcesA = [...]wording{
		RowsOfA:   {"rows", "from where it lies"},
		PanelsOfA: {"panels", "from panels that who computes packs"},
		SlotsOfA:  {"slots", "from panels in slots, packed once for all"},
	}
	sourcesB = [...]wording{
		UnpackedB: {"unpacked", "from where it lies, by tiles of any width"},
		StreamedB: {"streamed", "once, from where it lies or is packed, by kernels for few rows"},
		TurnedB:   {"turned", "from where it lies, its columns as rows of A"},
		StoredB:   {"stored", "from the panels that were packed before"},
		PackedB:   {"packed", "from panels that who computes packs first"},
		BehindB:   {"behind", "from panels that are packed behind the products of those before"},
		SweptB:    {"swept", "from pieces that the kernel packs as it multiplies"},
		SlotsOfB:  {"slots", "from panels in slots, packed once for all"},
		DotsOfB:   {"dots", "as blocks of K side by side, as A, too"},
	}
	keepers = [...]wording{
		InRegisters: {"registers", "nowhere: K is one block"},
		InC:         {"C", "in C"},
		InScratch:   {"scratch", "in memory of who computes"},
		InEngine:    {"engine", "in memory of the engine"},
	}
)

// lies reports whether the kernels of slabs read B where it lies, not panel by panel.
func (b SourceB) lies() bool { return b <= StreamedB }

func (s Sharing) String() string { return sharings[s].name }
func (a SourceA) String() string { return sourcesA[a].name }
func (b SourceB) String() string { return sourcesB[b].name }
func (k Keeper) String() string  { return keepers[k].name }

// Count returns "1 slab", or "2 slabs".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// String says who shares · A · B · sums, and the cut.
func (g *Plan) String() string {
	s := fmt.Sprintf("%v · A %v · B %v · sums %v", g.Share, g.A, g.B, g.Sums)
	switch g.Share {
	case BySlabs:
		s += fmt.Sprintf(" · %s, %s of %dx%d",
			Count(g.Workers, "worker"), Count(g.Slabs.Count, "slab"), g.Slabs.Rows, g.Slabs.Cols)
		if g.Slabs.Ranges > 1 {
			s += fmt.Sprintf(" by %d ranges of %s of K", g.Slabs.Ranges, Count(g.Slabs.Span, "block"))
		}
	case ByColumns:
		c := &g.Columns
		s += fmt.Sprintf(" · %s, %s of %d columns, %d at a time, K in steps of %d",
			Count(g.Workers, "worker"), Count(c.Slabs, "slab"), c.Cols, min(c.Cols, c.Block), g.Step)
		if c.Items > 1 {
			s += fmt.Sprintf(" and %d parts", c.Items)
		}
	case ByRing:
		r := &g.Ring
		s += fmt.Sprintf(" · %s, tiles of %dx%dx%dx%d, slabs of %dx%d, depth %d",
			Count(g.Workers, "worker"), r.CTAs, r.BM, r.BN, r.BK, r.SlabRows, r.SlabCols, r.Depth)
	}
	return s
}

// SlabCut cuts C into slabs.
type SlabCut struct {
	Rows, Cols int // of C in a slab
	Across     int // slabs side by side, of the same rows
	Count      int // of each range of K
	Ranges     int // of K, 1 if it is not shared out
	Span       int // blocks of a range
}

// RowsOf returns the first of the M rows of the slabs number i from above, and the one after the last. The last have
// what is left over a whole number of tiles, too.
func (c *SlabCut) RowsOf(i, m int) (from, to int) {
	if (i+1)*c.Across == c.Count {
		return i * c.Rows, m
	}
	return i * c.Rows, (i + 1) * c.Rows
}

// ColsOf does the same for the N columns of the slabs number i from the left.
func (c *SlabCut) ColsOf(i, n int) (from, to int) { return i * c.Cols, min((i+1)*c.Cols, n) }

// Room is what a slab takes of scratch memory, in bytes: panels of A, of B, and the accumulators of a strip.
type Room struct{ A, B, Acc int }

// ColumnCut cuts B for workers that share out its columns: what one takes at a time is a slab, a range of
// columns, of an item, a part of K.
type ColumnCut struct {
	Cols      int // of a slab
	Block     int // columns of a slab at a time, which scratch memory bounds
	Slabs     int // of all N columns
	PanelsA   int // of MR rows of A, or if B is turned of NR
	Steps     int // of K, of Step elements each
	Each      int // steps of a block of K, or 1 if a step has several of those
	Items     int // parts of K
	Span      int // steps of an item
	JobPanels int // panels of A in a copy job, of a step after the other

	TurnedTiles int // of columns read as rows: tiles of a panel of A before the next
}

// RingCut cuts a product into the tiles, stages, slabs and copy jobs of a grid.
//
//	C, M x N            a cluster tile: CTAs x BM rows, BN columns
//	+-----+-----+       +------------------+  CTA 0   cut into slabs of
//	|tile |     |       |  slab  |  slab   |          SlabRows x SlabCols,
//	+-----+-----+       +------------------+          each computed by one
//	|     |     |       |  slab  |  slab   |          worker at a time
//	+-----+-----+       +==================+
//	                    |  ...             |  CTA 1
//
// A stage holds, BK elements of K deep, every CTA's panels of A and the panels of B that all CTAs of the cluster share.
type RingCut struct {
	extentK            int // K of the product
	TilesM, TilesN     int // cluster tiles above each other, and side by side
	CTAs               int // of a cluster tile, above each other
	BM, BN, BK         int // CTA rows, columns, elements of K in a stage
	Steps              int // stages of a tile
	blockK             int // elements of K in a block
	blockSteps         int // stages of a block
	RowSlabs, ColSlabs int // slabs of a CTA: RowSlabs x ColSlabs
	SlabRows, SlabCols int // of a slab
	JobRows, JobCols   int // of A and of B in a copy job
	PackCols           int // columns of a B that the ring does not hold that are packed at once
	Depth              int // slots of the ring
	workers            int // who share a stage
	BytesA, BytesB     int // of a stage: one CTA's A, the cluster's B
	BytesAcc           int // of the accumulators of a cluster tile
	BytesChain         int // of those of an unfinished block, laid out like them, if blocks have several stages
}

// A refusal is why a product is not shared in some way; see [Problem.why].
type refusal uint8

const (
	fits refusal = iota // it may be
	// Not by columns:
	manyRows
	smallB
	liesNear
	longA
	slabsFirst
	// Not by slabs:
	muchEach
	muchWork
	farA
	columnsFirst
	packsAgain
	noRoom
)

// TinyPlan is that of all that is too small to think about.
var TinyPlan = Plan{Workers: 1}
