package sm

import (
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/tile"
)

// FullMask names every lane of a warp. Of the last warp of a block, which may have fewer, it names those that it has.
const FullMask uint32 = 0xffffffff

// A warpSync is where the threads of a warp that are agents of their own come to the operations that lanes of a mask do
// together: each of them waits for those that have not ended and have not come. The race detector, from which it is
// hidden, is not to believe in any order but that of SyncWarp, among the lanes of a mask.
type warpSync struct {
	mu      sync.Mutex
	gone    uint32            // lanes that have ended
	waiting uint32            // lanes that have come
	lanes   [warpSize]*runner // of these
	told    meeting
	block   contingent

	component, published uint32 // what counts CopyFenceReleases under Check, and how many there have been
}

// An exchange is what a lane brings to an operation of its warp, and takes away.
type exchange struct {
	collective
	mask  uint32
	from  int    // the lane whose value a shuffle returns
	value uint64 // and then the result
	lost  bool   // there is none: that lane has ended
}

// A collective is an operation of a warp, with the qualifiers and operands that are the same for all lanes.
type collective struct {
	op     warpOp
	of     string // the type, as PTX names it
	width  int    // of a shuffle
	copies publication
}

// A warpOp is what an operation does.
type warpOp uint8

const (
	opSync warpOp = iota
	opShfl
	opShflUp
	opShflDown
	opShflXor
	opBallot
	opAny
	opAll
	opMatchAny
	opMatchAll
	opCopyFence
	opReduce // and behind it those of each tile.ReduceOp
)

var opNames = [...]string{
	opSync:     "__syncwarp",
	opShfl:     "__shfl_sync",
	opShflUp:   "__shfl_up_sync",
	opShflDown: "__shfl_down_sync",
	opShflXor:  "__shfl_xor_sync",
	opBallot:   "__ballot_sync",
	opAny:      "__any_sync",
	opAll:      "__all_sync",
	opMatchAny: "__match_any_sync",
	opMatchAll: "__match_all_sync",

	opCopyFence: "tensormap.cp_fenceproxy",

	opReduce + warpOp(tile.ReduceAdd): "__reduce_add_sync",
	opReduce + warpOp(tile.ReduceMin): "__reduce_min_sync",
	opReduce + warpOp(tile.ReduceMax): "__reduce_max_sync",
	opReduce + warpOp(tile.ReduceAnd): "__reduce_and_sync",
	opReduce + warpOp(tile.ReduceOr):  "__reduce_or_sync",
	opReduce + warpOp(tile.ReduceXor): "__reduce_xor_sync",
}

// String returns what a message calls the operation.
func (x exchange) String() string {
	text := opNames[x.op]
	if x.of != "" {
		text += " of " + x.of
	}
	if x.width > 0 {
		text += fmt.Sprintf(", width %d", x.width)
	}
	return fmt.Sprintf("%s, mask %#x", text, x.mask)
}

// warp returns the agent's warp, the lane that it is of it, and those that the block has.
func (a *agent) warp() (w *warpSync, lane int, all uint32) {
	warp := a.rank / warpSize
	n := min(warpSize, a.cta.launch.Block.Size()-warp*warpSize)
	return &a.cta.warps[warp], a.rank % warpSize, FullMask >> (warpSize - n)
}

// meet does an operation of the warp of a thread that is an agent, with the lanes of x.mask, and returns its result.
func (a *agent) meet(x exchange) uint64 {
	r := a.run
	w, lane, all := a.warp()
	if x.mask>>lane&1 == 0 {
		a.fail(RuleSync, "mask %#x does not name lane %d, which calls it", x.mask, lane)
	}
	named := x.mask
	if x.mask &= all; x.width > 0 && x.mask>>x.from&1 == 0 {
		why := fmt.Sprintf("which mask %#x does not name", named)
		if named>>x.from&1 != 0 {
			why = fmt.Sprintf("which the block's last warp, of %d threads, does not have", bits.OnesCount32(all))
		}
		a.fail(RuleSync, "lane %d is to get the value of lane %d, %s", lane, x.from, why)
	}
	if x.mask == all {
		r.met++
	}
	if r.polls = 0; r.exchange == nil {
		r.exchange = new(exchange)
	}
	orders := x.op == opSync || x.op == opCopyFence && r.history != nil // of which the checks know what it does not order
	if orders {
		race.Release(unsafe.Pointer(r.exchange))
	}
	last, by, other := w.arrive(a, lane, x)
	if by.agent != nil {
		a.fail(RuleSync, "%v, but %v has come with %v: lanes that name each other do the same", x, by, other)
	}
	if !last {
		r.block()
	}
	switch {
	case orders:
		race.Acquire(unsafe.Pointer(r.exchange))
	case r.exchange.lost:
		a.fail(RuleSync, "lane %d is to get the value of lane %d, whose thread %d has ended",
			lane, x.from, a.rank-lane+x.from)
	}
	return r.exchange.value
}

