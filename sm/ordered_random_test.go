package sm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// A program is a random kernel of which it is known what comes before what, and so what is wrong with it: its barriers
// have one phase, and whoever waits does so, in the order in which operations were added, behind all that it waits for.
type program struct {
	width  int // warps of a CTA
	warps  [programCTAs * programWarps][]step
	counts [programCTAs][programBars]int // arrivals that barriers expect
	text   []string

	before   []nodes // that come before a node
	last     [programCTAs * programWarps]int
	groups   [programCTAs * programWarps][2][]int // ends of stores, and of memcpy_asyncs
	fences   []int
	accesses []extent
	used     [programCTAs]int // barriers
	named    int
	reduces  bool     // instead of copies that read shared memory
	pending  []func() // waits that are to come
}

const (
	programCTAs  = 2
	programWarps = 3
	programBars  = 12
	programTiles = 4 // of a CTA, of four words
)

// A step is what a warp does.
type step func(w *sm.Warp, x *sm.Array[int32], bars []sm.Barrier)

// nodes is a set of nodes.
type nodes [8]uint64

func (s *nodes) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }

// An extent is an access, from the node where it begins to that which says that it is over.
type extent struct {
	begin, end     int
	at, bytes      int // in the cluster's shared memory
	write, generic bool
	reduces        bool // or is an atomic, which is generic
}

// node adds a node that comes after others.
func (p *program) node(after ...int) int {
	var before nodes
	for _, m := range after {
		for i, set := range p.before[m] {
			before[i] |= set
		}
		before[m/64] |= 1 << (m % 64)
	}
	p.before = append(p.before, before)
	return len(p.before) - 1
}

// do has warp a do something after all that it has done, and after some nodes.
func (p *program) do(a int, text string, f step, after ...int) int {
	p.last[a] = p.node(append(slices.Clone(after), p.last[a])...)
	p.warps[a] = append(p.warps[a], f)
	p.text = append(p.text, fmt.Sprintf("CTA %d warp %d: %s", a/p.width, a%p.width, text))
	return p.last[a]
}

// copies has warp a issue a copy, which is over at the node that it returns.
func (p *program) copies(a int, text string, f step) (begin, end int) {
	begin = p.do(a, text, f)
	return begin, p.node(begin)
}

// meet has warps meet, but for those that only arrive.
func (p *program) meet(all, arrive []int, text string, wait, pass step) {
	var came []int
	for _, a := range all {
		came = append(came, p.last[a])
	}
	phase := p.node(came...)
	for _, a := range all {
		if slices.Contains(arrive, a) {
			p.do(a, text+", arrive", pass)
		} else {
			p.do(a, text, wait, phase)
		}
	}
}

func (p *program) access(x extent) { p.accesses = append(p.accesses, x) }

// bar returns a barrier of a CTA that nobody has used, -1 if there is none.
func (p *program) bar(cta int) int {
	if p.used[cta] == programBars {
		return -1
	}
	p.used[cta]++
	return p.used[cta] - 1
}

// await has a warp or two wait, at some time, for a barrier of their CTA, whose phase ends at a node.
func (p *program) await(r *rand.Rand, cta, bar, phase int) {
	for range 1 + r.IntN(2) {
		a := programWarps*cta + r.IntN(programWarps)
		p.pending = append(p.pending, func() {
			p.do(a, fmt.Sprint("wait for ", bar), func(w *sm.Warp, _ *sm.Array[int32], bars []sm.Barrier) {
				bars[bar].WaitParity(w, 0)
			}, phase)
		})
	}
}

// group has warp a wait, at some time, for its stores or memcpy_asyncs until then but for the last. One of them ends at
// a node.
func (p *program) group(r *rand.Rand, a, kind, end int, wait func(t *sm.Thread, n int)) {
	p.groups[a][kind] = append(p.groups[a][kind], end)
	n := r.IntN(1 + r.IntN(2))
	p.pending = append(p.pending, func() {
		over := p.groups[a][kind]
		p.do(a, fmt.Sprintf("wait for all of %d groups but %d", len(over), n),
			func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { wait(w.Thread(0), n) }, over[:max(0, len(over)-n)]...)
	})
}

func (p *program) clusterSync() {
	var all []int
	for a := range p.warps {
		all = append(all, a)
	}
	p.meet(all, nil, "ClusterSync", func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.ClusterSync() }, nil)
}

// newProgram returns a program by its seed.
func newProgram(seed uint64) *program {
	r, p := rand.New(rand.NewPCG(seed, 3)), &program{width: programWarps, reduces: seed%3 == 0}
	for a := range p.warps {
		p.last[a] = p.node()
	}
	for range 6 + r.IntN(24) {
		if n := len(p.pending); n > 0 && r.IntN(2) == 0 {
			i := r.IntN(n)
			p.pending[i]()
			p.pending = slices.Delete(p.pending, i, i+1)
		}
		p.grow(r)
	}
	for _, f := range p.pending {
		f()
	}
	for a := range p.warps {
		p.do(a, "end", func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.Thread(0).WaitAll() })
	}
	p.clusterSync()
	return p
}

