package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// inParts computes s as a sum of products of parts of K, of so many elements but the
// last, added up in float32 in order, then alpha, beta and the rounding to O.
func inParts[O gemm.Output, I gemm.Element](t *testing.T, s spec, size int) []O {
	t.Helper()
	o := build[O, I](t, s)
	defer o.free()
	// Without gaps and transposes a part is a block.
	a, b := gemm.NewMatrix[I](s.m, s.k), gemm.NewMatrix[I](s.k, s.n)
	copy(a.Data, dense(o.a))
	copy(b.Data, dense(o.b))
	var sum []float32
	var st gemm.Stats
	for k0 := 0; k0 < s.k; k0 += size {
		partA, partB := a, b
		partA.Cols, partB.Rows = min(size, s.k-k0), min(size, s.k-k0)
		partA.Data, partB.Data = a.Data[k0:], b.Data[k0*s.n:]
		c := gemm.NewMatrix[float32](s.m, s.n)
		if err := gemm.Multiply(c, partA, partB, append(slices.Clip(s.opts), gemm.WithStats(&st))...); err != nil {
			t.Fatal(err)
		}
		if sum == nil {
			sum = c.Data
			continue
		}
		for i := range sum {
			sum[i] += c.Data[i]
		}
	}
	out := make([]O, 0, len(sum))
	for i, v := range sum {
		old := to(o.c.At(i/s.n, i%s.n))
		out = append(out, from[O](combined[O](asm.Named(st.Kernel).Arithmetic, s.alpha, v, s.beta, old)))
	}
	return out
}

// TestBlocks compares products in native arithmetic with what they are defined as: sums of products
// of blocks of K, each of which is a chain.
func TestBlocks(t *testing.T) {
	t.Run("bf16-bf16", testBlocks[bf16.BF16, bf16.BF16])
	t.Run("f32-f32", testBlocks[float32, float32])
	if raceEnabled {
		return // the others do the same on the same routes
	}
	t.Run("bf16-f32", testBlocks[float32, bf16.BF16])
	t.Run("f16-f32", testBlocks[float32, float16.Float16])
	t.Run("f32-f16", testBlocks[float16.Float16, float32])
}

func testBlocks[O gemm.Output, I gemm.Element](t *testing.T) {
	block := typeOf[I]().Block()
	cases := []struct{ m, n, k int }{
		{1, 1, 2*block + 1}, {1, 300, 3*block - 1}, {2, 2, 5*block + 17}, {5, 70, 2*block + 32}, {9, 33, 2 * block},
		{16, 64, 4*block + 64}, {40, 100, 2*block + 5}, {70, 130, 3*block + 31}, {1, 1000, 1100}, {7, 2000, 2048},
		{24, 600, 1500}, {33, 1100, 2*block + 1}, {130, 520, 2*block + 9}, {64, 64, 8 * block},
	}
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.Arithmetic != asm.Native {
			t.Skip("sums chains")
		}
		cases := cases
		switch {
		case slowKernel(k.Name):
			cases = []struct{ m, n, k int }{{1, 1, 2*block + 1}, {3, 40, 3*block - 1}, {2, 2, 3*block + 17}}
		case testing.Short() || raceEnabled:
			cases = cases[:6]
		}
		for i, tc := range cases {
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				s := size(tc.m, tc.n, tc.k, opts...)
				s.ta, s.tb, s.tc, s.padC, s.alpha = i&1 != 0, i&2 != 0, i&4 != 0, i, 1
				if i%3 == 1 {
					s.alpha, s.beta = 0.7, []float32{-1.5, 1}[i/3%2]
				}
				for _, tb := range []bool{s.tb, !s.tb} {
					s.tb, s.packed = tb, false
					want := inParts[O, I](t, s, block)
					o := build[O, I](t, s)
					old := slices.Clone(o.c.Data)
					for _, packed := range []bool{false, true} {
						s.packed = packed
						for _, more := range [][]gemm.Option{
							{gemm.WithWorkers(1)}, {gemm.WithWorkers(2)}, {gemm.WithWorkers(7)}, {gemm.WithSplitK(3)},
							{gemm.WithWorkers(3), gemm.WithDepth(1)},
							{gemm.WithWorkers(1), gemm.WithDepth(4), gemm.WithTile(24, 0, 48)},
							{gemm.WithWorkers(2), gemm.WithTile(8, 64, 130)}, {gemm.WithTile(0, 0, 5000)},
						} {
							s.opts = append(slices.Clip(opts), more...)
							copy(o.c.Data, old)
							if _, err := o.multiply(s); err != nil {
								t.Fatal(err)
							}
							same(t, dense(o.c), want, s.n)
						}
						s.opts = opts
					}
					o.free()
				}
			})
		}
	})
}

// TestBlocksSpecial does it with NaN, infinities and sums that overflow.
func TestBlocksSpecial(t *testing.T) {
	for name, value := range distributions[float32]() {
		s := size(7, 20, 550)
		s.value = value
		t.Run(name, func(t *testing.T) {
			sameAs[float32, float32](t, s, inParts[float32, float32](t, s, asm.F32.Block()))
		})
	}
}

