package sm

import (
	"time"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/enum"
	"example.com/leafhopper/pipeline"
)

// A Role is what a thread does in a [Pipeline] (cuda::pipeline_role).
type Role uint8

// The roles. In a unified pipeline every thread has both.
const (
	Both Role = iota
	Producer
	Consumer
)

// String returns the name of the constant.
func (r Role) String() string { return enum.Name("Role", []string{"Both", "Producer", "Consumer"}, r) }

// A Pipeline is a thread's end of a cuda::pipeline: a queue of stages that producers fill
// and consumers empty. Stages are a ring, with a full and an empty barrier each:
//
//	producer  ProducerAcquire → MemcpyAsync … → ProducerCommit
//	consumer  ConsumerWait → read → ConsumerRelease
//
// (CUDA C++ Programming Guide, asynchronous data copies using cuda::pipeline; libcu++,
// cuda::pipeline.)
type Pipeline struct {
	agent       *agent
	role        Role
	ring        *pipeline.Ring
	full, empty []Barrier              // of the ring
	head, tail  pipeline.PipelineState // of the producer and of the consumer
	quit        bool
}

// Pipeline returns the ends of a pipeline of so many stages, by the rank of the thread. role
// tells the role of a thread; nil is a unified pipeline. An agent of several threads uses
// the end of its first.
func (b *Block) Pipeline(stages int, role func(rank int) Role) []*Pipeline {
	c := b.cta
	c.declare("Pipeline")
	if stages < 1 || stages > pipeline.MaxDepth {
		c.body.fail(RulePipeline, "%d stages, want 1 to %d", stages, pipeline.MaxDepth)
	}
	ends := make([]*Pipeline, c.launch.Block.Size())
	ring := new(pipeline.Ring)
	config := pipeline.RingConfig{Depth: stages, CTAs: 1}
	for rank := range ends {
		p := &Pipeline{ring: ring, head: pipeline.ProducerStart(stages), tail: pipeline.ConsumerStart(stages)}
		if role != nil {
			p.role = role(rank)
		}
		if p.role > Consumer {
			c.body.fail(RulePipeline, "thread %d has the role %v, want Both, Producer or Consumer", rank, p.role)
		}
		if p.role != Consumer {
			config.Producers++
		}
		if p.role != Producer {
			config.Consumers++
		}
		ends[rank] = p
	}
	if err := ring.Configure(config); err != nil {
		c.body.fail(RulePipeline, "%d producers and %d consumers, want at least one of each",
			config.Producers, config.Consumers)
	}
	full := c.newBarriers("Pipeline", ".full", stages, func(i int) *barrier.Barrier { return ring.Full(i, 0) })
	empty := c.newBarriers("Pipeline", ".empty", stages, func(i int) *barrier.Barrier { return ring.Empty(i, 0) })
	for _, p := range ends {
		p.full, p.empty = full, empty
	}
	c.pipelines = append(c.pipelines, ends)
	return ends
}

// take begins an operation of one of the roles.
func (p *Pipeline) take(op string, not Role) *agent {
	a := p.agent
	a.enterBelow(op)
	switch {
	case p.role == not:
		a.fail(RulePipeline, "the thread's role is %v", p.role)
	case p.quit:
		a.fail(RulePipeline, "after Quit")
	}
	return a
}

// ProducerAcquire waits until the next stage is empty.
func (p *Pipeline) ProducerAcquire() {
	a := p.take("ProducerAcquire", Consumer)
	m := p.empty[p.head.Index].m
	m.wait(a, func() bool { return p.ring.ProducerTryAcquire(p.head) })
}

// ProducerCommit makes the copies that the thread has issued since ProducerAcquire a part of
// the stage, and goes on to the next.
func (p *Pipeline) ProducerCommit() {
	a := p.take("ProducerCommit", Consumer)
	p.full[p.head.Index].m.arrive(a, a.lanes, 0, false)
	p.head.Next()
}

// completes is the stage that a MemcpyAsync belongs to.
func (p *Pipeline) completes(*agent) *mbar { return p.full[p.head.Index].m }

// ConsumerWait waits until the oldest stage that the thread has not released is full.
func (p *Pipeline) ConsumerWait() {
	a := p.take("ConsumerWait", Producer)
	m := p.full[p.tail.Index].m
	m.wait(a, func() bool { return p.ring.ConsumerTryWait(p.tail, 0) })
}

// ConsumerWaitFor is ConsumerWait for at most d. It reports whether the stage is full.
func (p *Pipeline) ConsumerWaitFor(d time.Duration) bool {
	a := p.take("ConsumerWaitFor", Producer)
	m := p.full[p.tail.Index].m
	return m.try(a, func() bool { return p.ring.ConsumerTryWait(p.tail, 0) }, d, toTryIn)
}

// ConsumerRelease gives the oldest stage back to the producers.
func (p *Pipeline) ConsumerRelease() {
	a := p.take("ConsumerRelease", Producer)
	p.empty[p.tail.Index].m.arrive(a, a.lanes, 0, false)
	p.tail.Next()
}

// WaitPrior waits until all but the n latest stages that the thread has committed are full
// (cuda::pipeline_consumer_wait_prior).
func (p *Pipeline) WaitPrior(n int) {
	a := p.take("WaitPrior", Producer)
	if n < 0 {
		a.fail(RulePipeline, "all but %d stages, want 0 or more", n)
	}
	for s := p.tail; s.Count < p.head.Count-n; s.Next() {
		m := p.full[s.Index].m
		m.wait(a, func() bool { return p.ring.ConsumerTryWait(s, 0) })
	}
}

// Quit ends the thread's part in the pipeline: the others do not wait for it any more
// (cuda::pipeline::quit).
func (p *Pipeline) Quit() {
	a := p.agent
	a.enter("Quit")
	if p.quit {
		a.fail(RulePipeline, "Quit twice")
	}
	p.quit = true
	if p.role != Consumer {
		drop(a, p.full, p.head)
	}
	if p.role != Producer {
		drop(a, p.empty, p.tail)
	}
}

// drop takes a out of the phases that it would arrive at next.
func drop(a *agent, bars []Barrier, next pipeline.PipelineState) {
	for range bars {
		bars[next.Index].m.quit(a, uint64(next.Count/len(bars)), a.lanes)
		next.Next()
	}
}
