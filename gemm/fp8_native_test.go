package gemm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// TestFP8Native compares products of 8-bit elements in native arithmetic with those of the same numbers in the type
// whose arithmetic it is: with every kernel, in every layout, packed and not, on every route; and finished ones with
// what becomes of their sums.
func TestFP8Native(t *testing.T) {
	t.Run("e4m3*e5m2", testFP8Native[bf16.BF16, fp8.E4M3, fp8.E5M2])
	t.Run("f32*e4m3", testFP8Native[float32, float32, fp8.E4M3])
	t.Run("bf16*e4m3", testFP8Native[bf16.BF16, bf16.BF16, fp8.E4M3])
	if raceEnabled {
		return // the others do the same on the same routes
	}
	t.Run("e4m3*e4m3", testFP8Native[bf16.BF16, fp8.E4M3, fp8.E4M3])
	t.Run("bf16*e5m2", testFP8Native[bf16.BF16, bf16.BF16, fp8.E5M2])
	t.Run("e5m2*bf16", testFP8Native[bf16.BF16, fp8.E5M2, bf16.BF16])
	t.Run("e5m2*f32", testFP8Native[float32, fp8.E5M2, float32])
	t.Run("f16*e4m3", testFP8Native[float16.Float16, float16.Float16, fp8.E4M3])
}

func testFP8Native[W, A, B gemm.Element](t *testing.T) {
	shapes := [][3]int{
		{5, 9, 40}, {1, 700, 1030}, {3, 300, 1500}, {8, 1100, 515}, {9, 200, 700}, {37, 130, 601}, {1, 3000, 64},
		{200, 70, 257}, {70, 530, 600}, {64, 64, 1024}, {16, 1100, 513}, {300, 1, 400}, {2, 3, 4700}, {1, 1, 5000},
	}
	for _, name := range kernels(typeOf[W]()) {
		t.Run(name, func(t *testing.T) {
			shapes := shapes
			switch {
			case slowKernel(name) && (testing.Short() || raceEnabled):
				shapes = [][3]int{{5, 9, 40}, {3, 40, 1030}}
			case slowKernel(name):
				shapes = [][3]int{{5, 9, 40}, {3, 40, 1030}, {1, 300, 1030}} // whose columns workers share
			case testing.Short() || raceEnabled:
				shapes = shapes[:6]
			}
			for i, d := range shapes {
				t.Run(fmt.Sprint(d), func(t *testing.T) { testFP8Shape[W, A, B](t, name, d[0], d[1], d[2], i) })
			}
		})
	}
}

func testFP8Shape[W, A, B gemm.Element](t *testing.T, kernel string, m, n, k, turn int) {
	r := rand.New(rand.NewPCG(51, uint64(turn)))
	number := func() float32 { return fp8.E4M3(r.IntN(127) | r.IntN(2)<<7).Float32() }
	switch turn % 3 {
	case 1:
		number = func() float32 { return float32(r.IntN(9)-4) / 8 }
	case 2:
		number = func() float32 { return fp8.E5M2(r.IntN(124) | r.IntN(2)<<7).Float32() }
	}
	const count = 8191 // a prime number
	seedsA, seedsB := seedsFrom[A](count, number), seedsFrom[B](count, number)
	wideSeedsA, wideSeedsB := widened[W](seedsA), widened[W](seedsB)
	for layout := range 8 {
		if m*n*k > 1<<16 && layout%4 != turn%4 {
			continue
		}
		ta, tb, tc := layout&1 != 0, layout&2 != 0, layout&4 != 0
		a, freeA := matrix[A](t, m, k, turn%3, ta, layout%2 == 0)
		b, freeB := matrix[B](t, k, n, turn%4, tb, layout%3 != 0)
		atA, atB := r.IntN(count), r.IntN(count)
		plant(a, ta, seedsA, atA)
		plant(b, tb, seedsB, atB)
		wideA, wideB := gemm.NewMatrix[W](m, k), gemm.NewMatrix[W](k, n)
		plant(wideA, false, wideSeedsA, atA)
		plant(wideB, false, wideSeedsB, atB)
		if turn == 0 && layout > 3 {
			b.Set(k/2, n/2, from[B](nan))
			wideB.Set(k/2, n/2, from[W](nan))
		}
		pin := gemm.WithKernel(kernel)
		want := gemm.NewMatrix[float32](m, n)
		if err := gemm.Multiply(want, wideA, any(wideB).(gemm.Operand[W]), pin); err != nil {
			t.Fatal(err)
		}
		packed, err := gemm.Pack(b, pin)
		if err != nil {
			t.Fatal(err)
		}
		e := anyFinishing(r, m, n)
		for i, opts := range [][]gemm.Option{
			{pin, gemm.WithWorkers(1)}, {pin, gemm.WithWorkers(2)}, {pin, gemm.WithWorkers(5)},
			{pin, gemm.WithDepth(2)}, {pin, gemm.WithTile(16, 64, 100), gemm.WithWorkers(3)},
		} {
			for j, b := range []gemm.AnyMatrix{b, packed} {
				c, freeC := matrix[float32](t, m, n, i, tc, true)
				poison(c.Data)
				if err := testEngine.Multiply(c, a, b, opts...); err != nil {
					t.Fatal(err)
				}
				same(t, dense(c), want.Data, n)
				freeC()
				switch { // all types of C, of B and of opts, over the shapes and layouts
				case i != (turn+layout)%5:
				case (j+layout/2)%2 == 0:
					finishFP8[float32](t, a, b, want, e, tc, opts)
				default:
					finishFP8[bf16.BF16](t, a, b, want, e, tc, opts)
				}
			}
		}
		freeA()
		freeB()
	}
}

// widened returns the same numbers in another type.
func widened[W, T gemm.Element](seeds []T) []W {
	i := -1
	return seedsFrom[W](len(seeds), func() float32 { i++; return to(seeds[i]) })
}

// finishFP8 compares a finished product with what becomes of its sums.
func finishFP8[O gemm.Output](
	t *testing.T, a, b gemm.AnyMatrix, sums gemm.Matrix[float32], e finishing, tc bool, opts []gemm.Option,
) {
	t.Helper()
	m, n := sums.Rows, sums.Cols
	c, free := matrix[O](t, m, n, 3, tc, true)
	defer free()
	if e.beta != 0 {
		r := rand.New(rand.NewPCG(52, uint64(m)))
		sow(c, tc, r, nil)
	}
	want := dense(c)
	for i, old := range want {
		want[i] = from[O](finished[O](&e, sums.Data[i], to(old), i/n, i%n))
	}
	if err := testEngine.Multiply(c, a, b, slices.Concat(opts, e.options())...); err != nil {
		t.Fatal(err)
	}
	same(t, dense(c), want, n)
	if t.Failed() {
		t.Fatalf("%+v", e)
	}
}
