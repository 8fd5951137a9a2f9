package gemm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestSkew multiplies by a B, and by the same once more, of whose rows a worker's pieces share
// few sets of a cache: that K is cut then into parts whose columns move on from worker to worker,
// and that this changes no bit, wherever sums wait.
func TestSkew(t *testing.T) {
	processors(t, 16)
	defer gemm.PretendL2(2 << 20)()
	t.Run("f32-f32", testSkew[float32, float32])
	t.Run("f32-bf16", testSkew[bf16.BF16, float32])
	t.Run("bf16-f32", testSkew[float32, bf16.BF16])
	t.Run("bf16-bf16", testSkew[bf16.BF16, bf16.BF16])
	t.Run("f16-f16", testSkew[float16.Float16, float16.Float16])
}

func testSkew[O gemm.Output, I gemm.Element](t *testing.T) {
	typ := typeOf[I]()
	eachKernel(t, typ, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.StreamRows(typ) == 0 || slowKernel(k.Name) {
			t.Skip("does not read B where it lies, or takes long")
		}
		skewed := 0
		for i, tc := range []struct {
			m, n, k, workers int
			edit             func(s *spec)
			never            bool
		}{
			{m: 1, n: 1024, k: 1024, workers: 16},
			{m: 1, n: 2048, k: 1023, workers: 7, edit: func(s *spec) { s.alpha = 0.5 }},
			{m: 2, n: 1000, k: 1100, workers: 16, edit: func(s *spec) { s.padB = 24 }},
			{m: 3, n: 2048, k: 1030, workers: 16, edit: func(s *spec) { s.ta, s.beta = true, -1.5 }},
			{m: 4, n: 1024, k: 1024, workers: 4, edit: func(s *spec) { s.padC = 3 }},
			{m: 5, n: 1024, k: 2048, workers: 12, edit: func(s *spec) { s.beta = 2 }},
			{m: 8, n: 512, k: 2050, workers: 8},
			{m: 64, n: 64, k: 8192, workers: 16},
			{m: 70, n: 64, k: 8200, workers: 9},
			{m: 1, n: 1024, k: 1024, workers: 16, edit: func(s *spec) { s.tb = true }, never: true},
			{m: 1, n: 1024, k: 1024, workers: 16, edit: func(s *spec) { s.padB = 48 }, never: true}, // rows begin in all sets
			{m: 1, n: 1024, k: 1024, workers: 2, never: true},
			{m: 1, n: 1024, k: 96, workers: 16, never: true},  // a cache holds it anyway
			{m: 1, n: 1024, k: 2048, workers: 4, never: true}, // or never
		} {
			if testing.Short() && i%2 > 0 || raceEnabled && i%4 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%dx%dx%d/workers=%d/%d", tc.m, tc.n, tc.k, tc.workers, i), func(t *testing.T) {
				s := size(tc.m, tc.n, tc.k)
				s.seed = uint64(i)
				if tc.edit != nil {
					tc.edit(&s)
				}
				s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(1))
				want := product[O, I](t, s)
				parts, cold := thrice[O, I](t, s, want, append(opts[:len(opts):len(opts)], gemm.WithWorkers(tc.workers)))
				if cold > 1 && tc.m <= 8 || tc.never && parts > 1 {
					t.Errorf("K is cut into %d parts, and into %d by the same B again", cold, parts)
				}
				if parts > 1 {
					skewed++
				}
			})
		}
		if skewed == 0 {
			t.Error("K was never cut")
		}
	})
}

// thrice multiplies s by an engine of its own, by the same B again and by another with the same
// elements, compares all with want, and returns into how many parts K was cut by the same B again,
// and by one that is not the same.
func thrice[O gemm.Output, I gemm.Element](t *testing.T, s spec, want []O, opts []gemm.Option) (parts, cold int) {
	t.Helper()
	e, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	opts = append(opts, gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta))
	first, second := build[O, I](t, s), build[O, I](t, s)
	defer first.free()
	defer second.free()
	for i, o := range []operands[O, I]{first, first, second} {
		old := append([]O(nil), o.c.Data...)
		var st gemm.Stats
		if err := e.Multiply(o.c, o.a, o.b, append(opts, gemm.WithStats(&st))...); err != nil {
			t.Fatal(err)
		}
		same(t, dense(o.c), want, s.n)
		copy(o.c.Data, old)
		n := 1
		if st.Route == "place" {
			n = (s.k + st.TileK - 1) / st.TileK
		}
		if i == 1 {
			parts = n
		} else {
			cold = max(cold, n)
		}
	}
	return parts, cold
}

// TestSkewPast multiplies by the same operands into a C that caches hold and into one that they do
// not, whose rows lie further apart: only of the first is K cut, whichever came before.
func TestSkewPast(t *testing.T) {
	processors(t, 16)
	defer gemm.PretendL3(1)()
	const m, n, k = 64, 64, 8192
	a, b, near := gemm.NewMatrix[float32](m, k), gemm.NewMatrix[float32](k, n), gemm.NewMatrix[float32](m, n)
	const stride = 33 << 20 / 4 / m // more than 32 MB of C
	far := gemm.Matrix[float32]{Rows: m, Cols: n, Stride: stride, Data: make([]float32, m*stride)}
	eachKernel(t, asm.F32, func(t *testing.T, kern *asm.Kernel, opts []gemm.Option) {
		if kern.Unpacked(asm.F32) == nil {
			t.Skip("does not read operands where they lie")
		}
		e, err := gemm.New(append(opts[:len(opts):len(opts)], gemm.WithWorkers(16))...)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for i, c := range []gemm.Matrix[float32]{near, far, near} {
			var st gemm.Stats
			if err := e.Multiply(c, a, b, gemm.WithStats(&st)); err != nil {
				t.Fatal(err)
			}
			if cut := st.TileK < k; cut != (i != 1) {
				t.Errorf("C with rows of %d elements: %v", c.Stride, st)
			}
		}
	})
}

// TestSkewAllocations checks that products whose K is cut allocate nothing, wherever their sums are.
func TestSkewAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the detector allocates")
	}
	processors(t, 16)
	defer gemm.PretendL2(2 << 20)()
	for _, size := range [][3]int{{2, 1024, 1024}, {64, 64, 8192}} {
		m, n, k := size[0], size[1], size[2]
		a, b, c := gemm.NewMatrix[float32](m, k), gemm.NewMatrix[float32](k, n), gemm.NewMatrix[float32](m, n)
		for _, alpha := range []float32{1, 0.5} {
			e, err := gemm.New(gemm.WithWorkers(16))
			if err != nil {
				t.Fatal(err)
			}
			var st gemm.Stats
			call := func() { err = errors.Join(err, e.Multiply(c, a, b, gemm.WithAlpha(alpha), gemm.WithStats(&st))) }
			call()
			got := fewestAllocations(20, call)
			e.Close()
			if got != 0 || err != nil {
				t.Errorf("%v, alpha %v: %v allocations a call, error %v, want none; %v", size, alpha, got, err, st)
			}
		}
	}
}
