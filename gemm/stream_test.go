package gemm_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// again computes s anew on its operands, whose C was old.
func again[O gemm.Output, I gemm.Element](t *testing.T, o operands[O, I], s spec, old []O) gemm.Stats {
	t.Helper()
	copy(o.c.Data, old)
	st, err := o.multiply(s)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestStream multiplies few rows by a B too large for a cache. The bits are those
// of the ring.
func TestStream(t *testing.T) {
	processors(t, 2)
	defer gemm.PretendL2(1)() // which keeps no B
	t.Run("bf16-f32", testStream[float32, bf16.BF16])
	t.Run("bf16-bf16", testStream[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testStream[float32, float16.Float16])
	t.Run("f32-f32", testStream[float32, float32])
	t.Run("f32-f16", testStream[float16.Float16, float32])
	t.Run("f64-f64", testStream[float64, float64])
}

func testStream[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		ms := []int{1, 2, 7, k.MR, k.MR + 1, 2 * k.MR, min(2*k.MR+3, 61), 33, 64}
		shapes := [][2]int{{513, 520}, {9001, 31}, {67, 4001}} // n, k
		if slowKernel(k.Name) || raceEnabled || testing.Short() {
			ms, shapes = ms[1:2], shapes[:1]
		}
		for i, m := range ms {
			for j, d := range shapes {
				if (i+j)%2 == 1 && i > 2 {
					continue
				}
				s := size(m, d[0], d[1], opts...)
				if 2*s.m*s.n*s.k <= 4<<20 {
					s.ring = true // not inline
				}
				s.seed, s.ta, s.tb, s.atStart = uint64(i+j), i&1 != 0, (i+j)&1 != 0, j&1 != 0
				s.padA, s.padB, s.padC = i, j, i+j
				if i%3 == 2 {
					s.alpha, s.beta = -0.5, 2
				}
				t.Run(fmt.Sprint(m, "x", d), func(t *testing.T) {
					o := build[O, I](t, s)
					defer o.free()
					old := slices.Clone(o.c.Data)
					s.opts = append(slices.Clip(opts), gemm.WithDepth(2))
					if st := again(t, o, s, old); st.Route != "ring" {
						t.Errorf("%v: want a ring", st)
					}
					want := dense(o.c)
					for _, workers := range []int{0, 1, 2, 4} {
						s.packed = workers == 2 && (m > 1 || typeOf[I]().Size() < 4) // whose panels caches have
						s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
						st := again(t, o, s, old)
						place := d[0] <= 256 && (st.Inline || st.Route == "slabs") // few columns
						// A small B that comes fast is shared out by slabs of rows.
						shared := gemm.WaitsForB(k) && workers != 1 && !s.packed && m > 16 && st.Route == "slabs"
						if !place && !shared && (st.Route != "columns" || st.Stages != st.Depth || st.TileK != s.k) {
							t.Errorf("%v: want a stream", st)
						}
						same(t, dense(o.c), want, s.n)
						checkGaps(t, s, o.c, old)
					}
				})
			}
		}
	})
}

// TestStreamPieces has many workers pass the columns of a slab on to each other, down
// K. The bits are those of the ring.
func TestStreamPieces(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	defer gemm.PretendL2(1)() // or workers take columns of few rows each, and pack nothing of float32
	t.Run("bf16-f32", testStreamPieces[float32, bf16.BF16])
	t.Run("f16-f32", testStreamPieces[float32, float16.Float16])
	t.Run("f32-f32", testStreamPieces[float32, float32])
	t.Run("f64-f64", testStreamPieces[float64, float64])
}

