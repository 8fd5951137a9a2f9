package replay

import (
	"context"
	"fmt"
	"math"
	"strings"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// reductions are the operations of redux by the names of PTX.
var reductions = map[string]tile.ReduceOp{
	"add": tile.ReduceAdd, "min": tile.ReduceMin, "max": tile.ReduceMax,
	"and": tile.ReduceAnd, "or": tile.ReduceOr, "xor": tile.ReduceXor,
}

// Warp has a warp of package sm do a record, in the mode of cfg, and says how the words that it leaves differ from the
// GPU's, or "".
func Warp(r *golden.WarpRecord, cfg sm.Config) (string, error) {
	cfg.Block = sm.Dim3{X: golden.WarpLanes}
	var got []uint32
	err := sm.Launch(context.Background(), cfg, func(b *sm.Block) {
		if strings.HasSuffix(r.Kind(), "matrix") {
			memory := sm.Shared[uint32](b, golden.WarpMatrixWords, 16)
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) { got = matrices(r, w, memory) }))
			return
		}
		got = make([]uint32, golden.WarpLanes)
		b.Threads(func(t *sm.Thread) {
			if lane := t.Lane(); r.Mask>>lane&1 != 0 {
				got[lane] = word(r, t, r.A[lane], r.B[lane])
			}
		})
	})
	if err != nil {
		return fmt.Sprintf("%s: %v", r.Op, err), nil
	}
	for i, want := range r.Result {
		if got[i] != want {
			return fmt.Sprintf("%s: word %d is %#08x, the GPU's %#08x", r.Op, i, got[i], want), nil
		}
	}
	return "", nil
}

// word has a thread do an instruction that leaves it a word, with the words a and b.
func word(r *golden.WarpRecord, t *sm.Thread, a, b uint32) uint32 {
	f := strings.Split(r.Op, ".")
	switch kind, op := f[0], f[1]; kind {
	case "shfl":
		switch op {
		case "idx":
			return sm.Shfl(t, r.Mask, a, int(b), r.Width)
		case "up":
			return sm.ShflUp(t, r.Mask, a, int(b), r.Width)
		case "down":
			return sm.ShflDown(t, r.Mask, a, int(b), r.Width)
		}
		return sm.ShflXor(t, r.Mask, a, int(b), r.Width)
	case "vote":
		switch op {
		case "ballot":
			return t.Ballot(r.Mask, a != 0)
		case "any":
			return bit(t.Any(r.Mask, a != 0))
		}
		return bit(t.All(r.Mask, a != 0))
	case "match":
		if op == "any" {
			return sm.MatchAny(t, r.Mask, a)
		}
		lanes, _ := sm.MatchAll(t, r.Mask, a)
		return lanes
	}
	if f[2] == "s32" {
		return uint32(sm.ReduceSync(t, reductions[f[1]], r.Mask, int32(a)))
	}
	return sm.ReduceSync(t, reductions[f[1]], r.Mask, a)
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// matrices has a warp load or store matrices, and returns their registers, lane by lane, or the memory.
func matrices(r *golden.WarpRecord, w *sm.Warp, memory *sm.Array[uint32]) []uint32 {
	n := r.Matrices()
	row := func(lane int) sm.Region { return memory.At(int(r.B[lane]) * 4) }
	registers := make([][golden.WarpLanes]uint32, n)
	trans := strings.HasSuffix(r.Op, ".trans")
	if r.Kind() == "stmatrix" {
		memory.Write(w, 0, make([]uint32, golden.WarpMatrixWords))
		for i, v := range r.A {
			registers[i%n][i/n] = v
		}
		w.SyncWarp()
		if trans {
			w.StoreMatrixTrans(row, registers)
		} else {
			w.StoreMatrix(row, registers)
		}
		w.SyncWarp()
		words := make([]uint32, golden.WarpMatrixWords)
		memory.Read(w, 0, words)
		return words
	}
	memory.Write(w, 0, r.A)
	w.SyncWarp()
	if trans {
		w.LoadMatrixTrans(row, registers)
	} else {
		w.LoadMatrix(row, registers)
	}
	words := make([]uint32, n*golden.WarpLanes)
	for i := range words {
		words[i] = registers[i%n][i/n]
	}
	return words
}

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

// operation does a record's to the first element of a, or to *global if that is its place, and returns what was there.
type operation[T sm.Number] func(r *golden.Atomic, t *sm.Thread, a *sm.Array[T], global *T, v, compare T) T

// atomic is Atomic for values of type T.
func atomic[T sm.Number](
	r *golden.Atomic, cfg sm.Config, of func(uint64) T, bits func(T) uint64, do operation[T],
) (string, error) {
	what := fmt.Sprintf("%s of %s, %s", r.Op, r.Type, r.Place)
	left := of(r.Before)
	var old T
	err := sm.Launch(context.Background(), cfg, func(b *sm.Block) {
		a := sm.Shared[T](b, 1, 8)
		b.Threads(func(t *sm.Thread) {
			a.Store(t, 0, left)
			old = do(r, t, a, &left, of(r.Operand), of(r.Compare))
			if r.Place == "shared" {
				left = a.Load(t, 0)
			}
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
func count(r *golden.Atomic, t *sm.Thread, a *sm.Array[uint32], global *uint32, v, compare uint32) uint32 {
	switch r.Op {
	case "inc":
		return sm.AtomicInc(t, a, v)
	case "dec":
		return sm.AtomicDec(t, a, v)
	}
	return integer(r, t, a, global, v, compare)
}

// integer is an operation on any integers.
func integer[T sm.Integer](r *golden.Atomic, t *sm.Thread, a *sm.Array[T], _ *T, v, compare T) T {
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
func float[T float32 | float64](r *golden.Atomic, t *sm.Thread, a *sm.Array[T], global *T, v, _ T) T {
	switch {
	case r.Op == "exch":
		return sm.AtomicExch(t, a, v)
	case r.Place == "global":
		return sm.AtomicAddGlobal(t, global, v)
	}
	return sm.AtomicAdd(t, a, v)
}