// TestParts compares products in Hopper's arithmetic, of a K that is split or promoted, with explicit sums of products.
func TestParts(t *testing.T) {
	t.Run("bf16-f32", testParts[float32, bf16.BF16])
	t.Run("bf16-bf16", testParts[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testParts[float32, float16.Float16])
	t.Run("f32-f32", testParts[float32, float32])
	t.Run("f32-f16", testParts[float16.Float16, float32])
	t.Run("e4m3-f32", testParts[float32, fp8.E4M3])
	t.Run("e5m2-bf16", testParts[bf16.BF16, fp8.E5M2])
}

func testParts[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.Arithmetic != asm.Hopper {
			t.Skip("K is in blocks, whatever it is split into")
		}
		cases := []struct{ m, n, k, parts, promotion int }{
			{9, 70, 200, 3, 0}, {k.MR, k.NR, 64, 2, 0}, {3, 5, 165, 0, 32}, {70, 33, 640, 0, 128},
			{3, 5, 65, 2, 0}, {70, 33, 640, 10, 0}, {5, 40, 1500, 2, 0}, {1, 1, 300, 1000, 0}, {7, 9, 100, 1, 0},
			{20, 30, 700, 4, 0}, {9, 70, 1000, 0, 128}, {1, 3000, 300, 0, 64}, {3, 600, 500, 0, 96},
			{65, 130, 900, 0, 416}, {8, 64, 128, 0, 128}, {2, 3, 127, 0, 1 << 30}, {150, 200, 257, 0, 256},
			{300, 20, 300, 0, 160},
		}
		if slowKernel(k.Name) || testing.Short() || raceEnabled {
			cases = cases[:4]
		}
		for i, tc := range cases {
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				s := size(tc.m, tc.n, tc.k, opts...)
				s.ta, s.tb, s.tc, s.padC, s.alpha = i&1 != 0, i&2 != 0, i&4 != 0, i, 1
				if i%3 == 1 {
					s.alpha, s.beta = 0.7, []float32{-1.5, 1}[i/3%2]
				}
				part, option := tc.promotion, gemm.WithPromotion(tc.promotion)
				if tc.parts > 0 {
					part, option = partOf(tc.k, tc.parts), gemm.WithSplitK(tc.parts)
				}
				want := inParts[O, I](t, s, min(part, tc.k))
				for _, packed := range []bool{false, true} {
					if s.packed = packed; packed && part%64 != 0 {
						break // of stages of 64
					}
					for _, more := range [][]gemm.Option{
						nil,
						{gemm.WithWorkers(1)},
						{gemm.WithWorkers(3), gemm.WithDepth(1), gemm.WithTile(8, 32, 16)},
						{gemm.WithWorkers(1), gemm.WithDepth(4), gemm.WithTile(24, 0, 48)},
						{gemm.WithWorkers(2), gemm.WithTile(0, 64, 1000)},
					} {
						s.opts = append(append(slices.Clip(opts), option), more...)
						sameAs[O, I](t, s, want)
					}
				}
			})
		}
	})
}

// TestPromotionErrors promotes a K that is split as well, or a packed one elsewhere than between its stages.
func TestPromotionErrors(t *testing.T) {
	c, a := gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[fp8.E4M3](2, 2)
	poison(c.Data)
	hopper := gemm.WithArithmetic(gemm.Hopper)
	checkError(t, gemm.Multiply(c, a, a, hopper, gemm.WithPromotion(64), gemm.WithSplitK(3)),
		"WithPromotion(64)", "WithSplitK(3)")
	checkError(t, gemm.Multiply(c, a, pack(t, a, hopper), hopper, gemm.WithPromotion(96)),
		"WithPromotion(96)", "packed", "64")
	untouched(t, c.Data)
	p, err := gemm.Pack(a, hopper, gemm.WithPromotion(32), gemm.WithSplitK(2))
	if checkError(t, err, "WithPromotion(32)", "WithSplitK(2)"); p != nil {
		t.Error("Pack returned a Packed along with its error")
	}
	s := size(5, 7, 1100, gemm.WithPromotion(32))
	verify[float32, bf16.BF16](t, s) // in native arithmetic neither cuts
	s.opts = append(s.opts, gemm.WithSplitK(3))
	verify[float32, bf16.BF16](t, s)
}

// partOf returns the elements of K in a part, if WithSplitK asks for so many.
func partOf(k, parts int) int { return ((k+parts-1)/parts + 63) / 64 * 64 }

// TestSplitKSpecial splits K with NaN, infinities and sums that overflow, and
// without any K.
func TestSplitKSpecial(t *testing.T) {
	for name, value := range distributions[float32]() {
		s := size(7, 20, 150, gemm.WithArithmetic(gemm.Hopper))
		s.value = value
		want := inParts[float32, float32](t, s, partOf(s.k, 2))
		s.opts = append(s.opts, gemm.WithSplitK(2))
		t.Run(name, func(t *testing.T) {
			sameAs[float32, float32](t, s, want)
		})
	}
	s := size(3, 4, 0, gemm.WithArithmetic(gemm.Hopper), gemm.WithSplitK(5))
	s.beta = 0.5
	verify[float32, bf16.BF16](t, s)
}

// TestSplitKChangesBits checks that a split is what it says: other sums.
func TestSplitKChangesBits(t *testing.T) {
	s := size(20, 30, 500, gemm.WithArithmetic(gemm.Hopper))
	whole := product[float32, bf16.BF16](t, s)
	s.opts = append(s.opts, gemm.WithSplitK(4))
	if split := product[float32, bf16.BF16](t, s); equalBits(split, whole) {
		t.Errorf("4 parts have the bits of one")
	}
}