func testStreamPieces[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if raceEnabled && (k.Arithmetic != asm.Native || slowKernel(k.Name) && gemm.WaitsForB(k)) {
			t.Skip("takes long, and workers do the same with other kernels")
		}
		ms, depth := []int{1, 19, 6, 33}, 8201
		if slowKernel(k.Name) || raceEnabled || testing.Short() {
			ms, depth = ms[:2], 4163
		}
		pieces := false
		for i, m := range ms {
			s := size(m, 261, depth)
			if gemm.WaitsForB(k) && m > k.StreamRows(typeOf[I](), true) {
				s.n, s.k = 1537, 2115 // it would not stream fewer columns
			}
			s.tb = i > 1 || i == 1 && slowKernel(k.Name) // whose last
			if i%2 == 1 {
				s.alpha, s.beta = -0.5, 2 // sums do not go to C
			}
			s.seed, s.ta, s.padA, s.padB, s.padC = uint64(i), i&1 != 0, i, 3-i, i
			s.opts = append(slices.Clip(opts), gemm.WithDepth(2))
			o := build[O, I](t, s)
			old := slices.Clone(o.c.Data)
			again(t, o, s, old)
			want := dense(o.c)
			for _, packed := range []bool{false, true} {
				s.packed, s.opts = packed, append(slices.Clip(opts), gemm.WithWorkers(6))
				st := again(t, o, s, old)
				pieces = pieces || st.Route == "columns" && st.Stages > 1
				if st.Route == "columns" && (st.TileK != s.k || st.Stages != st.Depth) {
					t.Errorf("%d rows, packed %v: %v: want stages of a stream", m, packed, st)
				}
				same(t, dense(o.c), want, s.n)
				checkGaps(t, s, o.c, old)
			}
			o.free()
		}
		if !pieces && !slowKernel(k.Name) {
			t.Error("no stream has several stages")
		}
	})
}

// TestStreamSwept multiplies more rows, which workers stream if they can pack
// one panel of B behind the products of another. The bits are those of the ring.
func TestStreamSwept(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
	t.Run("bf16", testStreamSwept[bf16.BF16])
	t.Run("f16", testStreamSwept[float16.Float16])
	t.Run("f32", testStreamSwept[float32])
}

func testStreamSwept[I gemm.Element](t *testing.T) {
	const n, k = 4203, 1003 // more than a second-level cache holds, and no whole panels
	eachKernel(t, typeOf[I](), func(t *testing.T, kern *asm.Kernel, opts []gemm.Option) {
		ms := []int{65, 128, 130, 192, 193, 509, 513}
		if slowKernel(kern.Name) || raceEnabled || testing.Short() {
			ms = ms[:1]
		}
		if slowKernel(kern.Name) || kern.Arithmetic != asm.Native {
			t.Skip("it packs no panel behind products")
		}
		for i, m := range ms {
			restore := gemm.PretendIntel(i&1 == 0) // on which panels of rows of K are less deep
			s := size(m, n, k)
			s.seed, s.ta, s.tb, s.padA, s.padB, s.padC = uint64(i), i&1 != 0, i%3 == 1, i, i, i
			o := build[float32, I](t, s)
			old := slices.Clone(o.c.Data)
			s.opts = append(slices.Clip(opts), gemm.WithDepth(2))
			again(t, o, s, old)
			want := dense(o.c)
			for _, workers := range []int{1, 2, 3, 5} {
				s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
				st := again(t, o, s, old)
				streamed := st.Route == "columns"
				most := mostStreamed(kern, kern.PackDepth(typeOf[I](), s.tb) > 0, s.tb, workers)
				if streamed != (m <= most) {
					t.Errorf("%d rows, %d workers: %v: streamed is %v, want %v", m, workers, st, streamed, m <= most)
				}
				same(t, dense(o.c), want, n)
				checkGaps(t, s, o.c, old)
			}
			o.free()
			restore()
		}
	})
}

// mostStreamed returns how many rows of A are streamed by a B of many columns, which with AMX
// a few workers read as rows of A where they lie along K, and one sweeps otherwise.
func mostStreamed(kern *asm.Kernel, packs, along bool, workers int) int {
	starves := gemm.WaitsForB(kern)
	switch {
	case along && (packs || starves):
		return 128
	case workers > 4 && starves:
		return 256
	case workers <= 4 && packs || workers == 1 && starves:
		return 128
	}
	return 64
}

