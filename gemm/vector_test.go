package gemm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestVector multiplies matrices by vectors. The bits are those of a product whose C is
// a column of a wider matrix, and so not a row of its transpose.
func TestVector(t *testing.T) {
	t.Run("bf16-f32", testVector[float32, bf16.BF16])
	t.Run("f16-bf16", testVector[bf16.BF16, float16.Float16])
	t.Run("f32-f32", testVector[float32, float32])
	t.Run("f64-f64", testVector[float64, float64])
}

func testVector[O gemm.Output, I gemm.Element](t *testing.T) {
	for _, k := range asm.Kernels() {
		name := k.Name
		if !k.Accepts(typeOf[I]()) || k.Supported() != nil {
			continue
		}
		for i, tc := range []struct{ m, k int }{
			{2000, 1}, {1, 2000}, {33, 33}, {70, 300}, {520, 513}, {1001, 40}, {30000, 3},
		} {
			if tc.m*tc.k > 1<<15 && (slowKernel(name) || raceEnabled) {
				continue
			}
			for _, layout := range []struct{ ta, tb bool }{{}, {ta: true}, {tb: true}} {
				t.Run(fmt.Sprint(name, tc, layout), func(t *testing.T) {
					s := size(tc.m, 1, tc.k, gemm.WithKernel(name), gemm.WithArithmetic(k.Arithmetic))
					s.ta, s.tb, s.padC = layout.ta, layout.tb, 1
					s.seed, s.padA, s.padB = uint64(i), i%3, i%2
					if i%3 == 1 {
						s.alpha, s.beta = 0.75, -1.5
					}
					want := product[O, I](t, s)
					s.padC = 0
					for _, workers := range []int{1, 3} {
						for _, packed := range []bool{false, true} {
							s := s
							s.opts, s.packed = append(slices.Clip(s.opts), gemm.WithWorkers(workers)), packed
							sameAs[O, I](t, s, want)
						}
					}
				})
			}
		}
	}
}

// TestFewColumns multiplies tall matrices by few columns, of which the transpose is computed where it is faster. The
// bits are those of the ring, whatever is done with the sums, and a packed B of a panel goes the way of a plain one.
func TestFewColumns(t *testing.T) {
	t.Run("bf16-f32", testFewColumns[float32, bf16.BF16])
	t.Run("f16-bf16", testFewColumns[bf16.BF16, float16.Float16])
	t.Run("f32-f32", testFewColumns[float32, float32])
	t.Run("f64-f64", testFewColumns[float64, float64])
}

func testFewColumns[O gemm.Output, I gemm.Element](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, k := range asm.Kernels() {
		if k.StreamRows(typeOf[I](), true) == 0 || k.Supported() != nil || slowKernel(k.Name) {
			continue
		}
		turned, shared, waits := 0, 0, gemm.WaitsForB(k) // such a kernel has ways of its own
		for i, tc := range []struct{ m, n, k int }{
			{1024, 2, 256}, {1030, 3, 513}, {333, 4, 1100}, {521, 8, 1031}, {2100, 16, 520}, {900, 7, 300},
			{700, 13, 900}, {16, 2, 17000}, {128, 16, 300},
		} {
			s := size(tc.m, tc.n, tc.k)
			s.seed, s.ta, s.tb, s.tc = uint64(i), i%4 == 2, i%3 == 1, i%5 == 3
			s.padA, s.padB, s.padC = i%3, i%2, (i+1)%3
			f := anyFinishing(r, tc.m, tc.n)
			if k.Sum == asm.F64 { // which has factors alone
				f = finishing{alpha: f.alpha, beta: f.beta}
			}
			s.alpha, s.beta = f.alpha, f.beta
			opts := append(f.options(), gemm.WithKernel(k.Name))
			s.opts = append(opts, gemm.WithDepth(2))
			want := product[O, I](t, s)
			for _, workers := range []int{1, 3} {
				var routes [2]string
				for packed := range routes {
					s.opts, s.packed = append(slices.Clip(opts), gemm.WithWorkers(workers)), packed == 1
					o := build[O, I](t, s)
					old := slices.Clone(o.c.Data)
					st, err := o.multiply(s)
					if err != nil {
						t.Fatal(err)
					}
					checkGaps(t, s, o.c, old)
					same(t, dense(o.c), want, s.n)
					if routes[packed] = st.Route; st.Route == "columns" { // as so many rows never are
						turned++
					}
					if strings.Contains(st.Plan.String(), "ranges") {
						shared++
					}
					o.free()
				}
				// C' = B'·A' is one already if B is no Packed.
				if routes[0] != routes[1] && s.n <= k.NR && !s.tc && !waits {
					t.Errorf("%s: %+v by %s, packed by %s", k.Name, tc, routes[0], routes[1])
				}
			}
			s.packed = false
		}
		if k.ISA != "Go" && turned == 0 {
			t.Errorf("%s: the transpose of none is computed", k.Name)
		}
		if k.ISA != "Go" && shared == 0 && k.NR >= 16 && !waits { // or there is a tile for each of two
			t.Errorf("%s: the transpose of none has its K shared", k.Name)
		}
	}
}
