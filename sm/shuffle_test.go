package sm_test

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// shuffles are the four, with the lane whose value each returns as CUDA's guide describes it: in segments of width.
var shuffles = []struct {
	name   string
	do     func(t *sm.Thread, mask uint32, v int32, b int, width ...int) int32
	source func(lane, b, width int) int
}{
	{"Shfl", sm.Shfl[int32], func(lane, b, width int) int {
		for b < 0 {
			b += width
		}
		return lane - lane%width + b%width
	}},
	{"ShflUp", sm.ShflUp[int32], func(lane, b, width int) int {
		if d := fiveBits(b); lane%width >= d {
			return lane - d
		}
		return lane
	}},
	{"ShflDown", sm.ShflDown[int32], func(lane, b, width int) int {
		if d := fiveBits(b); lane%width+d < width {
			return lane + d
		}
		return lane
	}},
	{"ShflXor", sm.ShflXor[int32], func(lane, b, width int) int {
		if to := lane ^ fiveBits(b); to/width <= lane/width {
			return to
		}
		return lane
	}},
}

func fiveBits(b int) int { return ((b % 32) + 32) % 32 }

// TestShuffleSources: every lane gets the value of the lane that the model says, for every width and offset.
func TestShuffleSources(t *testing.T) {
	t.Parallel()
	for _, m := range modes[:2] {
		err := launch(t, in(m, block(32)), func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				for _, s := range shuffles {
					for width := 1; width <= 32; width *= 2 {
						for b := -34; b < 68; b++ {
							got := s.do(t, sm.FullMask, int32(100+t.Lane()), b, width)
							want := int32(100 + s.source(t.Lane(), b, width))
							assert(got == want, "%s(%d, width %d) is %d, want %d", s.name, b, width, got, want)
						}
					}
					got, want := s.do(t, sm.FullMask, int32(t.Lane()), 5), s.source(t.Lane(), 5, 32)
					assert(got == int32(want), "%s without a width is %d, want %d", s.name, got, want)
				}
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// Lanes may each name another lane, and of any type that a register or two hold.
func TestShuffleTypes(t *testing.T) {
	type celsius float32
	err := launch(t, block(32), func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) {
			from := (7*t.Lane() + 3) % 32
			same(t, func(i int) int8 { return int8(-i) }, from)
			same(t, func(i int) uint16 { return uint16(65535 - i) }, from)
			same(t, func(i int) int { return -i }, from)
			same(t, func(i int) celsius { return celsius(i) / 4 }, from)
			same(t, func(i int) float64 { return float64(i) / 3 }, from)
			same(t, func(i int) uint64 { return 1<<63 + uint64(i)<<31 }, from)
			same(t, func(i int) bf16.BF16 { return bf16.FromFloat32(float32(i)) }, from)
			same(t, func(i int) [2]bf16.BF16 { return [2]bf16.BF16{bf16.BF16(i), bf16.BF16(2 * i)} }, from)
		})
	})
	if err != nil {
		t.Error(err)
	}
}

func same[T interface {
	sm.Register
	comparable
}](t *sm.Thread, value func(lane int) T, from int) {
	got := sm.Shfl(t, sm.FullMask, value(t.Lane()), from)
	assert(got == value(from), "%T of lane %d is %v, want %v", got, from, got, value(from))
}

// vote is what a thread brings to a round of TestCollectives.
func vote(round, thread int) uint32 {
	return uint32(rand.New(rand.NewPCG(uint64(round), uint64(thread))).Uint32())
}

// TestCollectives: in every round the lanes of each warp fall into groups, of which each does some of the operations,
// as often as it likes, and gets what a model does of the values that its lanes bring. Every now and then lanes end.
func TestCollectives(t *testing.T) {
	t.Parallel()
	const rounds, threads = 12, 75 // the last warp has 11
	kernel := func(seed uint64) sm.Kernel {
		return func(b *sm.Block) {
			b.Threads(func(t *sm.Thread) {
				r := rand.New(rand.NewPCG(seed, uint64(t.WarpRank()))) // the same in all lanes
				for round := range rounds {
					var group [32]int
					parts := 1 + r.IntN(4)
					for i := range group {
						group[i] = r.IntN(parts)
					}
					ends := -1
					if r.IntN(3) == 0 {
						ends = r.IntN(32)
					}
					var ops [4][]int
					for i := range ops {
						ops[i] = r.Perm(9)[:1+r.IntN(9)]
					}
					mask := uint32(0)
					for i, g := range group {
						if g == group[t.Lane()] {
							mask |= 1 << i
						}
					}
					if t.Lane() == ends {
						return
					}
					live := sm.Shfl(t, mask, mask&t.Ballot(mask, true), t.Lane())
					for _, op := range ops[group[t.Lane()]] {
						collective(t, op, round, mask, live)
					}
					if r.IntN(2) == 0 {
						t.SyncWarp()
					}
				}
			})
		}
	}
	n := uint64(few(1))
	for seed := range n {
		for _, m := range modes[:2] {
			cfg := in(m, block(threads))
			cfg.Seed = seed
			if err := launch(t, cfg, kernel(seed)); err != nil {
				t.Fatalf("%s, seed %d: %v", mode(m), seed, err)
			}
		}
	}
}

