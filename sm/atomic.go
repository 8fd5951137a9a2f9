package sm

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// Integer is what integer atomics are of.
type Integer interface {
	~int32 | ~uint32 | ~int64 | ~uint64
}

// Number is what can be added, exchanged and compared.
type Number interface{ Integer | ~float32 | ~float64 }

// AtomicAdd adds v. Sums of float32 in shared memory keep subnormals; in global memory these are zeros of their sign,
// operands and sum (PTX atom.add.f32). A NaN of float32 is 0x7fffffff, of float64 the first that is added, made quiet
// in shared memory, or in global memory v before what was there.
func AtomicAdd[T Number](t *Thread, a *Array[T], v T) (old T) {
	add := sum[T]
	if a.inGlobal() {
		add = sumGlobal[T]
	}
	return modify(t, a, "AtomicAdd", writes, func(old T) T { return add(old, v) })
}

// AtomicSub subtracts v.
func AtomicSub[T Integer](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicSub", writes, func(old T) T { return old - v })
}

// AtomicExch stores v.
func AtomicExch[T Number](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicExch", writes|looks, func(T) T { return v })
}

// AtomicMin stores v if it is less.
func AtomicMin[T Integer](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicMin", writes, func(old T) T { return min(old, v) })
}

// AtomicMax stores v if it is greater.
func AtomicMax[T Integer](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicMax", writes, func(old T) T { return max(old, v) })
}

// AtomicInc counts up from 0 to most, and then begins again.
func AtomicInc[T ~uint32](t *Thread, a *Array[T], most T) (old T) {
	return modify(t, a, "AtomicInc", writes, func(old T) T {
		if old >= most {
			return 0
		}
		return old + 1
	})
}

// AtomicDec counts down from most to 0, and then begins again, as it does above most.
func AtomicDec[T ~uint32](t *Thread, a *Array[T], most T) (old T) {
	return modify(t, a, "AtomicDec", writes, func(old T) T {
		if old == 0 || old > most {
			return most
		}
		return old - 1
	})
}

// AtomicAnd is bitwise.
func AtomicAnd[T Integer](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicAnd", writes, func(old T) T { return old & v })
}

// AtomicOr is bitwise.
func AtomicOr[T Integer](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicOr", writes, func(old T) T { return old | v })
}

// AtomicXor is bitwise.
func AtomicXor[T Integer](t *Thread, a *Array[T], v T) (old T) {
	return modify(t, a, "AtomicXor", writes, func(old T) T { return old ^ v })
}

// AtomicCAS stores v if the element is compare.
func AtomicCAS[T Integer](t *Thread, a *Array[T], compare, v T) (old T) {
	return modify(t, a, "AtomicCAS", writes|looks, func(old T) T {
		if old == compare {
			return v
		}
		return old
	})
}

// AtomicLoad returns the element (ld.relaxed, cuda::atomic_ref; a volatile that others change).
func AtomicLoad[T Number](t *Thread, a *Array[T]) T {
	return modify(t, a, "AtomicLoad", looks, nil)
}

// AtomicStore sets the element to v (st.relaxed, cuda::atomic_ref; a volatile that others read).
func AtomicStore[T Number](t *Thread, a *Array[T], v T) {
	modify(t, a, "AtomicStore", writes|sets, func(T) T { return v })
}

// sumGlobal is sum in global memory.
func sumGlobal[T Number](x, y T) T {
	switch {
	case !isFloat[T]():
	case unsafe.Sizeof(x) == 4:
		return flush(sum(flush(x), flush(y)))
	case y != y:
		return y
	case x != x:
		return x
	}
	return sum(x, y)
}

func isFloat[T Number]() bool {
	var one T = 1
	return one/2 != 0
}

// flush returns a zero for a subnormal float32.
func flush[T Number](v T) T {
	if math.Abs(float64(v)) < 0x1p-126 {
		return T(math.Copysign(0, float64(v)))
	}
	return v
}

// sum returns x + y, with the GPU's NaN: of float32 one, of float64 the first that is added, made quiet.
func sum[T Number](x, y T) T {
	z := x + y
	switch {
	case z == z:
		return z
	case unsafe.Sizeof(z) == 4:
		return fromBits[T](0x7fffffff)
	case x != x:
		return fromBits[T](toBits(x) | 1<<51)
	case y != y:
		return fromBits[T](toBits(y) | 1<<51)
	}
	return fromBits[T](0xfff8 << 48)
}

