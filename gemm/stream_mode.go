package gemm

import "example.com/leafhopper/asm"

// A streamMode is how the workers of a stream read B.
type streamMode uint8

const (
	streamPanels  streamMode = iota // in panels, which they pack unless they are there
	streamSwept                     // in panels, each packed behind the products of the one before
	streamPieces                    // the same, where a kernel does it for many columns at a time
	streamInPlace                   // as it lies, by kernels for few rows
	streamAlong                     // as it lies, columns along K as rows of A
	streamStored                    // in panels that are packed, by kernels for few rows
)

const (
	sweepFewest = 5       // rows for a kernel that sweeps, or reads columns as rows: it multiplies fewer where B lies
	sweepFew    = 48      // most rows for few workers to sweep, or one over a B that stays in a cache,
	sweepMany   = 32      // and for many, whose rows of B are short
	alongRows   = 64      // most rows to read columns as rows,
	alongOnce   = 128     // and where each worker has
	alongEach   = 1 << 20 // elements of B
	alongDepth  = 1024    // elements of K of B before the next panel of A reads them again
	// Where the kernel does not starve alongOnce is the most rows, for one of pairs alongPairs and on
	// Intel's processors alongRows; and these are the most that may be missing to whole panels, there
	// alongWide by twice as large a B, and the fewest elements of K.
	alongPairs = 96
	alongSpare = 4
	alongWide  = 8
	alongLeast = 256
	// Most rows by a B along K that kernels for few read, and read again from a cache, rather than
	// pack it, where AVX-512 is carried out in halves, and on Intel's processors, where transposing
	// takes longer, if B comes from further than the second-level caches. And bytes of a row
	// of such a B at a time, and of all of those. Of a B in rows of K that is worth it for few
	// rows more than the kernels take at once.
	againRows  = 48
	againIntel = 12
	againRow   = 16 << 10
	againBytes = 256 << 10
	againPlain = 12
	againDeep  = 512 // elements of K
	// A few panels of A are multiplied one after the other by a panel of a packed B,
	// while it is in a cache. A narrow one would be widened.
	packedPanels = 4 // most panels of A
	narrowPanels = 2 // the same by a narrow B
)

// streamMode returns the fastest mode for so many workers.
func (p *product) streamMode(workers int) streamMode {
	k := p.kernel
	switch {
	case p.b.packed:
		if p.m <= p.storedRows(workers) && k.StreamPanels(p.b.elem) != nil {
			return streamStored
		}
	case p.readsAlong(workers):
		return streamAlong
	case p.sweeps(workers):
		return streamPieces
	case p.m <= p.inPlaceRows(workers) && k.Stream(p.b.elem, p.b.trans) != nil:
		return streamInPlace
	}
	if p.packs() {
		return streamSwept
	}
	return streamPanels
}

// storedRows returns the most rows of A that kernels for few multiply by a packed B.
func (p *product) storedRows(workers int) int {
	switch mr := p.kernel.MR; {
	case p.starves():
		return p.tileFewest(workers) - 1
	case p.narrow():
		return narrowPanels * mr
	default:
		return packedPanels * mr
	}
}

// inPlaceRows returns the most rows of A that kernels for few multiply by a B where it lies.
func (p *product) inPlaceRows(workers int) int {
	k, size := p.kernel, p.b.elem.Size()
	switch {
	case p.starves() || !p.inVectors() || k.Narrow(p.b.elem):
	case p.on.halved && p.b.trans:
		return againRows
	case p.on.halved && workers <= pair:
		return againPlain
	case !p.b.trans:
	case p.on.intel && k.KPack == 1 && workers <= fewWorkers && p.n*p.k*size > 2*workers*p.on.l2:
		return againIntel
	}
	return k.StreamRows(p.b.elem)
}

// sweeps reports whether the kernel is to sweep over a B of rows of K. For many rows
// it would go through their accumulators too often, unless B would be slower still.
func (p *product) sweeps(workers int) bool {
	most := sweptRows
	switch {
	case p.many(workers):
		most = sweepMany
	case workers > 1 || p.n*p.k*p.b.elem.Size() < p.on.l2:
		most = sweepFew
	}
	return !p.b.trans && !p.b.packed && sweepFewest <= p.m && p.m <= most && p.n >= asm.SweepN && p.k >= asm.SweepK && p.kernel.Sweeps(p.b.elem)
}

// readsAlong reports whether the kernel is to read the columns of B, which lie along K, as
// rows of A, as many as a tile has. A B that is read once had better be read so for more rows
// than one that stays in a cache.
func (p *product) readsAlong(workers int) bool {
	k := p.kernel
	switch {
	case !p.b.trans || p.m < p.tileFewest(workers) || p.n < k.MR || k.Rows(p.b.elem) == nil:
		return false
	case !p.starves():
		return p.turnsAlong(workers)
	case p.n*p.k >= alongEach*workers:
		return p.m <= alongOnce
	}
	return p.m <= alongRows
}

// turnsAlong is readsAlong for a kernel that does not starve. Where AVX-512 is carried out in
// halves, to transpose columns takes as long as the products of three to five rows, and on
// Intel's processors of more, the more the further away B is. But rows of A are then columns,
// of which a tile does not have fewer.
func (p *product) turnsAlong(workers int) bool {
	k := p.kernel
	if !p.inVectors() || p.k < alongLeast {
		return false
	}
	most, spare := alongOnce, alongSpare
	switch each := p.n * p.k / workers; {
	case p.on.halved && !p.many(workers):
		if k.KPack > 1 {
			most = alongPairs
		}
	case p.on.intel && k.KPack == 1 && (workers <= fewWorkers || each >= alongEach):
		most = alongRows
		if each >= 2*alongEach {
			spare = alongWide
		}
	default:
		return false
	}
	return p.m <= most && roundUp(p.m, k.NR)-p.m <= spare
}

// panelOfA returns the rows of a panel of A in a mode, and the bytes of one so many words deep.
// Where columns of B are rows, A's are columns.
func (p *product) panelOfA(mode streamMode, words int) (rows, bytes int) {
	if mode == streamAlong {
		return p.kernel.NR, p.kernel.PanelB(words)
	}
	return p.kernel.MR, p.kernel.PanelA(words)
}