// grow adds an operation, or what some do together.
func (p *program) grow(r *rand.Rand) {
	a := r.IntN(len(p.warps))
	cta, part := a/programWarps, r.IntN(programTiles)
	there, its := r.IntN(programCTAs), r.IntN(programTiles) // in any CTA
	mine, theirs := 16*(programTiles*cta+part), 16*(programTiles*there+its)
	write := r.IntN(2) == 0
	switch r.IntN(18) {
	case 0, 1:
		i := r.IntN(16)
		bytes := make([]uint8, 1+r.IntN(16-i))
		n := p.do(a, fmt.Sprintf("%d bytes at %d, write %v", len(bytes), theirs+i, write),
			func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) {
				if y := sm.Recast[uint8](x.MapShared(there)); write {
					y.Write(w, 16*its+i, bytes)
				} else {
					y.Read(w, 16*its+i, bytes)
				}
			})
		p.access(extent{begin: n, end: n, at: theirs + i, bytes: len(bytes), write: write, generic: true})
	case 2:
		n := p.do(a, fmt.Sprintf("words at %d, write %v", mine, write), func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) {
			if write {
				x.Write(w, 4*part, in64[:4])
			} else {
				x.Read(w, 4*part, make([]int32, 4))
			}
		})
		p.access(extent{begin: n, end: n, at: mine, bytes: 16, write: write, generic: true})
	case 3, 4, 5, 6:
		all := []int{programWarps * cta, programWarps*cta + 1, programWarps*cta + 2}
		if p.named++; write || p.named > 15 {
			p.meet(all, nil, "SyncThreads", func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.SyncThreads() }, nil)
			return
		}
		id := p.named
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		n := 2 + r.IntN(2)
		p.meet(all[:n], all[:r.IntN(2)], fmt.Sprint("barrier ", id),
			func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.BarSync(id, 32*n) },
			func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.BarArrive(id, 32*n) })
	case 7:
		p.clusterSync()
	case 8:
		bar := p.bar(there)
		if bar < 0 {
			return
		}
		var came []int
		for range 1 + r.IntN(3) {
			p.counts[there][bar]++
			came = append(came, p.do(r.IntN(len(p.warps)), fmt.Sprintf("arrive at %d of CTA %d", bar, there),
				func(w *sm.Warp, _ *sm.Array[int32], bars []sm.Barrier) {
					bars[bar].MapShared(there).Arrive(w.Thread(0))
				}))
		}
		p.await(r, there, bar, p.node(came...))
	case 9:
		if bar := p.bar(cta); bar >= 0 {
			p.counts[cta][bar] = 1
			begin, end := p.copies(a, fmt.Sprintf("load %d, for %d, memcpy_async %v", mine, bar, write),
				func(w *sm.Warp, x *sm.Array[int32], bars []sm.Barrier) {
					if t := w.Thread(0); write {
						sm.MemcpyAsync(t, x.At(4*part), in64[:4], &bars[bar])
						bars[bar].Arrive(t)
					} else {
						bars[bar].ArriveTx(t, 1, 16)
						sm.LoadBulk(t, x.At(4*part), in64[:4], &bars[bar])
					}
				})
			p.access(extent{begin: begin, end: end, at: mine, bytes: 16, write: true, generic: write})
			p.await(r, cta, bar, end)
		}
	case 10:
		if bar := p.bar(there); bar >= 0 && mine != theirs && !p.reduces {
			p.counts[there][bar] = 1
			begin, end := p.copies(a, fmt.Sprintf("copy %d to %d, for %d of CTA %d", mine, theirs, bar, there),
				func(w *sm.Warp, x *sm.Array[int32], bars []sm.Barrier) {
					to := bars[bar].MapShared(there)
					to.ArriveTx(w.Thread(0), 1, 16)
					w.Thread(0).CopyBulk(x.MapShared(there).At(4*its), x.Slice(4*part, 4*part+4), to)
				})
			p.access(extent{begin: begin, end: end, at: mine, bytes: 16})
			p.access(extent{begin: begin, end: end, at: theirs, bytes: 16, write: true})
			p.await(r, there, bar, end)
		}
	case 11:
		if p.reduces {
			return
		}
		begin, end := p.copies(a, fmt.Sprint("store ", mine), func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) {
			sm.StoreBulk(w.Thread(0), make([]int32, 4), x.At(4*part))
			w.Thread(0).CommitGroup()
		})
		p.access(extent{begin: begin, end: end, at: mine, bytes: 16})
		p.group(r, a, 0, end, func(t *sm.Thread, n int) { t.WaitGroupRead(n) })
	case 12:
		begin, end := p.copies(a, fmt.Sprint("memcpy_async ", mine), func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) {
			sm.MemcpyAsync(w.Thread(0), x.At(4*part), in64[:4], nil)
			w.Thread(0).CommitAsync()
		})
		p.access(extent{begin: begin, end: end, at: mine, bytes: 16, write: true, generic: true})
		p.group(r, a, 1, end, func(t *sm.Thread, n int) { t.WaitAsync(n) })
	case 13:
		p.fences = append(p.fences, p.do(a, "fence",
			func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.FenceProxyAsync() }))
	case 14:
		if bar := p.bar(there); bar >= 0 && p.reduces {
			i := r.IntN(4)
			p.counts[there][bar] = 1
			begin, end := p.copies(a, fmt.Sprintf("reduce at %d, for %d of CTA %d", theirs+4*i, bar, there),
				func(w *sm.Warp, x *sm.Array[int32], bars []sm.Barrier) {
					to := bars[bar].MapShared(there)
					to.ArriveTx(w.Thread(0), 1, 4)
					sm.ReduceAsync(w.Thread(0), tile.ReduceAdd, x.MapShared(there).At(4*its+i), int32(1), to)
				})
			p.access(extent{begin: begin, end: end, at: theirs + 4*i, bytes: 4, write: true, reduces: true})
			p.await(r, there, bar, end)
		}
	default:
		p.atomic(r, a, there, its)
	}
}