// TestStreamWholePieces sweeps a B that is cut into whole pieces along K, so that the last
// results come from one, alone and from hand to hand, with columns that fill pieces and not.
// The bits are those of the ring.
func TestStreamWholePieces(t *testing.T) {
	processors(t, 6)
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !k.Sweeps(asm.BF16) {
			t.Skip("it packs whole panels")
		}
		streams := false
		for i, tc := range []struct{ m, n, k int }{
			{5, 130, 32 * asm.SweepK}, {32, 2 * asm.SweepN, 40 * asm.SweepK}, {9, 1600, 12 * asm.SweepK},
		} {
			s := size(tc.m, tc.n, tc.k, append(slices.Clip(opts), gemm.WithDepth(2))...)
			s.seed = uint64(i)
			if i == 1 {
				s.alpha, s.beta = 0.75, -1.5
			}
			o := build[bf16.BF16, bf16.BF16](t, s)
			old := slices.Clone(o.c.Data)
			again(t, o, s, old)
			want := dense(o.c)
			for _, workers := range []int{1, 2, 6} {
				s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
				streams = again(t, o, s, old).Route == "columns" || streams
				same(t, dense(o.c), want, s.n)
			}
			o.free()
		}
		if !streams {
			t.Error("nobody streams")
		}
	})
}

// TestStreamBound holds them to the definition, NaN and infinities among them.
func TestStreamBound(t *testing.T) {
	for i, p := range pairings {
		s := size(1+7*i, 600, 470)
		s.tb, s.alpha, s.beta = i&1 != 0, 1.5, float32(i%3)
		p.verify(t, s)
		if i%3 == 0 && !raceEnabled {
			s.m, s.value, s.naive = 2, peculiar, true
			p.verify(t, s)
		}
	}
}

// TestStreamAllocations checks that such a call allocates nothing.
func TestStreamAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	for _, m := range []int{1, 16, 40} {
		a, b := gemm.NewMatrix[bf16.BF16](m, 600), gemm.NewMatrix[bf16.BF16](600, 4000)
		c := gemm.NewMatrix[float32](m, 4000)
		p := pack(t, b)
		for name, call := range map[string]func() error{
			"plain":  func() error { return gemm.Multiply(c, a, b) },
			"packed": func() error { return gemm.Multiply(c, a, p) },
			"alone":  func() error { return gemm.Multiply(c, a, b, gemm.WithWorkers(1)) },
		} {
			t.Run(fmt.Sprint(m, "/", name), func(t *testing.T) { allocatesNothing(t, 20, call) })
		}
	}
}

// TestStreamWide multiplies by so many columns that a slab takes several blocks
// of them: looking for a slab costs a look at each.
func TestStreamWide(t *testing.T) {
	const n, depth = 300_001, 7
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if raceEnabled && slowKernel(k.Name) {
			t.Skip("takes a minute")
		}
		for _, m := range []int{2, k.MR + 1} {
			s := size(m, n, depth, opts...)
			o := build[bf16.BF16, bf16.BF16](t, s)
			old := slices.Clone(o.c.Data)
			s.opts = append(slices.Clip(opts), gemm.WithDepth(2))
			again(t, o, s, old)
			want := dense(o.c)
			s.opts = append(slices.Clip(opts), gemm.WithWorkers(3))
			if st := again(t, o, s, old); st.Inline || st.Stages != 1 || st.Tiles > 1024 {
				t.Errorf("%v: want one stage and no more than 1024 slabs", st)
			}
			same(t, dense(o.c), want, n)
			o.free()
			if slowKernel(k.Name) || raceEnabled || testing.Short() {
				break
			}
		}
	})
}
