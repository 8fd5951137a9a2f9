package replay

import (
	"context"
	"fmt"
	"math"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/sm"
)

// Atomic has a thread do an atomic operation, in the mode of cfg, and says how what it returns and leaves differ from
// the GPU's, or "".
func Atomic(r *golden.Atomic, cfg sm.Config) (string, error) {
	switch r.Type {
	case "u32":
		return atomic(r, cfg, func(u uint64) uint32 { return uint32(u) }, func(v uint32) uint64 { return uint64(v) }, count)
	case "s32":
		return atomic(r, cfg, func(u uint64) int32 { return int32(u) },
			func(v int32) uint64 { return uint64(uint32(v)) }, integer[int32])
	case "u64":
		return atomic(r, cfg, func(u uint64) uint64 { return u }, func(v uint64) uint64 { return v }, integer[uint64])
	case "s64":
		return atomic(r, cfg, func(u uint64) int64 { return int64(u) },
			func(v int64) uint64 { return uint64(v) }, integer[int64])
	case "f32":
		return atomic(r, cfg, func(u uint64) float32 { return math.Float32frombits(uint32(u)) },
			func(v float32) uint64 { return uint64(math.Float32bits(v)) }, float[float32])
	}
	return atomic(r, cfg, math.Float64frombits, math.Float64bits, float[float64])
}

// operation does a record's to the first element of a, and returns what was there.
type operation[T sm.Number] func(r *golden.Atomic, t *sm.Thread, a *sm.Array[T], v, compare T) T

// atomic is Atomic for values of type T.
func atomic[T sm.Number](
	r *golden.Atomic, cfg sm.Config, of func(uint64) T, bits func(T) uint64, do operation[T],
) (string, error) {
	what := fmt.Sprintf("%s of %s, %s", r.Op, r.Type, r.Place)
	global := make([]T, 1)
	var old, left T
	err := sm.Launch(context.Background(), cfg, func(b *sm.Block) {
		a := sm.Global(b, global)
		if r.Place == "shared" {
			a = sm.Shared[T](b, 1, 8)
		}
		b.Threads(func(t *sm.Thread) {
			a.Store(t, 0, of(r.Before))
			old = do(r, t, a, of(r.Operand), of(r.Compare))
			left = a.Load(t, 0)
		})
	})
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %v", what, err), nil
	case bits(old) != r.Returned:
		return fmt.Sprintf("%s: it returns %#x, the GPU's %#x", what, bits(old), r.Returned), nil
	case bits(left) != r.After:
		return fmt.Sprintf("%s: %#x and %#x leave %#x, the GPU's %#x", what, r.Before, r.Operand, bits(left), r.After), nil
	}
	return "", nil
}

// count is an operation on uint32, which alone can be counted up and down.
func count(r *golden.Atomic, t *sm.Thread, a *sm.Array[uint32], v, compare uint32) uint32 {
	switch r.Op {
	case "inc":
		return sm.AtomicInc(t, a, v)
	case "dec":
		return sm.AtomicDec(t, a, v)
	}
	return integer(r, t, a, v, compare)
}

// integer is an operation on any integers.
func integer[T sm.Integer](r *golden.Atomic, t *sm.Thread, a *sm.Array[T], v, compare T) T {
	switch r.Op {
	case "add":
		return sm.AtomicAdd(t, a, v)
	case "sub":
		return sm.AtomicSub(t, a, v)
	case "exch":
		return sm.AtomicExch(t, a, v)
	case "min":
		return sm.AtomicMin(t, a, v)
	case "max":
		return sm.AtomicMax(t, a, v)
	case "and":
		return sm.AtomicAnd(t, a, v)
	case "or":
		return sm.AtomicOr(t, a, v)
	case "xor":
		return sm.AtomicXor(t, a, v)
	}
	return sm.AtomicCAS(t, a, compare, v)
}

// float is an operation on floats.
func float[T float32 | float64](r *golden.Atomic, t *sm.Thread, a *sm.Array[T], v, _ T) T {
	if r.Op == "exch" {
		return sm.AtomicExch(t, a, v)
	}
	return sm.AtomicAdd(t, a, v)
}
