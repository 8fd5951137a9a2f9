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
	// Where the kernel does not starve these are the most rows that may be missing to whole panels, and the fewest elements of K.
	alongSpare = 4
	alongLeast = 256
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
	case p.m <= k.StreamRows(p.b.elem) && k.Stream(p.b.elem, p.b.trans) != nil:
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
	case !p.starves() && (!p.inVectors() || p.k < alongLeast || roundUp(p.m, k.NR)-p.m > alongSpare || workers > fewWorkers && p.n*p.k < alongEach*workers):
		return false // a column is transposed as soon
	case p.n*p.k >= alongEach*workers:
		return p.m <= alongOnce
	}
	return p.m <= alongRows
}

// panelOfA returns the rows of a panel of A in a mode, and the bytes of one so many words deep.
// Where columns of B are rows, A's are columns.
func (p *product) panelOfA(mode streamMode, words int) (rows, bytes int) {
	if mode == streamAlong {
		return p.kernel.NR, p.kernel.PanelB(words)
	}
	return p.kernel.MR, p.kernel.PanelA(words)
}
