package sm

import (
	"sync"

	"example.com/leafhopper/internal/race"
)

// What shared memory consists of: a wavefront brings a word of each bank, to as many lanes as ask for it.
const (
	bankCount   = 32
	bankBytes   = 4
	vectorBytes = 16 // bytes that a lane accesses by one instruction at most
)

// A pipe is the way of an instruction to the banks.
type pipe uint8

const (
	pipeNone  pipe = iota // another than to the banks of the CTA
	pipeLoad              // of 8 or 16 bytes, halves of the lanes may go together
	pipeStore             // and matrices
	pipeAtom              // who comes to the same word does so one after another
	pipeCAS               // likewise, to read and to write
)

// A request is an instruction of a warp.
type request struct {
	next *request
	mask uint32           // the lanes that take part
	at   [warpSize]uint16 // the first word of each
}

// wavefronts returns how many the request takes if each lane has so many bytes, and how many it would at best.
//
//go:norace
func (r *request) wavefronts(p pipe, size int) (n, ideal int) {
	words := max(size/bankBytes, 1)
	lanes := warpSize / words // that go together
	if p == pipeLoad && words > 1 && (r.alike(1) || r.alike(2)) {
		lanes *= 2
	}
	for first := 0; first < warpSize; first += lanes {
		most, _ := r.inBanks(p, words, first, first+lanes)
		n += most
	}
	_, all := r.inBanks(p, words, 0, warpSize)
	ideal = (all + bankCount - 1) / bankCount
	if p == pipeCAS {
		return 2 * n, 2 * ideal
	}
	return n, ideal
}

// alike reports whether every two lanes that differ by x in number, and both take part, have the same address.
//
//go:norace
func (r *request) alike(x int) bool {
	for lane, word := range &r.at {
		if other := lane ^ x; (r.mask>>lane)&(r.mask>>other)&1 != 0 && word != r.at[other] {
			return false
		}
	}
	return true
}

// inBanks returns how many words the lanes first to end-1 have in the bank in which they have most, and in all. Atomics
// of the same word count as of several.
//
//go:norace
func (r *request) inBanks(p pipe, words, first, end int) (most, all int) {
	var banks [bankCount]struct {
		n     int
		words [warpSize]uint16
	}
	for lane := first; lane < end; lane++ {
		if r.mask>>lane&1 == 0 {
			continue
		}
	next:
		for word := r.at[lane]; word < r.at[lane]+uint16(words); word++ {
			b := &banks[word%bankCount]
			for i := 0; i < b.n && p <= pipeStore; i++ {
				if b.words[i] == word {
					continue next
				}
			}
			b.words[b.n] = word
			b.n++
			all++
			most = max(most, b.n)
		}
	}
	return most, all
}

// A bankSite is what makes accesses of lanes one instruction.
type bankSite struct {
	site
	op    string
	array *declaration
	pipe  pipe
	size  int // bytes of a lane
}

// mostOpen is for how many requests of a bankSite a warp waits that not all of its lanes have come to.
const mostOpen = 1024

// warpBanks are the requests of a warp. The race detector, from which they are hidden, is not to believe that lanes
// which count their accesses are ordered.
type warpBanks struct {
	mu    sync.Mutex
	lanes uint32 // that the warp has
	met   int    // see runner.met
	first *requests
	free  *request
}

// requests are those of a bankSite.
type requests struct {
	bankSite
	next        *requests
	first, last *request           // to which not all lanes have come
	open        int                // how many they are
	came        [warpSize]*request // the last that a lane has come to, nil: one before the first
	ahead       [warpSize]int      // further ones that it has come to
	lane        int                // that came last
	sum         BankLine           // of those that are over, but for its names
}

// part counts what one of the lanes does of a request: it accesses a word and what lies behind it.
//
//go:norace
func (w *warpBanks) part(run *runner, s bankSite, lane int, word uint16) {
	race.Hide()
	w.mu.Lock()
	if run.met > w.met { // nobody comes to what was before
		w.finish()
		w.met = run.met
	}
	q := w.of(s)
	if run.self.lanes > 1 && lane < q.lane {
		w.close(q)
	}
	q.lane = lane
	if r := w.turn(q, lane); r != nil {
		r.mask |= 1 << lane
		r.at[lane] = word
		if q.came[lane] = r; r.mask == w.lanes {
			w.pop(q) // r is the first: all have come to those before it
		}
	}
	w.mu.Unlock()
	race.Show()
}

