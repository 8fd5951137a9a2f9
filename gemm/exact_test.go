package gemm_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// TestExact multiplies 16 x K by K x 24 numbers of [0, 1), whose sums grow as long as there is more of K, and their
// first rows and columns, in all ways, and compares the largest relative error with OpenBLAS's in float32, as measured
// with 0.3.21 of Debian, and in 16 and 8 bits with that of the definition, of products that are exact.
func TestExact(t *testing.T) {
	if raceEnabled {
		t.Skip("numbers, in ways that others take, too")
	}
	t.Run("f32", testExact[float32])
	t.Run("bf16", testExact[bf16.BF16])
	t.Run("f16", testExact[float16.Float16])
	t.Run("e4m3", testExact[fp8.E4M3])
}

func testExact[I gemm.Element](t *testing.T) {
	const m, n = 16, 24
	elem := typeOf[I]()
	for _, tc := range []struct {
		k        int
		openBLAS float64
	}{{1e3, 4.9e-7}, {1e4, 3.4e-7}, {1e5, 1.0e-6}, {1e6, 2.0e-6}} {
		if tc.k > 1e4 && testing.Short() || tc.k > 1e5 && elem.Size() == 1 {
			continue // of 8 bits more of K says no more: they are widened to bf16
		}
		r := rand.New(rand.NewPCG(1, uint64(tc.k)))
		a, b := gemm.NewMatrix[I](m, tc.k), gemm.NewMatrix[I](n, tc.k)
		for _, data := range [][]I{a.Data, b.Data} {
			for i := range data {
				data[i] = from[I](r.Float32())
			}
		}
		across := gemm.NewMatrix[I](tc.k, n)
		for i, x := range b.Data {
			across.Data[i%tc.k*n+i/tc.k] = x
		}
		exact, limit := make([]float64, m*n), 1.5*tc.openBLAS
		worst := 0.0
		for i := range exact {
			row, column := a.Data[i/n*tc.k:][:tc.k], b.Data[i%n*tc.k:][:tc.k]
			sum := float32(0)
			for from := 0; from < tc.k; from += elem.Block() {
				block := float32(0)
				for l := from; l < min(from+elem.Block(), tc.k); l++ {
					x := float64(to(row[l])) * float64(to(column[l]))
					exact[i] += x
					block = float32(float64(block) + x)
				}
				sum += block
			}
			worst = max(worst, math.Abs(float64(sum)-exact[i])/exact[i])
		}
		if elem != asm.F32 {
			limit = 1.5 * worst
		}
		eachKernel(t, elem, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
			if k.Arithmetic != asm.Native {
				t.Skip("sums chains, truncated")
			}
			if slowKernel(k.Name) && tc.k > 1e4 {
				t.Skip("takes long")
			}
			for _, way := range []struct {
				m, n         int
				across, pack bool // K across the rows of B, and packed
				opts         []gemm.Option
			}{
				{m: m, n: n, opts: []gemm.Option{gemm.WithWorkers(1)}},
				{m: m, n: n, across: true, opts: []gemm.Option{gemm.WithWorkers(3)}},
				{m: m, n: n, opts: []gemm.Option{gemm.WithDepth(2)}},
				{m: m, n: n, opts: []gemm.Option{gemm.WithTile(0, 0, 48)}},
				{m: m, n: n, pack: true},
				{m: 3, n: n}, {m: 3, n: n, across: true}, {m: 3, n: n, pack: true},
				{m: 1, n: 1}, {m: 2, n: 2}, {m: 1, n: 1, opts: []gemm.Option{gemm.WithWorkers(1)}},
			} {
				a, b := a, b.T()
				if way.across {
					b = across
				}
				a.Rows, b.Cols = way.m, way.n
				var of gemm.Operand[I] = b
				if way.pack {
					of = pack(t, b, opts...)
				}
				c := gemm.NewMatrix[float32](way.m, way.n)
				var st gemm.Stats
				opts := append(append(slices.Clip(opts), way.opts...), gemm.WithStats(&st))
				if err := gemm.Multiply(c, a, of, opts...); err != nil {
					t.Fatal(err)
				}
				got := 0.0
				for i, x := range c.Data {
					exact := exact[i/way.n*n+i%way.n]
					got = max(got, math.Abs(float64(x)-exact)/exact)
				}
				if t.Logf("K = %d: %.2g, the definition %.2g: %v", tc.k, got, worst, st); got > limit {
					t.Errorf("K = %d: the largest error is %.2g, want at most %.2g: %v", tc.k, got, limit, st)
				}
			}
		})
	}
}
