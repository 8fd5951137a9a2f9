package gemm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// eachLayout calls f with each combination of transposed operands.
func eachLayout(s spec, f func(name string, s spec)) {
	for bits := range 8 {
		s.ta, s.tb, s.tc = bits&1 != 0, bits&2 != 0, bits&4 != 0
		f(fmt.Sprintf("A%sB%sC%s", tick(s.ta), tick(s.tb), tick(s.tc)), s)
	}
}

func tick(trans bool) string {
	if trans {
		return "t"
	}
	return ""
}

// TestTypes multiplies every pairing of types in every orientation by every
// kernel, inline and on the ring, with and without gaps between the rows.
func TestTypes(t *testing.T) {
	for _, p := range pairings {
		t.Run(p.name, func(t *testing.T) {
			for _, name := range kernels(p.in) {
				for _, ring := range []bool{false, true} {
					s := size(37, 70, 45, gemm.WithKernel(name), gemm.WithTile(16, 32, 16))
					if slowKernel(name) {
						s.m, s.n, s.k = 17, 35, 19
					}
					s.ring = ring
					eachLayout(s, func(layout string, s spec) {
						t.Run(fmt.Sprint(name, "/ring=", ring, "/", layout), func(t *testing.T) {
							p.verify(t, s)
							if raceEnabled {
								return
							}
							s.padA, s.padB, s.padC = 1, 3, 7
							s.alpha, s.beta = 0.5, -2
							p.verify(t, s)
							s.padA, s.padB, s.padC = 19, 64, 33
							s.alpha, s.beta = 1, 0
							p.verify(t, s)
						})
					})
				}
			}
		})
	}
}

// TestDefaultTiles multiplies matrices of a few hundred rows with nothing
// chosen by hand.
func TestDefaultTiles(t *testing.T) {
	sizes := [][3]int{{129, 257, 300}, {300, 140, 511}, {1, 700, 900}, {700, 1, 900}, {5, 3, 60000}, {260, 260, 260}}
	if testing.Short() || raceEnabled {
		sizes = sizes[:2]
	}
	for i, p := range pairings {
		for j, d := range sizes {
			if (i+j)%3 != 0 {
				continue
			}
			t.Run(fmt.Sprint(p.name, "/", d), func(t *testing.T) {
				s := size(d[0], d[1], d[2])
				p.verify(t, s)
				s.ta, s.tb = true, true
				p.verify(t, s)
			})
		}
	}
}

// TestLarge crosses many stages and cluster tiles.
func TestLarge(t *testing.T) {
	if testing.Short() || raceEnabled || len(kernels(0)) < 3 {
		t.Skip("a product of gigaflops")
	}
	s := size(1100, 1050, 1300, gemm.WithWorkers(4))
	st := verify[float32, float32](t, s)
	if st.Inline || st.Stages < 2 {
		t.Errorf("%v: want a ring with several stages", st)
	}
	s = size(530, 1111, 777)
	s.ta, s.tc, s.padC, s.alpha, s.beta = true, true, 5, 1.5, 0.75
	verify[float32, bf16.BF16](t, s)
}

func TestAlphaBeta(t *testing.T) {
	for _, p := range pairings {
		t.Run(p.name, func(t *testing.T) {
			for _, f := range [][2]float32{{1, 0}, {1, 1}, {0.5, -2}, {0, 1}, {0, 0}, {-1, 0}, {-1, 1}, {3, 0.1}} {
				for _, ring := range []bool{false, true} {
					s := size(21, 67, 33, gemm.WithTile(8, 32, 8))
					s.alpha, s.beta, s.ring, s.padC = f[0], f[1], ring, 2
					p.verify(t, s)
					s.tc = true
					p.verify(t, s)
				}
			}
		})
	}
}

// TestRoundOnce checks that a C of 16 bits is the C of 32 bits, rounded, also
// where that overflows or is subnormal.
func TestRoundOnce(t *testing.T) {
	t.Run("bf16", testRoundOnce[bf16.BF16])
	t.Run("f16", testRoundOnce[float16.Float16])
}

func testRoundOnce[T gemm.Output](t *testing.T) {
	for _, exp := range []int{0, 8, 15, -10, -16, -70, 60} {
		if typeOf[T]() != 0 && (exp > 20 || exp < -20) {
			continue // beyond the inputs' range
		}
		scale := float32(1)
		for range exp {
			scale *= 2
		}
		for range -exp {
			scale /= 2
		}
		for _, f := range [][2]float32{{1, 0}, {1, 1}, {0.7, -1.3}} {
			for _, ring := range []bool{false, true} {
				s := size(13, 75, 40, gemm.WithTile(8, 32, 16))
				s.alpha, s.beta, s.ring, s.seed = f[0], f[1], ring, uint64(exp+100)
				// C's old elements are rounded to T for both products.
				s.value = func(r *rand.Rand) float32 { return to(from[T](ordinary(r) * scale)) }
				want := product[float32, T](t, s)
				rounded := make([]T, len(want))
				for i := range want {
					rounded[i] = from[T](want[i])
				}
				sameAs[T, T](t, s, rounded)
			}
		}
	}
}

// TestRoundOnceTiles does it for C of whole tiles and more, which some kernels round
// themselves, in the caches and past them.
func TestRoundOnceTiles(t *testing.T) {
	defer gemm.PretendL2(64 << 10)()
	t.Run("bf16-bf16", testRoundOnceTiles[bf16.BF16, bf16.BF16])
	t.Run("f32-bf16", testRoundOnceTiles[bf16.BF16, float32])
	t.Run("bf16-f16", testRoundOnceTiles[float16.Float16, bf16.BF16])
}

func testRoundOnceTiles[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for i, tc := range []struct{ m, n, k int }{{64, 64, 64}, {70, 100, 96}, {65, 133, 41}, {330, 160, 700}} {
			if (slowKernel(k.Name) || raceEnabled) && i == 3 {
				continue
			}
			for _, ring := range []bool{false, true} {
				s := size(tc.m, tc.n, tc.k, opts...)
				s.ring, s.padC, s.tb, s.packed = ring, []int{0, 3, 0, 32}[i], i&1 != 0, i == 2
				want := product[float32, I](t, s)
				rounded := make([]O, len(want))
				for j := range want {
					rounded[j] = from[O](want[j])
				}
				sameAs[O, I](t, s, rounded)
			}
		}
	})
}
