package replay

import (
	"context"
	"fmt"
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