// arrive brings a to an operation, and reports whether those whom it waits for have all come. It returns who, if
// anybody, waits for a to come with something else, while a waits for it.
//
//go:norace
func (w *warpSync) arrive(a *agent, lane int, x exchange) (last bool, by mark, other exchange) {
	var over queue
	w.lock()
	defer w.unlock(&over)
	for rest := w.waiting & x.mask; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		r := w.lanes[q]
		y := *r.exchange
		same := y.mask == x.mask && y.collective == x.collective
		if y.mask>>lane&1 != 0 && !same && (x.op != opSync || y.op != opSync) {
			return false, mark{r.by, r.site}, y
		}
	}
	r := a.run
	*r.exchange = x
	w.lanes[lane] = r
	w.waiting |= 1 << lane
	met := w.met(x.mask)
	if met|w.gone&x.mask == x.mask {
		w.complete(met, r, &over)
		return true, by, other
	}
	r.waits, r.target = w, uint64(x.mask)
	return false, by, other
}

func (w *warpSync) lock() {
	race.Hide()
	w.mu.Lock()
}

// unlock wakes those for whom an operation has ended.
func (w *warpSync) unlock(over *queue) {
	released := over.release()
	w.mu.Unlock()
	released.wake(0)
	race.Show()
}

// met returns the lanes that have come with a mask.
//
//go:norace
func (w *warpSync) met(mask uint32) (met uint32) {
	for rest := w.waiting & mask; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		if w.lanes[q].exchange.mask == mask {
			met |= 1 << q
		}
	}
	return met
}

// complete ends the operation that the lanes met have come to, for all of these but last by the queue.
//
//go:norace
func (w *warpSync) complete(met uint32, last *runner, over *queue) {
	w.waiting &^= met
	first := w.lanes[bits.TrailingZeros32(met)]
	switch first.exchange.op {
	case opSync:
		w.tellAll(met)
	case opCopyFence:
		w.copy(met)
	default:
		w.results(met)
	}
	first.cta.cluster.progressed()
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		if r := w.lanes[q]; r != last {
			over.push(r, w, r.target)
		}
	}
}

// copy has the lanes met publish a tensor map.
//
//go:norace
func (w *warpSync) copy(met uint32) {
	race.Show()
	defer race.Hide()
	var all []*runner
	for rest := met; rest != 0; rest &= rest - 1 {
		r := w.lanes[bits.TrailingZeros32(rest)]
		race.Acquire(unsafe.Pointer(r.exchange))
		all = append(all, r)
	}
	w.publish(all, all[0].exchange.copies)
	for _, r := range all {
		race.Release(unsafe.Pointer(r.exchange))
	}
}

// tellAll tells the lanes met what each of them knows.
//
//go:norace
func (w *warpSync) tellAll(met uint32) {
	race.Show()
	defer race.Hide()
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		race.Acquire(unsafe.Pointer(w.lanes[q].exchange))
		w.told.arrive(w.lanes[q].history)
	}
	w.told.complete()
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		race.Release(unsafe.Pointer(w.lanes[q].exchange))
		w.told.tell(w.lanes[q].history)
	}
}

// leave takes a lane whose thread has ended out of those that others wait for.
//
//go:norace
func (w *warpSync) leave(lane int) {
	var over queue
	w.lock()
	defer w.unlock(&over)
	w.gone |= 1 << lane
	for rest := w.waiting; rest != 0; {
		mask := w.lanes[bits.TrailingZeros32(rest)].exchange.mask
		met := w.met(mask)
		if rest &^= met; mask>>lane&1 != 0 && met|w.gone&mask == mask {
			w.complete(met, nil, &over)
		}
	}
}

// missing says who does not come to an operation, the target of whose wait is its mask.
//
//go:norace
func (w *warpSync) missing(target uint64) string {
	w.lock()
	defer w.unlock(new(queue))
	mask := uint32(target)
	first := w.lanes[bits.TrailingZeros32(w.met(mask))]
	rank := first.self.rank / warpSize * warpSize
	text := fmt.Sprintf("%s of warp %d", opNames[first.exchange.op], rank/warpSize)
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
	x := exchange{mask: FullMask}
	if len(mask) == 1 {
		x.mask = mask[0]
	}
	a.meet(x)
}