// swap makes *p what f says of what it was, if f is not nil, and reports whether that is another.
func swap[T Number](p *T, f func(old T) T) (old T, changed bool) {
	for {
		var was uint64
		if unsafe.Sizeof(*p) == 4 {
			was = uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(p))))
		} else {
			was = atomic.LoadUint64((*uint64)(unsafe.Pointer(p)))
		}
		old = fromBits[T](was)
		if f == nil {
			return old, false
		}
		now, done := toBits(f(old)), false
		if unsafe.Sizeof(*p) == 4 {
			done = atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(p)), uint32(was), uint32(now))
		} else {
			done = atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(p)), was, now)
		}
		if done {
			return old, now != was
		}
	}
}

// modify is every atomic of the first element of a: one that stores what f says of it, or reads it if f is nil.
func modify[T Number](t *Thread, a *Array[T], op string, how manner, f func(old T) T) (old T) {
	size := sizeof[T]()
	if len(a.data) == 0 || a.offset%size != 0 || a.watched(t) {
		t.enterBelow(op)
		if a.offset%size != 0 {
			t.fail(RuleAlignment, "%s: an atomic of %d bytes, at address %d",
				a.first(t), size, a.offset)
		}
		if size == 8 {
			how |= wide
		}
		a.touch(&t.agent, op, 0, 1, how&^looks|generic|combines)
		if t.cta.banks != nil && t.cta == a.memory.cta {
			t.banked(op, a.decl, a.offset, size, true, pipeOf[T](op, how))
		}
	}
	old, changed := swap(&a.data[0], f)
	switch r := t.run; {
	case changed:
		r.polls = 0
		a.memory.altered(r.cta.cluster)
	case how&looks == 0:
		r.polls = 0
	case r.again(look{unsafe.Pointer(&a.data[0]), toBits(old)}):
		t.at(op, 1)
		if !r.stuck(toLook) {
			r.pass()
			break
		}
		what := a.first(t)
		if r.history != nil && a.memory.unwritten(a.offset) {
			what += unwrittenText + ","
		}
		r.waits = unchanged(fmt.Sprintf("%s to change from %v", what, old))
		r.doze(nil, pollPause, true)
	}
	return old
}

// first says what the kernel calls the first element, for t.
func (a *Array[T]) first(t *Thread) string {
	end := a.offset + sizeof[T]()
	if a.inGlobal() {
		return a.decl.elements(a.offset, end)
	}
	return a.memory.where(&t.agent, a.offset, end)
}

// pipeOf returns the way of an atomic. What is none of the hardware's is a loop, which nobody knows the length of.
func pipeOf[T Number](op string, how manner) pipe {
	var one T = 1
	switch {
	case how&writes == 0:
		return pipeLoad
	case how&sets != 0:
		return pipeStore
	case op == "AtomicCAS":
		return pipeCAS
	case op == "AtomicExch" || unsafe.Sizeof(one) == 4 && !isFloat[T]():
		return pipeAtom
	}
	return pipeNone
}

// A look is what an agent has found by an atomic.
type look struct {
	at    unsafe.Pointer
	value uint64
}

// glances are the last looks that found something else than before: as many as the lanes of a warp take at flags and
// values.
type glances [64]look

// again reports whether the agent has found that already, where it looked last.
func (r *runner) again(l look) bool {
	if r.glances == nil {
		r.glances = new(glances)
	}
	if slices.Contains(r.glances[:], l) {
		return true
	}
	copy(r.glances[1:], r.glances[:])
	r.glances[0], r.polls = l, 0
	return false
}

// unchanged is what an agent waits for that loops over an atomic.
type unchanged string

func (u unchanged) missing(uint64) string { return string(u) }

// altered counts a change of m by an atomic of an agent of c: agents that doze have to look again, those of all
// clusters at global memory.
func (m *memory) altered(c *cluster) {
	c.progressed()
	if m.cta == nil {
		race.Hide()
		m.launch.settled.Add(1)
		race.Show()
	}
	if s := m.launch.turns(); s != nil {
		s.rouse()
	}
}

// rouse lets those go on that doze over an atomic.
func (s *scheduler) rouse() {
	s.dozing = slices.DeleteFunc(s.dozing, func(r *runner) bool {
		if r.looks() {
			s.turns = append(s.turns, r)
			return true
		}
		return false
	})
}
