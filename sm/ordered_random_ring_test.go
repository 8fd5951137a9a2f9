package sm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

// A ringProgram is a program of a producer and consumers in each CTA, whose barriers have many phases. In a cluster
// each producer loads its part of a tile for all.
type ringProgram struct {
	*program
	ctas, stages, consumers int
	full, empty             []phases // by CTA and stage
}

// phases is the past and the current phase of a barrier, by nodes.
type phases struct {
	arrivals, waits [][]int
	over            []int
}

// come adds an arrival at a phase, end what completes its last.
func (b *phases) come(phase int, arrival int) {
	if phase == len(b.arrivals) {
		b.arrivals, b.waits = append(b.arrivals, nil), append(b.waits, nil)
	}
	b.arrivals[phase] = append(b.arrivals[phase], arrival)
}

func (b *phases) end(p *program, more ...int) {
	b.over = append(b.over, p.node(slices.Concat(more, b.arrivals[len(b.over)])...))
}

// safe reports whether all that is done at a barrier is done in the phase that it is for.
func (b *phases) safe(p *program) bool {
	for n := range b.over[:max(len(b.over)-1, 0)] {
		for _, arrival := range b.arrivals[n+1] {
			if !p.before[arrival].has(b.over[n]) {
				return false
			}
		}
		for _, wait := range b.waits[n] {
			if !p.before[b.over[n+1]].has(wait) {
				return false
			}
		}
	}
	return true
}

// newRing returns a ring by its seed: in every second one something may be left out.
func newRing(seed uint64) *ringProgram {
	r := rand.New(rand.NewPCG(seed, 4))
	p := &ringProgram{ctas: 1 + int(seed/2%2), stages: 1 + r.IntN(3), consumers: 1 + r.IntN(3)}
	if p.ctas > 1 {
		p.consumers = min(p.consumers, programWarps-1)
	}
	p.program = &program{width: 1 + p.consumers}
	p.full, p.empty = make([]phases, p.ctas*p.stages), make([]phases, p.ctas*p.stages)
	for a := range p.ctas * p.width {
		p.last[a] = p.node()
	}
	wrong := seed%2 > 0
	slip := func() bool { return wrong && r.IntN(12) == 0 }
	for i := range 2 + r.IntN(6) {
		s, phase := i%p.stages, i/p.stages
		var ends []int
		for cta := range p.ctas {
			ends = append(ends, p.fill(r, cta, s, phase, slip)...)
		}
		for cta := range p.ctas {
			p.full[cta*p.stages+s].end(p.program, ends...)
		}
		for cta := range p.ctas {
			p.drain(r, cta, s, phase, slip)
		}
		for cta := range p.ctas {
			p.empty[cta*p.stages+s].end(p.program)
		}
	}
	return p
}

// warp is the number of a warp of a CTA, of which the producer is the first.
func (p *ringProgram) warp(cta, i int) int { return cta*p.width + i }

// part is the number of the first word of a CTA's part of a stage.
func (p *ringProgram) part(s, of int) int { return 4 * (s*p.ctas + of) }

// word is its number in the cluster.
func (p *ringProgram) word(cta, s, of int) int { return 4*p.ctas*p.stages*cta + p.part(s, of) }

// arrives is an arrival at the barriers of a stage in all CTAs.
func (p *ringProgram) arrives(bars []phases, s int, phase, node int) {
	for cta := range p.ctas {
		bars[cta*p.stages+s].come(phase, node)
	}
}

// fill is what a producer does about a tile. It returns the ends of its copies.
func (p *ringProgram) fill(r *rand.Rand, cta, s, phase int, slip func() bool) (ends []int) {
	full, empty, me, part := &p.full[cta*p.stages+s], &p.empty[cta*p.stages+s], p.warp(cta, 0), p.part(s, cta)
	if phase > 0 && !slip() {
		n := p.do(me, fmt.Sprintf("wait for empty[%d] phase %d", s, phase-1),
			func(w *sm.Warp, _ *sm.Array[int32], bars []sm.Barrier) { bars[2*s+1].WaitParity(w, phase-1) }, empty.over[phase-1])
		empty.waits[phase-1] = append(empty.waits[phase-1], n)
	}
	if p.ctas > 1 || r.IntN(2) == 0 {
		begin, end := p.copies(me, fmt.Sprint("load into ", s), func(w *sm.Warp, x *sm.Array[int32], bars []sm.Barrier) {
			bars[2*s].ArriveTx(w.Thread(0), 1, 16*p.ctas)
			sm.LoadBulkMulticast(w.Thread(0), x.At(part), in64[:4], &bars[2*s], 1<<p.ctas-1)
		})
		for to := range p.ctas {
			p.access(extent{begin: begin, end: end, at: 4 * p.word(to, s, cta), bytes: 16, write: true})
		}
		p.arrives(p.full, s, phase, begin)
		return []int{end}
	}
	n := p.do(me, fmt.Sprint("write ", s),
		func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) { x.Write(w, part, in64[:4]) })
	p.access(extent{begin: n, end: n, at: 4 * p.word(cta, s, cta), bytes: 16, write: true, generic: true})
	if r.IntN(8) > 0 {
		p.fences = append(p.fences, p.do(me, "fence",
			func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.FenceProxyAsync() }))
	}
	full.come(phase, p.do(me, fmt.Sprint("arrive at full ", s),
		func(w *sm.Warp, _ *sm.Array[int32], bars []sm.Barrier) { bars[2*s].Arrive(w.Thread(0)) }))
	return nil
}