func (p *program) kernel(b *sm.Block) {
	x, bars := sm.Shared[int32](b, 4*programTiles, 16), b.Barriers(programBars)
	b.Start(sm.Warps(0, programWarps, func(w *sm.Warp) {
		if w.Rank() == 0 {
			x.Write(w, 0, in64[:4*programTiles])
			w.FenceProxyAsync()
			for i := range bars {
				bars[i].Init(w.Thread(0), max(1, p.counts[b.ClusterRank()][i]))
			}
		}
		w.ClusterSync()
		for _, f := range p.warps[programWarps*b.ClusterRank()+w.Rank()] {
			f(w, x, bars)
		}
	}))
}

// ordered reports whether an access is over before another begins.
func (p *program) ordered(x, y *extent) bool { return p.before[y.begin].has(x.end) }

// racy reports whether nothing orders two accesses of which one writes what the other has.
func (p *program) racy() bool {
	for i := range p.accesses {
		for j := range i {
			x, y := &p.accesses[i], &p.accesses[j]
			together := x.reduces && y.reduces && x.bytes == y.bytes && x.generic == y.generic
			if together || !x.write && !y.write || x.at >= y.at+y.bytes || y.at >= x.at+x.bytes {
				continue
			}
			if !p.ordered(x, y) && !p.ordered(y, x) {
				return true
			}
		}
	}
	return false
}

// unfenced reports whether a copy reads what has been written in the generic proxy, and by nobody after that, with no
// fence on the way. Of atomics several are the last. The program is not racy.
func (p *program) unfenced() bool {
	for i := range p.accesses {
		x := &p.accesses[i]
		for at := x.at; at < x.at+x.bytes && !x.write && !x.generic; at++ {
			written := func(y *extent) bool { return y.write && y.at <= at && at < y.at+y.bytes && p.ordered(y, x) }
			for j := range p.accesses {
				last := &p.accesses[j]
				if !written(last) || !last.generic || slices.ContainsFunc(p.accesses, func(y extent) bool {
					return written(&y) && p.ordered(last, &y)
				}) {
					continue
				}
				if !slices.ContainsFunc(p.fences, func(f int) bool {
					return p.before[f].has(last.end) && p.before[x.begin].has(f)
				}) {
					return true
				}
			}
		}
	}
	return false
}

// TestOrderedRandom compares what is reported of random kernels with what is wrong with them.
func TestOrderedRandom(t *testing.T) {
	t.Parallel()
	n := 6 * *seeds
	if testing.Short() || race.Enabled {
		n = min(n, 30)
	}
	kinds := map[string]int{}
	for seed := range uint64(n) {
		p := newProgram(seed)
		want, rules := "nothing", []sm.Rule{0}
		if p.racy() {
			// A race may be met later than what a copy reads.
			want, rules = "a race", []sm.Rule{sm.RuleRace, sm.RuleSource, sm.RuleProxy}
		} else if p.unfenced() {
			want, rules = "a missing fence", []sm.Rule{sm.RuleProxy}
		}
		kinds[want]++
		p.compare(t, seed, pair(32*programWarps), p.kernel, want, rules)
	}
	t.Log(kinds)
}

// compare launches a kernel in all orders, whose faults are to be of some rules, or of any.
func (p *program) compare(t *testing.T, seed uint64, cfg sm.Config, kernel sm.Kernel, want string, rules []sm.Rule) {
	t.Helper()
	for _, m := range modes[1:] {
		cfg = in(m, cfg)
		cfg.Seed = seed
		rule, err := sm.Rule(0), launch(t, cfg, kernel)
		if err != nil {
			rule = fault(t, err).Rule
		}
		if rules != nil && !slices.Contains(rules, rule) {
			t.Fatalf("seed %d, %s: %v\nwant %s:\n%s", seed, mode(m), err, want, strings.Join(p.text, "\n"))
		}
	}
}
