package sm

import (
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

const fullMask uint32 = 0xffffffff

// A warpSync is where the threads of a warp that are agents of their own come to what lanes of a mask do together,
// SyncWarp: each of them waits for those that have not ended and have not come. The race detector, from which it is
// hidden, is not to believe in any order but that of SyncWarp, among the lanes of a mask.
type warpSync struct {
	mu      sync.Mutex
	gone    uint32            // lanes that have ended
	waiting uint32            // lanes that have come
	lanes   [warpSize]*runner // of these
	told    meeting
}

// An exchange is what a lane brings to an operation of its warp.
type exchange struct {
	mask uint32
}

// warp returns the agent's warp, the lane that it is of it, and those that the block has.
func (a *agent) warp() (w *warpSync, lane int, all uint32) {
	warp := a.rank / warpSize
	n := min(warpSize, a.cta.launch.Block.Size()-warp*warpSize)
	return &a.cta.warps[warp], a.rank % warpSize, fullMask >> (warpSize - n)
}

// meet waits for the lanes of x.mask.
func (a *agent) meet(x exchange) {
	r := a.run
	w, lane, all := a.warp()
	if x.mask>>lane&1 == 0 {
		a.fail(RuleSync, "mask %#x does not name lane %d, which calls it", x.mask, lane)
	}
	x.mask &= all
	r.polls = 0
	race.Release(unsafe.Pointer(&r.lane))
	if !w.arrive(a, lane, x) {
		r.block()
	}
	race.Acquire(unsafe.Pointer(&r.lane))
}

// arrive brings a to an operation, and reports whether those whom it waits for have all come.
//
//go:norace
func (w *warpSync) arrive(a *agent, lane int, x exchange) (last bool) {
	w.lock()
	defer w.unlock()
	r := a.run
	r.lane = x
	w.lanes[lane] = r
	w.waiting |= 1 << lane
	met := w.met(x.mask)
	if met|w.gone&x.mask == x.mask {
		w.complete(met, r)
		return true
	}
	r.waits, r.target = w, uint64(x.mask)
	return false
}

func (w *warpSync) lock() {
	race.Hide()
	w.mu.Lock()
}

func (w *warpSync) unlock() {
	w.mu.Unlock()
	race.Show()
}

// met returns the lanes that have come with a mask.
//
//go:norace
func (w *warpSync) met(mask uint32) (met uint32) {
	for rest := w.waiting & mask; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		if w.lanes[q].lane.mask == mask {
			met |= 1 << q
		}
	}
	return met
}

// complete ends the operation that the lanes met have come to, and wakes all of these but last.
//
//go:norace
func (w *warpSync) complete(met uint32, last *runner) {
	w.waiting &^= met
	w.order(met)
	w.lanes[bits.TrailingZeros32(met)].cta.cluster.progressed()
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		if r := w.lanes[q]; r != last {
			r.ready()
		}
	}
}

// order tells the lanes met what each of them knows.
//
//go:norace
func (w *warpSync) order(met uint32) {
	race.Show()
	defer race.Hide()
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		race.Acquire(unsafe.Pointer(&w.lanes[q].lane))
		w.told.arrive(w.lanes[q].history)
	}
	w.told.complete()
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		race.Release(unsafe.Pointer(&w.lanes[q].lane))
		w.told.tell(w.lanes[q].history)
	}
}

// leave takes a lane whose thread has ended out of those that others wait for.
//
//go:norace
func (w *warpSync) leave(lane int) {
	w.lock()
	defer w.unlock()
	w.gone |= 1 << lane
	for rest := w.waiting; rest != 0; {
		mask := w.lanes[bits.TrailingZeros32(rest)].lane.mask
		met := w.met(mask)
		if rest &^= met; mask>>lane&1 != 0 && met|w.gone&mask == mask {
			w.complete(met, nil)
		}
	}
}

// missing says who does not come to an operation, the target of whose wait is its mask.
//
//go:norace
func (w *warpSync) missing(target uint64) string {
	w.lock()
	defer w.unlock()
	mask := uint32(target)
	first := w.lanes[bits.TrailingZeros32(w.met(mask))]
	rank := first.self.rank / warpSize * warpSize
	text := fmt.Sprintf("__syncwarp of warp %d", rank/warpSize)
	if _, _, all := first.self.warp(); mask != all {
		text += fmt.Sprintf(", mask %#x", mask)
	}
	var lacks []int
	for rest := mask &^ (w.met(mask) | w.gone); rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		lacks = append(lacks, rank+q)
	}
	return fmt.Sprintf("%s: %d of %d threads missing: %s",
		text, len(lacks), bits.OnesCount32(mask&^w.gone), ranges(lacks))
}

// SyncWarp is __syncwarp: it waits for the other threads of the warp that have not ended or, with a
// mask, for those of them whose lane's bit is set, which name the same. Those of a Warp or Warpgroup
// are in lockstep.
func (a *agent) SyncWarp(mask ...uint32) {
	a.enter("SyncWarp")
	if len(mask) > 1 {
		a.fail(RuleSync, "%d masks, want one or none", len(mask))
	}
	if a.run.self.lanes > 1 {
		return
	}
	x := exchange{mask: fullMask}
	if len(mask) == 1 {
		x.mask = mask[0]
	}
	a.meet(x)
}
