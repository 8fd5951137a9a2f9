package sm

import (
	"math/bits"
	"unsafe"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/tile"
	"github.com/x448/float16"
)

// A Register is what lanes exchange: what one register holds, or two.
type Register interface {
	Number | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int | ~uint | ~uintptr | ~[2]bf16.BF16 | ~[2]float16.Float16
}

// Shfl is __shfl_sync: it returns the v of lane src, modulo width, of the caller's segment. With a width, a power of
// two up to 32, lanes exchange in segments of so many; without one in the whole warp. It is a fault if that lane is not
// in the mask, or its thread has ended.
func Shfl[T Register](t *Thread, mask uint32, v T, src int, width ...int) T {
	t.enter("Shfl")
	return shuffle(t, opShfl, mask, v, src, width)
}

// ShflUp is __shfl_up_sync: Shfl from delta lanes below, of which only the lower 5 bits count. Lanes that have none in
// their segment get their own v.
func ShflUp[T Register](t *Thread, mask uint32, v T, delta int, width ...int) T {
	t.enter("ShflUp")
	return shuffle(t, opShflUp, mask, v, delta, width)
}

// ShflDown is __shfl_down_sync: Shfl from delta lanes above, of which only the lower 5 bits count. Lanes that have none
// in their segment get their own v.
func ShflDown[T Register](t *Thread, mask uint32, v T, delta int, width ...int) T {
	t.enter("ShflDown")
	return shuffle(t, opShflDown, mask, v, delta, width)
}

// ShflXor is __shfl_xor_sync: Shfl from the lane whose number is the caller's xor laneMask, of which only the lower 5
// bits count. Lanes for which that is in a segment above theirs get their own v; one below they reach.
func ShflXor[T Register](t *Thread, mask uint32, v T, laneMask int, width ...int) T {
	t.enter("ShflXor")
	return shuffle(t, opShflXor, mask, v, laneMask, width)
}

// shuffle is all of them.
func shuffle[T Register](t *Thread, op warpOp, mask uint32, v T, b int, width []int) T {
	x := exchange{collective: collective{op: op, of: typeOf[T](), width: warpSize}, mask: mask, value: toBits(v)}
	switch {
	case len(width) > 1:
		t.fail(RuleSync, "%d widths, want one or none", len(width))
	case len(width) > 0:
		x.width = width[0]
	}
	if w := x.width; w < 1 || w > warpSize || w&(w-1) != 0 {
		t.fail(RuleSync, "width %d, want a power of two up to %d", w, warpSize)
	}
	x.from = source(op, t.Lane(), b, x.width)
	return fromBits[T](t.collect(x))
}

// source returns the lane that a shuffle of b gets a value from (PTX 9.7.9.6, shfl.sync: semantics). The segment mask
// and clamp value are those that CUDA makes of a width.
func source(op warpOp, lane, b, width int) int {
	segment, b := warpSize-width, b&(warpSize-1)
	first := lane & segment
	last := first | (warpSize-1)&^segment
	from, in := lane, false
	switch op {
	case opShfl:
		from, in = first|b&^segment, true
	case opShflUp:
		from, in = lane-b, lane-b >= first
	case opShflDown:
		from, in = lane+b, lane+b <= last
	case opShflXor:
		from, in = lane^b, lane^b <= last
	}
	if !in {
		return lane
	}
	return from
}

// collect is meet for what only threads of their own can do.
func (t *Thread) collect(x exchange) uint64 {
	if self := t.run.self; self.lanes > 1 {
		t.fail(RuleSync, "%v by a thread of %v, which runs in lockstep: the values of all are on its goroutine", x, self)
	}
	return t.meet(x)
}

// typeOf returns what PTX calls an untyped value of T's size, in whole registers.
func typeOf[T Register]() string {
	if sizeof[T]() > 4 {
		return "b64"
	}
	return "b32"
}

// toBits returns the representation of a value, fromBits the value.
func toBits[T Register](v T) (u uint64) {
	*(*T)(unsafe.Pointer(&u)) = v
	return u
}

func fromBits[T Register](u uint64) T { return *(*T)(unsafe.Pointer(&u)) }

// vote is an operation of whether p.
func (t *Thread) vote(op warpOp, mask uint32, p bool) uint32 {
	x := exchange{collective: collective{op: op}, mask: mask}
	if p {
		x.value = 1
	}
	return uint32(t.collect(x))
}

// Ballot is __ballot_sync: it returns the lanes of the mask that came with a true p.
func (t *Thread) Ballot(mask uint32, p bool) uint32 {
	t.enter("Ballot")
	return t.vote(opBallot, mask, p)
}

// Any is __any_sync: whether a lane of the mask came with a true p. See Ballot.
func (t *Thread) Any(mask uint32, p bool) bool {
	t.enter("Any")
	return t.vote(opAny, mask, p) != 0
}

