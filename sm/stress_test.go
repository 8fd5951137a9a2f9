package sm_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// The block of a random kernel: warp 0 is threads, warps 1 to 3 are warps, and then there is a
// warpgroup.
const (
	crowdThreads = 256
	crowdAgents  = warp + 3 + 1
	warp         = 32
	crowdRounds  = 6
	crowdWords   = 64 // of a tile
	crowdStages  = 3
)

// An actor is an agent of any kind.
type actor interface {
	sm.Agent
	SyncThreads()
	SyncThreadsCount(p bool) int
	BarSync(id, n int)
	BarArrive(id, n int)
	ClusterSync()
	ClusterArrive()
	ClusterWait()
}

// crowd is a kernel that is right by construction: its agents agree, by a seed, on what they do
// in round after round, and each round checks what it did.
type crowd struct {
	seed uint64
	in   []int32
	out  [][]int32 // by CTA
	end  func()    // by one thread, at last
}

// member is an agent of a CTA in a crowd.
type member struct {
	actor
	*crowd
	b      *sm.Block
	t      *sm.Thread // one of it
	index  int        // among the agents
	lanes  int
	slots  *sm.Array[int32] // one for each agent
	tiles  *sm.Array[int32]
	all    *sm.Barrier  // everybody arrives
	full   *sm.Barrier  // one thread arrives
	stages []sm.Barrier // full barriers of a ring
	empty  []sm.Barrier

	allPhase, fullPhase, ringPhase int
}

func newCrowd(seed uint64, ctas int) *crowd {
	c := &crowd{seed: seed, in: ramp(1024), out: make([][]int32, ctas)}
	for i := range c.out {
		c.out[i] = make([]int32, crowdWords)
	}
	return c
}

func (c *crowd) config(size int) sm.Config {
	return sm.Config{
		Grid: sm.Dim3{X: len(c.out)}, Cluster: sm.Dim3{X: size}, Block: sm.Dim3{X: crowdThreads},
		Seed: c.seed, Name: "crowd",
	}
}

func (c *crowd) kernel(b *sm.Block) {
	slots := sm.Shared[int32](b, crowdAgents, 16)
	tiles := sm.Shared[int32](b, crowdStages*crowdWords, 128)
	all, full := b.Barrier(), b.Barrier()
	stages, empty := b.Barriers(crowdStages), b.Barriers(crowdStages)
	run := func(a actor, t *sm.Thread, index, lanes int) {
		m := &member{
			actor: a, crowd: c, b: b, t: t, index: index, lanes: lanes,
			slots: slots, tiles: tiles, all: all, full: full, stages: stages, empty: empty,
		}
		m.run()
	}
	b.Start(
		sm.Threads(0, warp, func(t *sm.Thread) { run(t, t, t.Rank(), 1) }),
		sm.Warps(1, 4, func(w *sm.Warp) { run(w, w.Thread(w.Rank()), warp+w.Rank()-1, warp) }),
		sm.Warpgroups(1, 2, func(w *sm.Warpgroup) { run(w, w.Thread(77), warp+3, 128) }),
	)
}

func (m *member) run() {
	if m.index == 0 {
		m.all.Init(m, crowdThreads)
		m.full.Init(m, 1)
		for i := range crowdStages {
			m.stages[i].Init(m, 1)
			m.empty[i].Init(m, crowdAgents-1)
		}
		m.t.FenceBarrierInit()
	}
	m.ClusterSync()
	r := rand.New(rand.NewPCG(m.seed, 11))
	rounds := []func(*rand.Rand, int){
		m.neighbours, m.tokens, m.named, m.ring, m.remote, m.asynchronous, m.multicast, m.store, m.memcpy,
	}
	for i := range crowdRounds {
		rounds[r.IntN(len(rounds))](r, i)
	}
	m.ClusterSync()
	if m.end != nil && m.index == 0 && m.b.Idx.X == 0 {
		m.end()
	}
}

// check is that a word of an array has a value.
func (m *member) check(what string, a *sm.Array[int32], i int, want int32) {
	got := a.Load(m, i)
	assert(got == want, "%s: word %d is %d, want %d", what, i, got, want)
}

// neighbours: __syncthreads.
func (m *member) neighbours(_ *rand.Rand, round int) {
	m.slots.Store(m, m.index, int32(100*round+m.index))
	m.SyncThreads()
	next := (m.index + 1) % crowdAgents
	m.check("neighbours", m.slots, next, int32(100*round+next))
	n := m.SyncThreadsCount(m.index < warp)
	assert(n == warp, "%d threads counted, want %d", n, warp)
}