// drain is what the consumers of a CTA do about a tile.
func (p *ringProgram) drain(r *rand.Rand, cta, s, phase int, slip func() bool) {
	full := &p.full[cta*p.stages+s]
	var all []int
	for i := range p.consumers {
		all = append(all, p.warp(cta, 1+i))
	}
	first := all[0]
	sync := func() {
		p.meet(all, nil, "consumers",
			func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.BarSync(1, 32*p.consumers) }, nil)
	}
	release := func(c, n int) {
		p.arrives(p.empty, s, phase, p.do(c, fmt.Sprint("arrive at empty ", s),
			func(w *sm.Warp, _ *sm.Array[int32], bars []sm.Barrier) {
				for to := range p.ctas {
					bars[2*s+1].MapShared(to).ArriveN(w.Thread(to), n)
				}
			}))
	}
	together := r.IntN(3) == 0 // one waits, and one gives back, for all
	for _, c := range all {
		if (c == first || !together) && !slip() {
			n := p.do(c, fmt.Sprintf("wait for full[%d] phase %d", s, phase),
				func(w *sm.Warp, _ *sm.Array[int32], bars []sm.Barrier) { bars[2*s].WaitParity(w, phase) }, full.over[phase])
			full.waits[phase] = append(full.waits[phase], n)
		}
	}
	if together && !slip() {
		sync()
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all {
		early := slip()
		if early && !together {
			release(c, 1)
		}
		p.read(r, cta, c, s, slip)
		if !early && !together {
			release(c, 1)
		}
	}
	if together {
		if !slip() {
			sync()
		}
		release(all[0], p.consumers)
	}
}

// read is what a consumer does with a part of a stage.
func (p *ringProgram) read(r *rand.Rand, cta, c, s int, slip func() bool) {
	of, i := r.IntN(p.ctas), r.IntN(4)
	part := p.part(s, of)
	if r.IntN(3) > 0 {
		n := p.do(c, fmt.Sprint("read ", s), func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) { x.Load(w, part+i) })
		p.access(extent{begin: n, end: n, at: 4 * (p.word(cta, s, of) + i), bytes: 4, generic: true})
		return
	}
	begin, end := p.copies(c, fmt.Sprint("store ", s), func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) {
		sm.StoreBulk(w.Thread(0), make([]int32, 4), x.Slice(part, part+4))
		w.Thread(0).CommitGroup()
	})
	p.access(extent{begin: begin, end: end, at: 4 * p.word(cta, s, of), bytes: 16})
	if p.groups[c][0] = append(p.groups[c][0], end); !slip() {
		p.do(c, "wait for stores", func(w *sm.Warp, _ *sm.Array[int32], _ []sm.Barrier) { w.Thread(0).WaitGroupRead(0) },
			p.groups[c][0]...)
	}
}

func (p *ringProgram) kernel(b *sm.Block) {
	x, bars := sm.Shared[int32](b, 4*p.stages*p.ctas, 16), b.Barriers(2*p.stages)
	b.Start(sm.Warps(0, p.width, func(w *sm.Warp) {
		if w.Rank() == 0 {
			x.Write(w, 0, in64[:x.Len()])
			w.FenceProxyAsync()
			for s := range p.stages {
				bars[2*s].Init(w.Thread(0), 1)
				bars[2*s+1].Init(w.Thread(0), p.consumers*p.ctas)
			}
		}
		w.ClusterSync()
		for _, f := range p.warps[p.warp(b.ClusterRank(), w.Rank())] {
			f(w, x, bars)
		}
		w.ClusterSync()
		for s := range p.stages {
			if n := len(p.full[s].over); n > 0 {
				bars[2*s].WaitParity(w, n-1) // that has been seen, whatever was left out
			}
		}
	}))
}

// TestOrderedRandomRing compares what is reported of rings with what is wrong with them, but for those whose phases may
// be mixed up.
func TestOrderedRandomRing(t *testing.T) {
	t.Parallel()
	n := 6 * *seeds
	if testing.Short() || race.Enabled {
		n = min(n, 30)
	}
	kinds := map[string]int{}
	for seed := range uint64(n) {
		p := newRing(seed)
		mixed := func(b phases) bool { return !b.safe(p.program) }
		want, rules := "nothing", []sm.Rule{0}
		switch {
		case slices.ContainsFunc(p.full, mixed) || slices.ContainsFunc(p.empty, mixed):
			want, rules = "anything", nil
		case p.racy():
			want, rules = "a race", []sm.Rule{sm.RuleRace, sm.RuleSource, sm.RuleProxy}
		case p.unfenced():
			want, rules = "a missing fence", []sm.Rule{sm.RuleProxy}
		}
		kinds[want]++
		cfg := sm.Config{Grid: sm.Dim3{X: p.ctas}, Cluster: sm.Dim3{X: p.ctas}, Block: sm.Dim3{X: 32 * p.width}}
		p.compare(t, seed, cfg, p.kernel, want, rules)
	}
	t.Log(kinds)
}
