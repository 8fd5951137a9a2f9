package gemm_test

import (
	"fmt"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"github.com/x448/float16"
)

// TestRingPacks compares products whose B is packed as it is multiplied with those
// that copy it to the ring, bit for bit. Tiles have at most 256 rows, so B is packed
// again for the tiles below the first.
func TestRingPacks(t *testing.T) {
	defer gemm.PretendL2(256 << 10)()
	processors(t, 1) // of which two would compute so little by slabs
	t.Run("bf16-f32", testRingPacks[float32, bf16.BF16])
	t.Run("bf16-bf16", testRingPacks[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testRingPacks[float32, float16.Float16])
	t.Run("f32-f32", testRingPacks[float32, float32])
	t.Run("f64-f64", testRingPacks[float64, float64])
}

// TestNarrow multiplies a tall C of few columns by many workers.
func TestNarrow(t *testing.T) {
	processors(t, 8)
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for i, n := range []int{1, k.NR + 3} {
			s := size(300, n, 100*k.KPack, append(opts[:len(opts):len(opts)], gemm.WithWorkers(6+3*i))...)
			s.ring, s.packed, s.beta = true, i == 0, float32(i)
			verify[float32, bf16.BF16](t, s)
			s.packed = i == 1
			verify[float32, bf16.BF16](t, s)
		}
	})
}

// TestRingPacksEach is TestRingPacks for many workers, each of which packs B for its slabs.
func TestRingPacksEach(t *testing.T) {
	processors(t, 1) // of which two would compute so little by slabs
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !gemm.WaitsForB(k) {
			t.Skip("copies B to the ring")
		}
		if raceEnabled && slowKernel(k.Name) {
			t.Skip("takes half a minute")
		}
		cases := []struct{ m, n, k int }{{520, 1290, 540}, {600, 1700, 1033}, {1100, 1281, 64}}
		if slowKernel(k.Name) || raceEnabled || testing.Short() {
			cases = cases[:1]
		}
		for i, tc := range cases {
			s := size(tc.m, tc.n, tc.k)
			s.ta, s.tb, s.padB, s.padC, s.ring = i == 2, i == 1, i, i&2, true
			if i == 0 {
				s.alpha, s.beta = 0.75, -1.5
			}
			s.opts = append(opts[:len(opts):len(opts)], gemm.WithDepth(2))
			want := product[float32, bf16.BF16](t, s)
			s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(5))
			o := build[float32, bf16.BF16](t, s)
			st, err := gemm.OnGrid(testEngine, o.c, o.a, o.b,
				append(s.opts, gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta))...)
			if err != nil {
				t.Fatal(err)
			}
			same(t, dense(o.c), want, s.n)
			o.free()
			if most := int64(2*(tc.m+64)*(tc.k+64) + tc.n*tc.k); st.Bytes > most || st.Bytes == 0 {
				t.Errorf("%v: want A in the ring, and no B, which would be twice what %d bytes leave", st, most)
			}
		}
	})
}

func testRingPacks[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if slowKernel(k.Name) && !gemm.WaitsForB(k) || k.Arithmetic == gemm.Hopper {
			t.Skip("copies B to the ring")
		}
		cases := []struct{ m, n, k int }{
			{520, 49, 540}, {65, 130, 1030}, {279, 271, 600}, {517, 100, 601},
			{1030, 49, 513}, {100, 2100, 66}, {300, 2100, 530},
		}
		switch {
		case slowKernel(k.Name) || raceEnabled:
			cases = cases[:1]
		case testing.Short():
			cases = cases[:2]
		}
		for i, tc := range cases {
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				s := size(tc.m, tc.n, tc.k)
				s.ta, s.tb, s.padB, s.padC, s.alpha = i%3 == 2, i&1 != 0, i, i&2, 1
				if i%4 >= 2 {
					s.alpha, s.beta = 0.75, -1.5
				}
				s.ring = true
				s.opts = append(opts[:len(opts):len(opts)], gemm.WithDepth(2))
				want := product[O, I](t, s)
				for _, workers := range []int{1, 2, 4} {
					if raceEnabled && slowKernel(k.Name) && workers == 2 {
						continue
					}
					s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(workers))
					o := build[O, I](t, s)
					st, err := gemm.OnGrid(testEngine, o.c, o.a, o.b,
						append(s.opts, gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta))...)
					if err != nil {
						t.Fatal(err)
					}
					same(t, dense(o.c), want, s.n)
					o.free()
					if workers > 1 && tc.n <= (2*workers-1)*k.NR {
						continue // so few columns that workers share rows
					}
					if most := int64((k.Word + 1) * st.TileM * tc.k * st.Tiles); st.Bytes > most {
						t.Errorf("%v: copied more than %d bytes, so B too", st, most)
					}
				}
			})
		}
	})
}
