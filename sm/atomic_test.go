package sm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/leafhopper/sm"
)

// atomically launches one thread with an element of shared memory that begins as v, and returns what f makes of it.
func atomically[T any](
	t *testing.T, place func(b *sm.Block) *sm.Array[T], v T, f func(t *sm.Thread, a *sm.Array[T]),
) (after T) {
	t.Helper()
	for _, m := range modes[:2] {
		err := launch(t, in(m, block(1)), func(b *sm.Block) {
			a := place(b)
			b.Threads(func(t *sm.Thread) {
				for i := range 3 {
					a.Store(t, i, v)
				}
				f(t, a.At(1))
				after = a.Load(t, 1)
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return after
}

func inShared[T any](b *sm.Block) *sm.Array[T] { return sm.Shared[T](b, 3, 16) }
func inGlobal[T any](b *sm.Block) *sm.Array[T] { return sm.Global(b, make([]T, 3)) }

// atomicCase checks what an atomic returns and leaves behind.
func atomicCase[T sm.Number](t *testing.T, name string, before, after T, f func(t *sm.Thread, a *sm.Array[T]) T) {
	t.Helper()
	bits := func(v T) string { return fmt.Sprintf("%v (%x)", v, v) }
	for _, place := range []func(b *sm.Block) *sm.Array[T]{inShared[T], inGlobal[T]} {
		var old T
		got := atomically(t, place, before, func(t *sm.Thread, a *sm.Array[T]) { old = f(t, a) })
		if bits(got) != bits(after) || bits(old) != bits(before) {
			t.Errorf("%s of %v: %s, returns %s, want %s", name, before, bits(got), bits(old), bits(after))
		}
	}
}

func integerCases[T sm.Integer](t *testing.T, least, most T) {
	type agent = sm.Thread
	type array = sm.Array[T]
	atomicCase(t, "add", 5, 7, func(t *agent, a *array) T { return sm.AtomicAdd(t, a, 2) })
	atomicCase(t, "add that wraps", most, least+1, func(t *agent, a *array) T { return sm.AtomicAdd(t, a, 2) })
	atomicCase(t, "sub", 5, 3, func(t *agent, a *array) T { return sm.AtomicSub(t, a, 2) })
	atomicCase(t, "sub that wraps", least, most, func(t *agent, a *array) T { return sm.AtomicSub(t, a, 1) })
	atomicCase(t, "exch", 5, least, func(t *agent, a *array) T { return sm.AtomicExch(t, a, least) })
	atomicCase(t, "min", 5, least, func(t *agent, a *array) T { return sm.AtomicMin(t, a, least) })
	atomicCase(t, "min", least, least, func(t *agent, a *array) T { return sm.AtomicMin(t, a, 5) })
	atomicCase(t, "max", least, most, func(t *agent, a *array) T { return sm.AtomicMax(t, a, most) })
	atomicCase(t, "max", most, most, func(t *agent, a *array) T { return sm.AtomicMax(t, a, 5) })
	atomicCase(t, "and", 12, 8, func(t *agent, a *array) T { return sm.AtomicAnd(t, a, 10) })
	atomicCase(t, "or", 12, 14, func(t *agent, a *array) T { return sm.AtomicOr(t, a, 10) })
	atomicCase(t, "xor", 12, 6, func(t *agent, a *array) T { return sm.AtomicXor(t, a, 10) })
	atomicCase(t, "CAS", 12, most, func(t *agent, a *array) T { return sm.AtomicCAS(t, a, 12, most) })
	atomicCase(t, "CAS in vain", 12, 12, func(t *agent, a *array) T { return sm.AtomicCAS(t, a, 13, most) })
	atomicCase(t, "load", most, most, func(t *agent, a *array) T { return sm.AtomicLoad(t, a) })
	atomicCase(t, "store", 1, most, func(t *agent, a *array) T { sm.AtomicStore(t, a, most); return 1 })
}

// TestAtomics checks values at both ends, those that wrap among them.
func TestAtomics(t *testing.T) {
	integerCases[int32](t, math.MinInt32, math.MaxInt32)
	integerCases[uint32](t, 0, math.MaxUint32)
	integerCases[int64](t, math.MinInt64, math.MaxInt64)
	integerCases[uint64](t, 0, math.MaxUint64)
	for before, after := range map[uint32]uint32{0: 1, 6: 7, 7: 0, 9: 0, math.MaxUint32: 0} {
		atomicCase(t, "inc", before, after, func(t *sm.Thread, a *sm.Array[uint32]) uint32 { return sm.AtomicInc(t, a, 7) })
	}
	for before, after := range map[uint32]uint32{0: 7, 1: 0, 7: 6, 8: 7, math.MaxUint32: 7} {
		atomicCase(t, "dec", before, after, func(t *sm.Thread, a *sm.Array[uint32]) uint32 { return sm.AtomicDec(t, a, 7) })
	}
}

// TestAtomicFloats has subnormals, which shared memory keeps and global memory flushes, and the one NaN.
func TestAtomicFloats(t *testing.T) {
	const tiny = math.SmallestNonzeroFloat32
	inf, minus := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	sub := float32(0x1p-127)
	for _, c := range []struct{ before, add, shared, global float32 }{
		{1.5, 2, 3.5, 3.5},
		{1, 0x1p-24, 1, 1},
		{tiny, tiny, 2 * tiny, 0},
		{-tiny, -tiny, -2 * tiny, minus},
		{minus, -tiny, -tiny, minus},
		{minus, tiny, tiny, 0},
		{1, -1, 0, 0},
		{sub, sub, 0x1p-126, 0},
		{0x1.8p-126, -0x1p-126, 0x1p-127, 0},
		{-0x1.8p-126, 0x1p-126, -0x1p-127, minus},
		{0x1p-126, sub, 0x1.8p-126, 0x1p-126},
		{math.MaxFloat32, math.MaxFloat32, inf, inf},
		{inf, -inf, math.Float32frombits(0x7fffffff), math.Float32frombits(0x7fffffff)},
		{math.Float32frombits(0xffc00001), 1, math.Float32frombits(0x7fffffff), math.Float32frombits(0x7fffffff)},
	} {
		var old, was float32
		got := atomically(t, inShared, c.before, func(t *sm.Thread, a *sm.Array[float32]) { old = sm.AtomicAdd(t, a, c.add) })
		sum := atomically(t, inGlobal, c.before, func(t *sm.Thread, a *sm.Array[float32]) { was = sm.AtomicAdd(t, a, c.add) })
		bits := math.Float32bits
		if bits(got) != bits(c.shared) || bits(sum) != bits(c.global) {
			t.Errorf("%v + %v: %v (%x), in global memory %v (%x), want %v and %v", c.before, c.add,
				got, bits(got), sum, bits(sum), c.shared, c.global)
		}
		if bits(old) != bits(c.before) || bits(was) != bits(c.before) {
			t.Errorf("%v + %v returns %v and %v", c.before, c.add, old, was)
		}
	}
	const least = math.SmallestNonzeroFloat64
	atomicCase(t, "add", 0.5, 0.75, func(t *sm.Thread, a *sm.Array[float64]) float64 { return sm.AtomicAdd(t, a, 0.25) })
	atomicCase(t, "add", least, 2*least, func(t *sm.Thread, a *sm.Array[float64]) float64 {
		return sm.AtomicAdd(t, a, least)
	})
	atomicCase(t, "exch", 1, inf, func(t *sm.Thread, a *sm.Array[float32]) float32 { return sm.AtomicExch(t, a, inf) })
}

// TestAtomicMisuse: an atomic is of an element, at a multiple of its size.
func TestAtomicMisuse(t *testing.T) {
	for _, m := range modes {
		err := launch(t, in(m, block(1)), func(b *sm.Block) {
			x := sm.Shared[int32](b, 4, 16)
			b.Threads(func(t *sm.Thread) { sm.AtomicLoad(t, x.At(4)) })
		})
		faultOf(t, err, sm.RuleShared, "AtomicLoad", "element 0 of x, which has 0", "atomic_test.go")
		err = launch(t, in(m, block(1)), func(b *sm.Block) {
			x := sm.Shared[int32](b, 5, 16)
			b.Threads(func(t *sm.Thread) { sm.AtomicAdd(t, sm.Recast[int64](x.Slice(1, 5)), 1) })
		})
		if fault(t, err).Rule == sm.RulePanic { // Recast has seen it
			continue
		}
		faultOf(t, err, sm.RuleAlignment, "AtomicAdd", "elements 1 to 2 of x", "8 bytes", "address 4")
	}
}

// TestAtomicDeadlock: a loop over atomics that nobody ends is told as other waits are.
func TestAtomicDeadlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		loop func(t *sm.Thread, x *sm.Array[int32])
		want string
	}{
		{"a flag", func(t *sm.Thread, x *sm.Array[int32]) {
			for sm.AtomicLoad(t, x.At(2)) == 0 {
			}
		}, "element 2 of x to change from 0"},
		{"two flags", func(t *sm.Thread, x *sm.Array[int32]) {
			for sm.AtomicLoad(t, x.At(2)) == 0 || sm.AtomicLoad(t, x.At(3)) == 0 {
				t.ThreadFence(sm.ScopeBlock)
			}
		}, "element 2 of x to change from 0"},
		{"a lock", func(t *sm.Thread, x *sm.Array[int32]) {
			for sm.AtomicCAS(t, x, 0, 1) != 0 {
			}
		}, "element 0 of x to change from 1"},
		{"a lock by exchange", func(t *sm.Thread, x *sm.Array[int32]) {
			for sm.AtomicExch(t, x, 1) != 0 {
			}
		}, "element 0 of x to change from 1"},
	} {
		for _, m := range modes[:2] { // no copies
			err := launch(t, in(m, block(3)), func(b *sm.Block) {
				counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
					if t.Rank() > 0 {
						c.loop(t, x)
					}
					t.SyncThreads()
				})
			})
			f := fault(t, err)
			if f.Rule != sm.RuleDeadlock {
				t.Errorf("%s, %s: %v", c.name, mode(m), err)
			}
			contains(t, f, "all 3 agents wait", c.want, "threads missing")
		}
	}
	err := launch(t, in(modes[1], block(2)), func(b *sm.Block) {
		lock := sm.Shared[int32](b, 1, 16)
		b.Threads(func(t *sm.Thread) {
			for sm.AtomicCAS(t, lock, 0, 1) != 0 {
			}
		})
	})
	faultOf(t, err, sm.RuleDeadlock, "for element 0 of lock, which nobody has written before, to change from -286331154")
}

// TestAtomicPatience: loops that come to an end are none, even if they look for long before others do something.
func TestAtomicPatience(t *testing.T) {
	t.Parallel()
	for _, m := range modes[:2] {
		err := launch(t, in(m, block(4)), func(b *sm.Block) {
			counted(b, func(t *sm.Thread, x *sm.Array[int32]) {
				if t.Rank() == 0 {
					for range 20_000 {
						sm.AtomicLoad(t, x) // and gives up
						sm.AtomicMax(t, x.At(1), 0)
					}
					for i := range int32(4_000) {
						sm.AtomicCAS(t, x.At(int(i%3)), 7, 8)
					}
				}
				// Turns: each waits for the one before.
				for round := range int32(50) {
					for sm.AtomicLoad(t, x.At(3)) != 4*round+int32(t.Rank()) {
					}
					sm.AtomicAdd(t, x.At(3), 1)
				}
				t.SyncThreads()
				assert(x.Load(t, 3) == 200, "%d", x.Load(t, 3))
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// atomic adds an atomic of warp a, of 4 or 8 bytes of a tile of a CTA.
func (p *program) atomic(r *rand.Rand, a, there, its int) {
	kind, i, bytes := r.IntN(4), r.IntN(4), 4
	if r.IntN(4) == 0 {
		i, bytes = i/2*2, 8
	}
	at := 16*its + 4*i
	n := p.do(a, fmt.Sprintf("atomic %d of %d bytes at %d of CTA %d", kind, bytes, at, there),
		func(w *sm.Warp, x *sm.Array[int32], _ []sm.Barrier) {
			if y := x.MapShared(there); bytes == 4 {
				randomAtomic(w.Thread(0), kind, y.At(at/4))
			} else {
				randomAtomic(w.Thread(0), kind, sm.Recast[int64](y).At(at/8))
			}
		})
	p.access(extent{begin: n, end: n, at: 16*programTiles*there + at, bytes: bytes, write: kind > 0, generic: true,
		reduces: true})
}

func randomAtomic[T sm.Integer](t *sm.Thread, kind int, x *sm.Array[T]) {
	switch kind {
	case 0:
		sm.AtomicLoad(t, x)
	case 1:
		sm.AtomicStore(t, x, 1)
	case 2:
		sm.AtomicAdd(t, x, 1)
	case 3:
		sm.AtomicCAS(t, x, 1, 2)
	}
}