// All is __all_sync: whether every lane of the mask came with a true p. See Ballot.
func (t *Thread) All(mask uint32, p bool) bool {
	t.enter("All")
	return t.vote(opAll, mask, p) != 0
}

// MatchAny is __match_any_sync: it returns the lanes of the mask that came with a v of the same bits as the caller's.
func MatchAny[T Register](t *Thread, mask uint32, v T) uint32 {
	t.enter("MatchAny")
	return t.match(opMatchAny, typeOf[T](), mask, toBits(v))
}

// MatchAll is __match_all_sync: whether all lanes of the mask came with a v of the same bits; if so it
// returns those that did, else 0.
func MatchAll[T Register](t *Thread, mask uint32, v T) (lanes uint32, all bool) {
	t.enter("MatchAll")
	lanes = t.match(opMatchAll, typeOf[T](), mask, toBits(v))
	return lanes, lanes != 0
}

func (t *Thread) match(op warpOp, of string, mask uint32, value uint64) uint32 {
	return uint32(t.collect(exchange{collective: collective{op: op, of: of}, mask: mask, value: value}))
}

// ReduceSync is __reduce_add_sync and its kin: it returns the values that the lanes of the mask came with, combined by
// op: ReduceAdd, modulo 2³², ReduceMin, ReduceMax, ReduceAnd, ReduceOr or ReduceXor (PTX 9.7.13.12, redux.sync).
func ReduceSync[T int32 | uint32](t *Thread, op tile.ReduceOp, mask uint32, v T) T {
	t.enter("ReduceSync")
	c := collective{op: opReduce + warpOp(op), of: "u32"}
	switch {
	case op == 0 || int(op) >= len(opNames)-int(opReduce) || opNames[c.op] == "":
		t.fail(RuleSync, "%v, want ReduceAdd, ReduceMin, ReduceMax, ReduceAnd, ReduceOr or ReduceXor", op)
	case op == tile.ReduceAnd || op == tile.ReduceOr || op == tile.ReduceXor:
		c.of = "b32"
	case ^T(0) < 0:
		c.of = "s32"
	}
	return T(t.collect(exchange{collective: c, mask: mask, value: uint64(uint32(v))}))
}

// results gives the lanes met, which have come to an exchange each with a value, their results.
//
//go:norace
func (w *warpSync) results(met uint32) {
	var values [warpSize]uint64
	for rest := met; rest != 0; rest &= rest - 1 {
		q := bits.TrailingZeros32(rest)
		values[q] = w.lanes[q].exchange.value
	}
	same := uint64(0) // of all lanes, where it is
	if c := w.lanes[bits.TrailingZeros32(met)].exchange.collective; c.width == 0 && c.op != opMatchAny {
		same = c.result(&values, met)
	}
	for rest := met; rest != 0; rest &= rest - 1 {
		switch x := w.lanes[bits.TrailingZeros32(rest)].exchange; {
		case x.width > 0:
			x.value, x.lost = values[x.from], met>>x.from&1 == 0
		case x.op == opMatchAny:
			x.value = uint64(equal(&values, met, x.value))
		default:
			x.value = same
		}
	}
}

// result returns what all lanes of a vote, a match or a reduction get, of whom those met have brought values.
func (c collective) result(values *[warpSize]uint64, met uint32) uint64 {
	all := values[bits.TrailingZeros32(met)]
	switch c.op {
	case opBallot, opAny:
		return uint64(equal(values, met, 1))
	case opAll, opMatchAll:
		if c.op == opAll {
			all = 1
		}
		if equal(values, met, all) != met {
			return 0
		}
		return uint64(met)
	}
	for rest := met & (met - 1); rest != 0; rest &= rest - 1 {
		all = c.combine(all, values[bits.TrailingZeros32(rest)])
	}
	return all
}

// equal returns the lanes of those met whose value is v.
func equal(values *[warpSize]uint64, met uint32, v uint64) (lanes uint32) {
	for rest := met; rest != 0; rest &= rest - 1 {
		if q := bits.TrailingZeros32(rest); values[q] == v {
			lanes |= 1 << q
		}
	}
	return lanes
}

// combine is a step of a reduction, of 32 bits.
func (c collective) combine(a, b uint64) uint64 {
	less := a < b
	if c.of == "s32" {
		less = int32(a) < int32(b)
	}
	switch tile.ReduceOp(c.op - opReduce) {
	case tile.ReduceAdd:
		return uint64(uint32(a + b))
	case tile.ReduceMin, tile.ReduceMax:
		if less == (c.op == opReduce+warpOp(tile.ReduceMin)) {
			return a
		}
		return b
	case tile.ReduceAnd:
		return a & b
	case tile.ReduceOr:
		return a | b
	}
	return a ^ b
}