// await waits for a phase of a barrier in one way of many.
func (m *member) await(r *rand.Rand, bar *sm.Barrier, phase int) {
	switch r.IntN(4) {
	case 0:
		bar.WaitParity(m, phase)
	case 1:
		for !bar.TestWaitParity(m, phase) {
		}
	case 2:
		for !bar.TryWaitParity(m, phase) {
		}
	case 3:
		if !bar.TestWaitParity(m, phase) {
			bar.WaitParity(m, phase)
		}
	}
}

// tokens: an mbarrier at which all threads arrive.
func (m *member) tokens(r *rand.Rand, round int) {
	m.slots.Store(m, m.index, int32(200*round+m.index))
	token := m.all.Arrive(m)
	switch r.IntN(3) {
	case 0:
		m.all.Wait(m, token)
	case 1:
		for !m.all.TryWaitFor(m, token, time.Millisecond) {
		}
	case 2:
		m.await(r, m.all, m.allPhase)
	}
	next := (m.index + 5) % crowdAgents
	m.check("tokens", m.slots, next, int32(200*round+next))
	m.all.ArriveAndWait(m)
	m.allPhase += 2
}

// named: the warps and the warpgroup at a barrier of their own, to which the threads only arrive.
func (m *member) named(r *rand.Rand, round int) {
	id := 1 + r.IntN(15)
	m.slots.Store(m, m.index, int32(round))
	if m.index < warp {
		m.BarArrive(id, crowdThreads)
	} else {
		m.BarSync(id, crowdThreads)
		m.check("named", m.slots, m.index-warp, int32(round))
	}
	m.SyncThreads()
}

// ring: one thread fills stages, which all others read.
func (m *member) ring(r *rand.Rand, _ int) {
	producer, n := r.IntN(crowdAgents), 1+r.IntN(2*crowdStages)
	for i := range n {
		k := m.ringPhase + i
		s, phase := k%crowdStages, k/crowdStages
		src := m.in[16*i:][:crowdWords]
		if m.index == producer {
			m.await(r, &m.empty[s], phase+1)
			// Bytes may come before they are expected.
			if i%2 == 0 {
				m.stages[s].ExpectTx(m.t, 4*crowdWords)
				sm.LoadBulk(m.t, m.tiles.At(s*crowdWords), src, &m.stages[s])
				m.stages[s].Arrive(m.t)
			} else {
				sm.LoadBulk(m.t, m.tiles.At(s*crowdWords), src[:32], &m.stages[s])
				m.stages[s].ArriveTx(m.t, 1, 4*crowdWords)
				sm.LoadBulk(m.t, m.tiles.At(s*crowdWords+32), src[32:], &m.stages[s])
			}
			continue
		}
		m.await(rand.New(rand.NewPCG(m.seed, uint64(k*m.index))), &m.stages[s], phase)
		m.check("ring", m.tiles, s*crowdWords+m.index, int32(16*i+m.index))
		m.empty[s].Arrive(m.t)
	}
	if m.index == producer { // tails, and the random numbers that the others do not draw
		for i := range crowdStages {
			k := m.ringPhase + n + i
			m.empty[k%crowdStages].WaitParity(m.t, k/crowdStages+1)
		}
	}
	m.ringPhase += n
	*r = *rand.New(rand.NewPCG(m.seed, uint64(m.ringPhase)))
	m.SyncThreads()
}

// remote: distributed shared memory.
func (m *member) remote(_ *rand.Rand, round int) {
	peer := (m.b.ClusterRank() + 1) % m.b.ClusterSize()
	m.ClusterSync()
	m.slots.MapShared(peer).Store(m, m.index, int32(1000*round+10*m.b.ClusterRank()))
	m.ClusterArrive()
	m.ClusterWait()
	from := (m.b.ClusterRank() + m.b.ClusterSize() - 1) % m.b.ClusterSize()
	m.check("remote", m.slots, m.index, int32(1000*round+10*from))
	m.ClusterSync()
}

// asynchronous: st.async and red.async to a peer.
func (m *member) asynchronous(_ *rand.Rand, round int) {
	if m.index == 0 {
		m.slots.Write(m, 0, []int32{0, 1})
		m.full.ArriveTx(m, 1, 4+4*m.b.ClusterSize())
	}
	m.ClusterSync()
	if m.index == warp+3 {
		n := m.b.ClusterSize()
		peer := (m.b.ClusterRank() + 1) % n
		sm.StoreAsync(m.t, m.slots.MapShared(peer), int32(round+7), m.full.MapShared(peer))
		for rank := range n {
			sm.ReduceAsync(m.t, tile.ReduceAdd, m.slots.MapShared(rank).At(1), int32(3), m.full.MapShared(rank))
		}
	}
	m.full.WaitParity(m, m.fullPhase)
	m.check("st.async", m.slots, 0, int32(round+7))
	m.check("red.async", m.slots, 1, int32(1+3*m.b.ClusterSize()))
	m.fullPhase++
	m.ClusterSync()
}

