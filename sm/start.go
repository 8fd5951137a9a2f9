package sm

// A Part is some agents of a CTA, for [Block.Start].
type Part struct {
	kind       string
	first, end int                               // in units
	unit       int                               // threads of an agent
	idle       bool                              // there is nothing that they run
	agent      func(base agent) (*agent, func()) // makes one, and what it runs
}

// Threads is a part of a CTA: the threads first to end-1, whole warps of them, each an
// agent of its own that runs f.
func Threads(first, end int, f func(*Thread)) Part {
	return Part{"thread", first, end, 1, f == nil, func(base agent) (*agent, func()) {
		t := newThread(base)
		return &t.agent, func() { f(t) }
	}}
}

// Warps is a part of a CTA: the warps first to end-1.
func Warps(first, end int, f func(*Warp)) Part {
	return Part{"warp", first, end, warpSize, f == nil, func(base agent) (*agent, func()) {
		w := &Warp{agent: base}
		return &w.agent, func() { f(w) }
	}}
}

// Warpgroups is a part of a CTA: the warpgroups first to end-1.
func Warpgroups(first, end int, f func(*Warpgroup)) Part {
	return Part{"warpgroup", first, end, groupSize, f == nil, func(base agent) (*agent, func()) {
		w := &Warpgroup{agent: base}
		return &w.agent, func() { f(w) }
	}}
}

// Threads starts a goroutine for every thread of the block, and returns when all have
// ended.
func (b *Block) Threads(f func(*Thread)) {
	b.cta.starts("Threads")
	b.cta.start(Threads(0, b.Dim.Size(), f))
}

// Warpgroups starts a goroutine for every 128 threads of the block, and returns when all
// have ended. The block has a multiple of 128 threads.
func (b *Block) Warpgroups(f func(*Warpgroup)) {
	b.cta.starts("Warpgroups")
	if n := b.Dim.Size(); n%groupSize != 0 {
		b.cta.body.fail(RuleStart, "a block of %d threads is not made of warpgroups of %d", n, groupSize)
	}
	b.cta.start(Warpgroups(0, b.Dim.Size()/groupSize, f))
}

// Start starts the agents of several parts, and returns when all have ended. Threads that
// are in no part take no part in anything: __syncthreads does not wait for them.
func (b *Block) Start(parts ...Part) {
	b.cta.starts("Start")
	b.cta.start(parts...)
}

// starts begins the start of the agents, by the function that the kernel calls.
func (c *cta) starts(op string) { c.first(op, "agents are started a second time") }

// check returns which warps are in the parts, and how many threads and agents those have.
func (c *cta) check(parts []Part) (taken []bool, threads, agents int64) {
	block := c.launch.Block.Size()
	taken = make([]bool, (block+warpSize-1)/warpSize)
	for _, p := range parts {
		first, end := p.first*p.unit, p.end*p.unit
		switch {
		case p.agent == nil:
			c.body.fail(RuleStart, "a Part is the zero value; Threads, Warps and Warpgroups make them")
		case p.first < 0 || p.end < p.first || p.end > block/p.unit:
			c.body.fail(RuleStart, "%ss %d to %d of a block of %d threads", p.kind, p.first, p.end-1, block)
		case first%warpSize != 0 || end%warpSize != 0 && end != block:
			c.body.fail(RuleStart, "%ss %d to %d are not whole warps", p.kind, p.first, p.end-1)
		case p.idle:
			c.body.fail(RuleStart, "%ss %d to %d have no function", p.kind, p.first, p.end-1)
		}
		for w := first / warpSize; w*warpSize < end; w++ {
			if taken[w] {
				c.body.fail(RuleStart, "warp %d is in two parts", w)
			}
			taken[w] = true
		}
		threads += int64(end - first)
		agents += int64(p.end - p.first)
	}
	return taken, threads, agents
}

func (c *cta) start(parts ...Part) {
	c.begun = true
	taken, threads, agents := c.check(parts)
	c.cluster.agree(c)
	c.checkResident()
	if agents == 0 {
		return
	}
	c.warps, c.taken = make([]warpSync, len(taken)), taken
	c.banks = c.newBanks()
	c.named[0].warps = c.warps
	c.threads.Store(threads)
	c.agents = agents
	c.running.Store(agents)
	c.cluster.count(agents)
	o := c.cluster.order
	begun := o.begin(c)
	// All are there before the first begins: whoever wakes one may have been started before it.
	starts := make([]func(), 0, agents)
	for _, p := range parts {
		for i := p.first; i < p.end; i++ {
			a, f := p.agent(agent{cta: c, kind: p.kind, rank: i * p.unit, lanes: p.unit})
			a.run = newRunner(c, a)
			if o != nil {
				a.run.history = o.newHistory(begun)
			}
			c.cluster.enroll(a.run)
			for _, ends := range c.pipelines {
				ends[a.rank].agent = a
			}
			starts = append(starts, func() { a.run.start(f) })
		}
	}
	for _, start := range starts {
		start()
	}
	defer c.tally()
	defer c.outlive()
	c.main.block()
}

// outlive waits until all agents have ended, also when the launch stops: the kernel
// function may then clean up.
func (c *cta) outlive() {
	for c.running.Load() > 0 {
		if s := c.launch.turns(); s != nil {
			s.end()
		}
		<-c.main.wake
	}
}
