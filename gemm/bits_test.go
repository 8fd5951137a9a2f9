package gemm_test

import (
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestSameBits checks that no way to compute a product changes its bits.
func TestSameBits(t *testing.T) {
	t.Run("bf16-f32", func(t *testing.T) { testSameBits[float32, bf16.BF16](t) })
	t.Run("bf16-bf16", func(t *testing.T) { testSameBits[bf16.BF16, bf16.BF16](t) })
	t.Run("f16-f32", func(t *testing.T) { testSameBits[float32, float16.Float16](t) })
	t.Run("f32-f32", func(t *testing.T) { testSameBits[float32, float32](t) })
	t.Run("f64-f64", func(t *testing.T) { testSameBits[float64, float64](t) })
	t.Run("f32-f16", func(t *testing.T) { testSameBits[float16.Float16, float32](t) })
}

func testSameBits[O gemm.Output, I gemm.Element](t *testing.T) {
	for _, name := range kernels(typeOf[I]()) {
		t.Run(name, func(t *testing.T) {
			s := size(61, 91, 75, gemm.WithKernel(name))
			if slowKernel(name) {
				s = size(27, 39, 23, gemm.WithKernel(name))
			}
			s.alpha, s.beta = 0.75, 1.5
			sameEverywhere[O, I](t, s, product[O, I](t, s))
		})
	}
}

// sameEverywhere computes plain on rings of any depth, crew and tile, and in any layout, there and elsewhere, packed
// and not, and checks that want is what comes out.
func sameEverywhere[O gemm.Output, I gemm.Element](t *testing.T, plain spec, want []O) {
	t.Helper()
	try := func(change func(*spec), opts ...gemm.Option) {
		t.Helper()
		s := plain
		s.ring = true
		s.opts = append(slices.Clip(s.opts), opts...)
		if change != nil {
			change(&s)
		}
		sameAs[O, I](t, s, want)
	}
	small := gemm.WithTile(24, 32, 8)
	for _, depth := range []int{1, 2, 3, 4, 5, 6, 7, 8, gemm.MaxDepth} {
		try(nil, small, gemm.WithDepth(depth))
	}
	for workers := 1; workers <= 8; workers++ {
		try(nil, small, gemm.WithWorkers(workers))
		try(nil, small, gemm.WithWorkers(workers), gemm.WithDepth(1+workers%3))
	}
	for _, tile := range [][3]int{
		{1, 1, 1}, {8, 32, 2}, {16, 96, 64}, {61, 91, 75}, {1000, 1000, 1000},
		{0, 0, 10}, {0, 40, 0}, {9, 0, 0}, {0, 0, 0},
	} {
		try(nil, gemm.WithTile(tile[0], tile[1], tile[2]))
	}
	eachLayout(plain, func(_ string, l spec) {
		try(func(s *spec) { s.ta, s.tb, s.tc, s.padA, s.padC = l.ta, l.tb, l.tc, 3, 5 }, small)
		try(func(s *spec) { s.ta, s.tb, s.tc, s.ring, s.packed = l.ta, l.tb, l.tc, false, l.ta != l.tc })
	})
}

// TestSameBitsLarge does it with tiles, stages and workers of the engine's own
// choice, where a part of the product computed alone gives the same bits.
func TestSameBitsLarge(t *testing.T) {
	if raceEnabled {
		t.Skip("much work without a new interleaving")
	}
	s := size(300, 520, 1111)
	if len(kernels(asm.F32)) == 1 {
		s = size(130, 140, 1111)
	}
	want := product[float32, bf16.BF16](t, s)
	for _, opts := range [][]gemm.Option{
		{gemm.WithWorkers(1)}, {gemm.WithWorkers(2)}, {gemm.WithWorkers(5)},
		{gemm.WithDepth(1)}, {gemm.WithDepth(8)}, {gemm.WithTile(64, 256, 100)},
	} {
		s.opts = opts
		sameAs[float32, bf16.BF16](t, s, want)
	}
	o := build[float32, bf16.BF16](t, s)
	defer o.free()
	// The rows 100 to 104 and the columns 50 to 56.
	a, b, c := o.a, o.b, gemm.NewMatrix[float32](5, 7)
	a.Rows, a.Data = 5, a.Data[100*a.Stride:]
	b.Cols, b.Data = 7, b.Data[50:]
	if err := gemm.Multiply(c, a, b); err != nil {
		t.Fatal(err)
	}
	var part []float32
	for i := range 5 {
		part = append(part, want[(100+i)*s.n+50:][:7]...)
	}
	same(t, c.Data, part, 7)
}

// TestModelBits checks that the software model of VDPBF16PS gives the bits of
// the processor, on rings too.
func TestModelBits(t *testing.T) {
	if !slices.Contains(kernels(asm.BF16), "avx512bf16") {
		t.Skip("no avx512bf16 here")
	}
	for _, d := range [][3]int{{1, 1, 1}, {8, 32, 64}, {33, 70, 129}, {70, 65, 333}} {
		for _, ring := range []bool{false, true} {
			s := size(d[0], d[1], d[2])
			s.ring = ring
			s.opts = []gemm.Option{gemm.WithKernel("avx512bf16")}
			want := product[float32, bf16.BF16](t, s)
			s.opts = []gemm.Option{gemm.WithKernel("gobf16"), gemm.WithTile(40, 64, 50)}
			sameAs[float32, bf16.BF16](t, s, want)
		}
	}
}
