package spin

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// A worker that multiplies spends its time in assembly, which the scheduler cannot
// preempt, and in loops around it, which the scheduler interrupts after 10 ms at the earliest:
// as long do timers of its P, and goroutines that are ready to run, wait if all Ps are
// taken. So workers give way themselves, whenever a line of a grid in time is crossed.
// Nothing is kept between two looks but in the hands of who looks, and products that are short follow
// each other on the grid as if they were one.

// turnTicks is the distance of the lines, a power of two: 120 to 290 µs. Between two looks
// may lie a call of a kernel, of about 100 µs.
const turnTicks = 1 << 19

// A Turn is when a goroutine last looked whether it is somebody else's turn, and what it
// has done since.
type Turn struct {
	last uint64
	work int
}

// lookFlops are the floating-point operations between two looks: a few microseconds, or some
// tens where they wait for memory.
const lookFlops = 1 << 20

// Begin makes the calling goroutine's turn begin.
func (t *Turn) Begin() { t.last = t.now() }

// Did counts flops that are done of a piece of work that began with the turn, and gives way in
// the middle of it if it takes longer than a turn: who waits for it had better wait no longer.
func (t *Turn) Did(flops int) {
	if t.work += flops; t.work >= lookFlops {
		t.work = 0
		t.lookLong()
	}
}

func (t *Turn) lookLong() {
	if now := t.now(); now-t.last >= turnTicks {
		t.last = now
		giveWay()
	}
}

// now returns the time, and for every stack another: who gives way at the same time as
// others may go on where one of them has been, far from what is in its cache.
func (t *Turn) now() uint64 {
	return Ticks() + uint64(uintptr(unsafe.Pointer(t))>>stackBits)*(turnTicks/8*5+1)
}

// stackBits is the size of what is taken for a stack.
const stackBits = 13

// Look gives way if that is due. To look takes a few nanoseconds.
func (t *Turn) Look() {
	now := t.now()
	if (now^t.last)/turnTicks != 0 {
		giveWay()
	}
	t.last = now
}

// Glance is Look for who has worked for about so many ticks, much less than a turn, and has
// not begun one: to read the clock twice would take too long.
func Glance(worked uint64) {
	if Ticks()%turnTicks < worked {
		giveWay()
	}
}

var idle struct {
	sync.Mutex
	read [2]metrics.Sample
}

func init() {
	idle.read[0].Name = "/sched/gomaxprocs:threads"
	idle.read[1].Name = "/sched/goroutines/running:goroutines"
	if race.Enabled {
		metrics.Read(idle.read[:]) // the first makes a map, for which no order is hidden
	}
}

// Idle returns how many Ps have nothing to run, as far as that is known: 0 while another
// goroutine asks.
func Idle() int {
	race.Hide() // who gives way comes after nobody who has
	defer race.Show()
	if !idle.TryLock() {
		return 0
	}
	defer idle.Unlock()
	metrics.Read(idle.read[:])
	for i := range idle.read {
		if idle.read[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
	}
	return max(0, int(idle.read[0].Value.Uint64())-int(idle.read[1].Value.Uint64()))
}

// giveWay lets the timers of this P and other goroutines run, unless there is an idle P:
// whatever is due would be there, and to yield would wake its thread for nothing, which takes 5 to 10 µs.
func giveWay() {
	if Idle() == 0 {
		runtime.Gosched()
	}
}