// multicast: one CTA loads for all.
func (m *member) multicast(r *rand.Rand, round int) {
	issuer := r.IntN(m.b.ClusterSize())
	if m.index == 0 {
		m.full.ArriveTx(m, 1, 4*crowdWords)
	}
	m.ClusterSync()
	if m.index == 1 && m.b.ClusterRank() == issuer {
		sm.LoadBulkMulticast(m.t, m.tiles.Slice(0, crowdWords), m.in[round*4:][:crowdWords], m.full,
			1<<m.b.ClusterSize()-1)
	}
	m.full.WaitParity(m, m.fullPhase)
	m.check("multicast", m.tiles, m.index, int32(4*round+m.index))
	m.fullPhase++
	m.ClusterSync()
}

// store: a bulk group.
func (m *member) store(r *rand.Rand, round int) {
	who := r.IntN(crowdAgents)
	out := m.out[m.b.Idx.X]
	for i := m.index; i < crowdWords; i += crowdAgents {
		m.tiles.Store(m, i, int32(i+round))
	}
	m.t.FenceProxyAsync()
	m.SyncThreads()
	if m.index == who {
		sm.StoreBulk(m.t, out[:32], m.tiles)
		m.t.CommitGroup()
		sm.StoreBulk(m.t, out[32:], m.tiles.At(32))
		m.t.CommitGroup()
		m.t.WaitGroupRead(1)
		m.t.WaitGroup(0)
		assert(out[0] == int32(round) && out[31] == int32(31+round) && out[63] == int32(63+round), "stored %v", out)
	}
	m.SyncThreads()
}

// memcpy: cooperative copies with and without a barrier.
func (m *member) memcpy(_ *rand.Rand, round int) {
	if m.index < crowdAgents-1 {
		at := m.index
		sm.MemcpyAsync(m.t, m.slots.Slice(at, at+1), m.in[at+round:][:1], nil)
		m.t.WaitAll()
	} else {
		sm.MemcpyAsync(m, m.slots.At(m.index), m.in[m.index+round:][:1], m.all)
	}
	m.all.ArriveAndWait(m)
	m.allPhase++
	next := (m.index + 1) % crowdAgents
	m.check("memcpy_async", m.slots, next, int32(next+round))
	m.SyncThreads()
}

// TestCrowd runs random kernels under random schedules.
func TestCrowd(t *testing.T) {
	t.Parallel()
	free, checked := 120, 60
	if testing.Short() || race.Enabled {
		free, checked = 30, 12
	}
	for seed := range uint64(free) {
		size := 1 << (seed % 3)
		c := newCrowd(seed, 2*size)
		if err := launch(t, c.config(size), c.kernel); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for seed := range uint64(checked) {
		size := 1 << (seed % 3)
		c := newCrowd(seed, size)
		cfg := c.config(size)
		cfg.Check, cfg.Schedule = true, sm.Schedule(seed/3%3)
		if err := launch(t, cfg, c.kernel); err != nil {
			t.Fatalf("seed %d, %v: %v", seed, cfg.Schedule, err)
		}
	}
}

// TestRepeats checks that a seed decides the whole order.
func TestRepeats(t *testing.T) {
	if race.Enabled {
		t.Skip("one agent runs at a time: there is nothing to race, and it takes long")
	}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3 // one of each schedule
	}
	for seed := range seeds {
		var first *sm.Fault
		for range 2 {
			c := newCrowd(seed, 4)
			c.end = func() { panic("the end") }
			cfg := c.config(2)
			cfg.Check, cfg.Schedule = true, sm.Schedule(seed%3)
			f := fault(t, launch(t, cfg, c.kernel))
			if f.Rule != sm.RulePanic {
				t.Fatal(f)
			}
			if first == nil {
				first = f
				continue
			}
			if len(f.Switches) == 0 || !slices.Equal(f.Switches, first.Switches) {
				t.Errorf("seed %d, %v: %d switches, then %d others", seed, cfg.Schedule, len(first.Switches),
					len(f.Switches))
			}
		}
	}
}