// collective does an operation with the lanes of mask, of which live have not ended.
func collective(t *sm.Thread, op, round int, mask, live uint32) {
	first := t.Rank() - t.Lane()
	var values, sorted []uint32
	var same, set uint32
	mine := vote(round, t.Rank()) % 4
	for rest := live; rest != 0; rest &= rest - 1 {
		lane := bits.TrailingZeros32(rest)
		v := vote(round, first+lane)
		values = append(values, v)
		if v%4 == mine {
			same |= 1 << lane
		}
		if v%2 == 1 {
			set |= 1 << lane
		}
	}
	sorted = slices.Sorted(slices.Values(values))
	v := vote(round, t.Rank())
	fold := func(f func(a, b uint32) uint32) (x uint32) {
		x = values[0]
		for _, v := range values[1:] {
			x = f(x, v)
		}
		return x
	}
	var got, want any
	switch op {
	case 0:
		got, want = t.Ballot(mask, v%2 == 1), set
	case 1:
		got, want = t.Any(mask, v%2 == 1), set != 0
	case 2:
		got, want = t.All(mask, v%2 == 1), set == live
	case 3:
		got, want = sm.MatchAny(t, mask, v%4), same
	case 4:
		lanes, all := sm.MatchAll(t, mask, uint64(v%2)<<40)
		got, want = fmt.Sprint(lanes, all), fmt.Sprint(0, false)
		if set == live || set == 0 {
			want = fmt.Sprint(live, true)
		}
	case 5:
		got = [3]uint32{sm.ReduceSync(t, tile.ReduceAdd, mask, v), sm.ReduceSync(t, tile.ReduceMin, mask, v),
			sm.ReduceSync(t, tile.ReduceMax, mask, v)}
		want = [3]uint32{fold(func(a, b uint32) uint32 { return a + b }), sorted[0], sorted[len(sorted)-1]}
	case 6:
		signed := func(a, b uint32) int { return cmp.Compare(int32(a), int32(b)) }
		least, most := slices.MinFunc(values, signed), slices.MaxFunc(values, signed)
		got = [2]int32{sm.ReduceSync(t, tile.ReduceMin, mask, int32(v)), sm.ReduceSync(t, tile.ReduceMax, mask, int32(v))}
		want = [2]int32{int32(least), int32(most)}
	case 7:
		got = [3]uint32{sm.ReduceSync(t, tile.ReduceAnd, mask, v), sm.ReduceSync(t, tile.ReduceOr, mask, v),
			sm.ReduceSync(t, tile.ReduceXor, mask, v)}
		want = [3]uint32{fold(func(a, b uint32) uint32 { return a & b }), fold(func(a, b uint32) uint32 { return a | b }),
			fold(func(a, b uint32) uint32 { return a ^ b })}
	case 8:
		from := bits.Len32(live) - 1
		got, want = sm.Shfl(t, mask, v, from), vote(round, first+from)
	}
	assert(got == want, "operation %d of lanes %#x, %#x of them live: %v, want %v", op, mask, live, got, want)
}

// BenchmarkWarp is an operation of each of the 32 warps of a block.
func BenchmarkWarp(b *testing.B) {
	for name, do := range map[string]func(t *sm.Thread, i int){
		"SyncWarp":   func(t *sm.Thread, _ int) { t.SyncWarp() },
		"ShflXor":    func(t *sm.Thread, i int) { sm.ShflXor(t, sm.FullMask, i, 1) },
		"Ballot":     func(t *sm.Thread, i int) { t.Ballot(sm.FullMask, i > 0) },
		"ReduceSync": func(t *sm.Thread, i int) { sm.ReduceSync(t, tile.ReduceAdd, sm.FullMask, int32(i)) },
	} {
		b.Run(name, func(b *testing.B) {
			err := sm.Launch(context.Background(), sm.Config{Block: sm.Dim3{X: 1024}}, func(block *sm.Block) {
				block.Threads(func(t *sm.Thread) {
					for i := range b.N {
						do(t, i)
					}
				})
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
