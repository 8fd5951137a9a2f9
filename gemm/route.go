package gemm

// A route is how a product is computed. All give the same bits.
type route uint8

const (
	routeInline route = iota // on the caller's goroutine alone
	routePlace               // a grid that reads A where it lies, see place
	routeStream              // a grid that streams B, see stream
	routeRing                // the ring
)

var routeNames = [...]string{routeInline: "inline", routePlace: "place", routeStream: "stream", routeRing: "ring"}

const (
	// inlineFlops is the size of a product up to which a ring costs more than it
	// saves, shareFlops that up to which any hand-over to other cores does, twice as
	// much for a kernel of pairs, and starveFlops either for a starving kernel with few
	// workers, or many.
	inlineFlops = 4 << 20
	shareFlops  = 5 << 17
	starveFlops = 16 << 20
	starveMany  = 8 << 20
	starveRows  = 128
)

// route returns the shortest way to compute the product, and lays it out for it
// if that is one of the first two.
func (in *inlined) route(s *settings) route {
	if s.unnamed() {
		if in.dots = in.dotted(); in.dots {
			if s.ctx != nil && in.flops() > inlineFlops || in.dotBytes() >= 2*dotShare && s.parallelism() > 1 {
				return routePlace
			}
			return routeInline
		}
		if in.b.packed {
			if in.takesWholeTiles() {
				return routeInline
			}
		} else if in.tiny() {
			return routeInline
		}
	}
	p := &in.product
	flops := p.work(s)
	inline, share := float64(inlineFlops), float64(shareFlops*p.kernel.KPack)
	if flops > share/2 && p.halfShared() {
		share /= 2
	}
	switch {
	case p.starves() && flops > starveMany && s.parallelism() > fewWorkers:
		inline, share = starveMany, starveMany
	case p.starves():
		inline, share = starveFlops, starveFlops
	}
	if flops <= inline {
		switch {
		case flops > share && s.parallelism() > 1 && in.placed(s):
			return routePlace
		case s.unnamed() && !p.skinny(s) && in.init():
			return routeInline
		}
	}
	how := in.gridRoute(s)
	if how == routePlace && s.ctx == nil && s.workerCount() == 1 && in.init() {
		return routeInline
	}
	return how
}

// halfShared reports whether half as large a product is worth sharing: on a core that
// multiplies half a line at once, unless every worker would pack A or, of pairs, B comes
// from a cache for so few rows that it is read as fast as one can.
func (p *product) halfShared() bool {
	return p.on.halved && p.readsA() && (p.kernel.KPack == 1 || !p.fewRows())
}

// work returns the flops of the product, by which to choose a route. Those of a starving
// kernel count as they do in a product of starveRows rows: B is fetched for all of A's.
// Few rows that many workers share wait for B, too.
func (p *product) work(s *settings) float64 {
	k, rows := p.kernel, float64(p.m)
	switch {
	case p.starves():
		_, fetch := k.Fetch()
		whole := func(m int) float64 { return float64(roundUp(m, k.MR) + fetch/4*k.MR) }
		rows = starveRows * whole(p.m) / whole(starveRows)
	case 2*rowsTurned*p.n*p.k <= shareFlops: // stays with its caller, who need not ask how many there are
	case p.sharesFew(s.parallelism()):
		least := float64(rowsFetched)
		if p.b.trans {
			least = rowsTurned
		}
		rows = max(rows, least)
	}
	return 2 * rows * float64(p.n) * float64(p.k)
}

// gridRoute returns the shortest way on a grid.
func (in *inlined) gridRoute(s *settings) route {
	switch {
	case in.placed(s):
		return routePlace
	case in.skinny(s):
		return routeStream
	}
	return routeRing
}