// whole counts a request that all its lanes have come to.
//
//go:norace
func (w *warpBanks) whole(s bankSite, r *request) {
	race.Hide()
	w.mu.Lock()
	w.of(s).count(r)
	w.mu.Unlock()
	race.Show()
}

// of returns the requests of a site.
//
//go:norace
func (w *warpBanks) of(s bankSite) *requests {
	q := w.first
	for ; q != nil; q = q.next {
		if q.bankSite == s {
			return q
		}
	}
	q = &requests{bankSite: s, next: w.first}
	w.first = q
	return q
}

// turn returns the request that a lane comes to next, nil if it is too far ahead.
//
//go:norace
func (w *warpBanks) turn(q *requests, lane int) *request {
	r := q.first
	if q.came[lane] != nil {
		r = q.came[lane].next
	}
	switch {
	case r != nil:
		return r
	case q.open == mostOpen || q.ahead != [warpSize]int{}:
		q.ahead[lane]++
		return nil
	}
	if r = w.free; r == nil {
		r = new(request)
	} else {
		w.free = r.next
	}
	r.next, r.mask = nil, 0
	if q.last == nil {
		q.first = r
	} else {
		q.last.next = r
	}
	q.last = r
	q.open++
	return r
}

// pop counts the first request.
//
//go:norace
func (w *warpBanks) pop(q *requests) {
	r := q.first
	q.count(r)
	for i, at := range &q.came {
		if at == r {
			q.came[i] = nil
		}
	}
	if q.first = r.next; q.first == nil {
		q.last = nil
	}
	q.open--
	r.next = w.free
	w.free = r
}

//go:norace
func (q *requests) count(r *request) {
	n, ideal := r.wavefronts(q.pipe, q.size)
	q.sum.Requests++
	q.sum.Wavefronts += n
	q.sum.Ideal += ideal
}

// close counts what lanes have come to.
//
//go:norace
func (w *warpBanks) close(q *requests) {
	for q.first != nil {
		w.pop(q)
	}
	skipped := 0
	for i, n := range &q.ahead {
		skipped = max(skipped, n)
		q.ahead[i] = 0
	}
	q.sum.Skipped += skipped
}

// finish is close of all.
//
//go:norace
func (w *warpBanks) finish() {
	for q := w.first; q != nil; q = q.next {
		w.close(q)
	}
}

// newBanks returns where a CTA's warps count, nil if nobody wants to know.
func (c *cta) newBanks() []warpBanks {
	if c.launch.Banks == nil {
		return nil
	}
	n := c.launch.Block.Size()
	banks := make([]warpBanks, (n+warpSize-1)/warpSize)
	for i := range banks {
		banks[i].lanes = FullMask >> max(0, (i+1)*warpSize-n)
	}
	return banks
}

// banked counts an access by g of bytes of an array of its CTA: of an element, or of several, which need not be divided
// in the same way in all lanes.
func (g *agent) banked(op string, array *declaration, from, bytes int, element bool, p pipe) {
	for end := from + bytes; from < end && p != pipeNone; {
		size := vectorBytes
		for from%size != 0 || size > end-from || element && bytes%size != 0 {
			size /= 2
		}
		s, word := bankSite{g.run.site, op, array, p, size}, uint16(from/bankBytes)
		if g.lanes == 1 {
			g.cta.banks[g.rank/warpSize].part(g.run, s, g.rank%warpSize, word)
		} else {
			r := request{mask: FullMask}
			for i := range r.at {
				r.at[i] = word
			}
			for i := range g.lanes / warpSize {
				g.cta.banks[g.rank/warpSize+i].whole(s, &r)
			}
		}
		from += size
	}
}

// banked counts an access of matrices whose rows begin at addresses.
func (w *Warp) banked(array *declaration, at []int) {
	r := request{mask: FullMask >> (warpSize - len(at))}
	for i, from := range at {
		r.at[i] = uint16(from / bankBytes)
	}
	w.cta.banks[w.rank/warpSize].whole(bankSite{w.run.site, w.run.op, array, pipeStore, rowBytes}, &r)
}

// tally adds what the agents of a CTA, which have ended, have counted to the launch's Banks.
//
//go:norace
func (c *cta) tally() {
	for i := range c.banks {
		w := &c.banks[i]
		w.finish()
		for q := w.first; q != nil; q = q.next {
			q.sum.Site, q.sum.Op, q.sum.Array = q.site.String(), q.op, q.array.name()
			c.launch.Banks.add(q.sum)
		}
	}
	c.banks = nil
}
