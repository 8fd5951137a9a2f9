package gemm

// Workers that share out the columns of a B in rows of K read a piece of every row. Where rows
// are a power of two apart the pieces of one worker lie in the same few sets of its second-level
// cache, which then does not keep them, though they are smaller than it is. So K is cut into
// parts, and from part to part the workers' columns move on: each reads pieces that are
// elsewhere in the rows. The sums go with the columns, from worker to worker. That takes as long
// as is gained if B has to come from further away, so it is for a B that the product before had.
const (
	skewMost  = 8  // most parts
	skewRows  = 8  // most rows of A
	skewLeast = 64 // fewest elements of K of a part
	// Fewest elements of K of a part in tiles, which have many sums. A deep K is cut for them, too: what
	// a worker's slabs have in common is then near for all of them, and others do what a slow one has left.
	skewTiles = 2048
)

// packsNothing reports whether the kernels read B where it lies.
func (in *inlined) packsNothing() bool { return in.unpacked != nil || in.few }

// skewParts returns how many parts of K the slabs of a cut had better have.
func (in *inlined) skewParts(cut slabbing) int {
	p := &in.product
	parts := 1
	switch {
	case cut.workers < ownLeast || p.b.packed || p.b.trans || p.exceeds(cut.workers):
	case in.packsNothing():
		if in.warm && p.m <= skewRows {
			parts = p.skewColumns(cut)
		}
	case !p.starves() && in.tilesA > 0 && in.sumsInC() && p.heldBy(cut.workers, 1):
		for parts < skewMost && 2*parts*skewTiles <= p.k {
			parts *= 2
		}
	}
	return parts
}

// skewColumns returns in how many parts of K the caches of the workers of a cut keep its slabs of B,
// and 1 if they do so anyway, or cannot.
func (p *product) skewColumns(cut slabbing) int {
	size := p.b.elem.Size()
	row := ceilDiv(cut.slabs, cut.workers) * cut.slabCols * size // bytes of B that a worker reads of a row
	each, apart, most := row*p.k, min(pageBytes, p.b.pitch()&-p.b.pitch()), p.on.l2/4*3
	if each > most || row >= apart || cut.workers > fewWorkers && p.n*p.k*size >= cut.workers*p.on.l2/timesPlain { // of many, some share a cache
		return 1
	}
	parts := 1
	for parts < skewMost && 2*parts*skewLeast <= p.k && each > most/apart*min(apart, parts*row) {
		parts *= 2
	}
	return parts
}

// A usedB tells one B from others by where it lies, as a hint.
type usedB struct {
	at    uintptr
	bytes int
}

// usedB returns the B of the product.
func (p *product) usedB() usedB {
	return usedB{uintptr(p.b.ptr), p.n * p.k * p.b.elem.Size()}
}

// skews reports whether so many workers cut K, if each has columns of all of B.
func (in *inlined) skews(workers int) bool {
	return in.skewParts(slabbing{slabCols: ceilDiv(in.n, workers), slabs: workers, workers: workers}) > 1
}

// slice leaves only n elements of K of the product, from k0 on: others wait for their sums, or
// they for those of others.
func (in *inlined) slice(k0, n int) {
	in.begun, in.goesOn = k0 > 0, k0+n < in.k
	in.a.ptr, in.b.ptr, in.k = in.a.at(0, k0), in.b.at(k0, 0), n
}

// sliced reports whether it is only a slice.
func (in *inlined) sliced() bool { return in.begun || in.goesOn }

// phaseAt is that of the product, of which this may be a slice.
func (in *inlined) phaseAt(k0, n int) phase {
	ph := in.product.phaseAt(k0, n)
	ph.added = ph.added || in.begun
	ph.last = ph.last && !in.goesOn
	return ph
}
