package sm

import "slices"

// A Group is the threads of a block that have been started, as
// cooperative_groups::this_thread_block has them: what its threads do together, each calls with
// its own Group.
type Group struct{ agent }

// ThisThreadBlock returns the group of the thread's block.
func (t *Thread) ThisThreadBlock() *Group {
	g := &Group{t.agent}
	g.part, g.parts = t.rank, int(t.cta.threads.Load())
	for _, taken := range t.cta.taken[:t.rank/warpSize] {
		if !taken {
			g.part -= warpSize
		}
	}
	return g
}

// Rank returns the thread's rank in the group.
func (g *Group) Rank() int { return g.part }

// Size returns the number of threads in the group.
func (g *Group) Size() int { return g.parts }

// Sync is block.sync, SyncThreads.
func (g *Group) Sync() {
	g.enter("Sync")
	g.syncThreads(false)
}

// WaitAll is cooperative_groups::wait: it waits for the group's copies that complete
// nothing else, and for its threads.
func (g *Group) WaitAll() {
	g.enter("WaitAll")
	g.lane().finishAll()
	g.syncThreads(false)
}

// WaitAll waits for the agent's copies that complete nothing else (cp.async.wait_all).
func (a *agent) WaitAll() {
	a.enter("WaitAll")
	a.lane().finishAll()
}

// CommitAsync makes a group of the agent's copies that complete nothing else, of those issued since the last time
// (cp.async.commit_group, __pipeline_commit, cp_async_fence of CuTe).
func (a *agent) CommitAsync() {
	a.enter("CommitAsync")
	if t := a.lane(); len(t.loose) > 0 || t.run.history != nil { // else all groups are over, and so is this one
		t.commit()
	}
}

// WaitAsync is cooperative_groups::wait_prior: it waits as [Thread.WaitAsync] does, and for the group's threads.
func (g *Group) WaitAsync(n int) {
	g.enter("WaitAsync")
	g.waitAsync(n)
	g.syncThreads(false)
}

// WaitAsync waits until at most the n latest groups of CommitAsync are pending (cp.async.wait_group,
// __pipeline_wait_prior, cp_async_wait of CuTe). It is for the agent's own copies: SyncThreads tells others.
func (a *agent) WaitAsync(n int) {
	a.enter("WaitAsync")
	a.waitAsync(n)
}

func (a *agent) waitAsync(n int) {
	a.checkGroups(n)
	if t := a.lane(); len(t.closed) > n {
		t.finish(len(t.closed) - n)
	}
}

// A Completion is what a [MemcpyAsync] completes: a [*Barrier] or a [*Pipeline].
type Completion interface {
	// completes returns the barrier whose current phase a copy of the agent is part of.
	completes(a *agent) *mbar
}

func (b *Barrier) completes(a *agent) *mbar { return b.of(a) }

// MemcpyAsync issues the copy of src, any number of elements, to dst (cuda::memcpy_async,
// cooperative_groups::memcpy_async). The phase of a barrier, or the stage of a pipeline, that
// is current then is not over before the copy: its bytes are expected and completed, and it
// arrives for nobody. With a nil to, WaitAll or WaitAsync tells when it is over,
// or the phase of a barrier ([Barrier.ArriveAsync]).
//
// A Thread copies by itself. A Warp or Warpgroup copies together. All threads of a [Group]
// call it alike, and copy a part each.
func MemcpyAsync[T any](a Agent, dst *Array[T], src []T, to Completion) {
	g := a.base()
	g.enter("MemcpyAsync")
	t := g.lane()
	r := t.own(dst, "destination")
	t.holds(r, "destination", len(src)*sizeof[T]())
	if g.parts > 0 {
		first, end := share(len(src), g.part, g.parts), share(len(src), g.part+1, g.parts)
		if dst, src = dst.Slice(first, end), src[first:end]; len(src) == 0 {
			return
		}
		r = dst.region()
	}
	from := global(src)
	bytes := from.Bytes
	into := area{memory: r.memory, at: r.offset, n: len(bytes), how: generic} // cp.async is in its proxy
	outside := t.outside(from, generic)
	if to == nil {
		t.issuing.from, t.issuing.into = outside, into
		t.check(t.bulk.CopyAsync(r.cta.shared(), r.offset, bytes, nil))
		return
	}
	m := to.completes(g)
	t.beside(m, r.cta)
	m.expect(g, len(bytes))
	t.arriving(m)
	t.issuing.from, t.issuing.into = outside, into
	t.check(t.bulk.CopyAsync(r.cta.shared(), r.offset, bytes, m.b))
}

// share returns where part i of n elements begins that several threads copy.
func share(n, i, parts int) int { return i * n / parts }

// lane returns the thread that issues the agent's copies, the first of it.
func (a *agent) lane() *Thread {
	r := a.run
	for _, t := range r.copiers {
		if t.rank == a.rank && t.lanes == a.lanes {
			return t
		}
	}
	t := newThread(*a)
	r.copiers = append(r.copiers, t)
	return t
}

// finishAll lands the thread's copies that complete nothing.
func (t *Thread) finishAll() {
	t.commit()
	t.finish(len(t.closed))
}

// A batch is a group of them: how many there are in it or in an older one that have not been forgotten, and its
// number of asyncs.
type batch struct {
	copies int
	number uint32
}

func (t *Thread) commit() {
	t.asyncs.close()
	t.closed = append(t.closed, batch{len(t.loose), t.asyncs.closed})
}

// finish lands the n oldest groups of them.
func (t *Thread) finish(n int) {
	last := t.closed[n-1]
	for _, c := range t.loose[:last.copies] {
		c.Finish()
	}
	t.closed = slices.Delete(t.closed, 0, n)
	t.forget(last.copies)
	t.asyncs.wait(t.run.history, int(t.asyncs.closed-last.number))
	t.cta.launch.sched.settle()
}

// forget takes out the n oldest of them, which have landed. Under Check the numbers of their groups are left, of
// which the thread is yet to know that they are over.
func (t *Thread) forget(n int) {
	t.loose, t.covered = slices.Delete(t.loose, 0, n), max(t.covered-n, 0)
	for i := range t.closed {
		t.closed[i].copies = max(t.closed[i].copies-n, 0)
	}
	if t.run.history == nil {
		t.closed = slices.DeleteFunc(t.closed, func(b batch) bool { return b.copies == 0 })
	}
}
