package tile

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A Thread issues asynchronous copies, as one thread of a GPU does. Its methods
// validate like the functions of the same name, start the transfer and return.
//
// Loads and everything else that completes a barrier run on a goroutine of
// their own, and the barrier tells when they are done.
//
// Stores and reductions into global memory belong to bulk groups. Between the
// issue and the end of a wait that covers its group a transfer may do its work
// at any moment, and whoever relies on a particular one is wrong:
//
//	issue ──── CommitGroup ──── WaitGroupRead ──── WaitGroup
//	  └─ reads its source somewhere ─┘                  │
//	  └──────── writes its destination somewhere ───────┘
//
// A Thread does it as late as the rules allow: it reads a source at the first
// wait of either kind and writes a destination at [Thread.WaitGroup]. Reuse of a
// source that is not free and use of a result that is not visible therefore
// show every time. [Thread.Shuffle] spreads the moments out instead.
//
// The zero value is ready. A Thread is for one goroutine at a time; its groups
// are its own, and others learn through a barrier that it has waited.
type Thread struct {
	// Execute, if not nil, is called with every transfer as it is issued and decides when
	// its pieces land, on which goroutine: one that completes barriers it must bring to its
	// end, one of a group it may. None is given to a goroutine of its own then, and whether
	// a barrier can take the bytes shows when they land.
	Execute func(*Transfer)

	open   []*Transfer   // issued since the last commit
	groups [][]*Transfer // committed, oldest first
	random *rand.Rand    // nil unless shuffled
}

const (
	// swizzlePeriod is the distance at which every swizzle repeats.
	swizzlePeriod = 1024
	// maxStaged bounds the sources that a thread holds copies of, in bytes.
	maxStaged = 1 << 20
)

// Shuffle makes every moment of later transfers a matter of chance, drawn from
// seed: when and in which order transfers of groups read and write, and, for
// those that complete barriers, which pieces land when, each completing its own
// bytes. A program that is right under the rules does not notice; run a test
// with many seeds to find one that is not. Of a group, the draws repeat with
// the seed; goroutines are scheduled as ever.
func (t *Thread) Shuffle(seed uint64) { t.random = rand.New(rand.NewPCG(seed, 0)) }

// CommitGroup makes a group of the stores and reductions issued since the last
// one, possibly an empty group (PTX cp.async.bulk.commit_group).
func (t *Thread) CommitGroup() {
	t.groups = append(t.groups, t.open)
	t.open = nil
	t.drift()
}

// Open returns how many stores and reductions have been issued since the last CommitGroup.
func (t *Thread) Open() int { return len(t.open) }

// WaitGroup waits until at most the n most recent groups are pending (PTX
// cp.async.bulk.wait_group). The transfers of the others are over: their sources
// are free and their writes visible to the caller, and to whom the caller tells.
// Transfers not committed are no group's and are not waited for. It panics if n
// is negative.
func (t *Thread) WaitGroup(n int) {
	t.wait("WaitGroup", n, (*Transfer).Finish)
}

// WaitGroupRead waits until the sources of all but the n most recent groups
// have been read and may be written again (PTX cp.async.bulk.wait_group.read).
// Nothing is said about the destinations. It panics if n is negative.
func (t *Thread) WaitGroupRead(n int) {
	t.wait("WaitGroupRead", n, (*Transfer).Read)
}

// Exit is the end of the thread. It completes what is pending, and reports an
// error if there are stores or reductions whose sources no wait has shown to
// be free: on the GPU shared memory may be gone before they read it. The thread
// may then be used anew.
func (t *Thread) Exit() error {
	committed, open := 0, len(t.open)
	for _, p := range slices.Concat(append(t.groups, t.open)...) {
		if !p.waited {
			committed++
		}
		p.Finish()
	}
	committed -= open
	t.open, t.groups = nil, nil
	if committed+open > 0 {
		return fmt.Errorf("tile: thread exits before %d committed and %d uncommitted transfers "+
			"are known to have read their sources", committed, open)
	}
	return nil
}

// issue starts a transfer of a group, which write makes of the source or a copy of it: src but for the lead bytes that
// it begins with.
func (t *Thread) issue(src []byte, lead int, write func(src []byte)) {
	p := newTransfer(1, 0, make([]receiver, 1))
	p.group, p.source, p.lead = true, src, lead
	p.put = func(_, src []byte, _, _ int) { write(src) }
	t.open = append(t.open, p)
	if t.Execute != nil {
		t.Execute(p)
	}
	t.drift()
}

// wait applies step to the transfers of all but the n most recent groups.
func (t *Thread) wait(op string, n int, step func(*Transfer)) {
	if n < 0 {
		panic(fmt.Sprintf("tile: %s: %d groups, want 0 or more", op, n))
	}
	due := slices.Concat(t.groups[:max(0, len(t.groups)-n)]...)
	t.mix(due)
	for _, p := range due {
		p.waited = true
		step(p)
	}
	t.drift()
	t.trim()
}

// mix shuffles the order of transfers, which is undefined even in a group.
func (t *Thread) mix(ps []*Transfer) {
	if t.random != nil {
		t.random.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	}
}

// drift lets some transfers of a shuffled thread proceed on their own.
func (t *Thread) drift() {
	if t.random == nil {
		return
	}
	ps := append(slices.Concat(t.groups...), t.open...)
	t.mix(ps)
	for _, p := range ps {
		switch t.random.IntN(8) {
		case 0:
			p.Read()
		case 1:
			p.Finish()
		}
	}
}

// trim completes the oldest transfers while the copies of sources take too much
// room, and forgets groups that are done and waited for.
func (t *Thread) trim() {
	staged := 0
	for _, g := range slices.Backward(t.groups) {
		for _, p := range g {
			if p.read && !p.Done() {
				staged += len(p.staged)
				if staged > maxStaged {
					p.Finish()
				}
			}
		}
	}
	busy := func(p *Transfer) bool { return !p.Done() || !p.waited }
	for len(t.groups) > 0 && !slices.ContainsFunc(t.groups[0], busy) {
		t.groups = t.groups[1:]
	}
}
