package gemm_test

import (
	"fmt"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestPast compares a C larger than the caches, whose lines are whole, with one
// whose lines are not: on the ring, and by slabs.
func TestPast(t *testing.T) {
	t.Run("bf16-f32", testPast[float32, bf16.BF16])
	t.Run("bf16-bf16", testPast[bf16.BF16, bf16.BF16])
	t.Run("f64-f64", testPast[float64, float64])
}

func testPast[O gemm.Output, I gemm.Element](t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("takes 100 MB")
	}
	const m, n, k = 3000, 3072, 96
	processors(t, 6)
	defer gemm.PretendL3(1 << 20)()
	a, b := gemm.NewMatrix[I](m, k), gemm.NewMatrix[I](k, n)
	for i := range a.Data {
		a.Data[i] = from[I](float32(i%37) - 18.5)
	}
	for i := range b.Data {
		b.Data[i] = from[I](float32(i%41)/8 - 2.5)
	}
	lines := gemm.NewMatrix[O](m, n)
	other := gemm.Matrix[O]{Rows: m, Cols: n, Stride: n + 1, Data: make([]O, m*(n+1))}
	eachKernel(t, typeOf[I](), func(t *testing.T, kern *asm.Kernel, opts []gemm.Option) {
		if kern.Arithmetic != asm.Native || slowKernel(kern.Name) {
			t.Skip("takes seconds")
		}
		for workers, route := range map[int]string{1: "ring", 6: "slabs"} {
			if !kern.InRows(typeOf[I]()) {
				route = "ring" // A has to be packed
			}
			t.Run(fmt.Sprint(workers), func(t *testing.T) {
				clear(other.Data)
				clear(lines.Data)
				for _, c := range []gemm.Matrix[O]{lines, other} {
					var st gemm.Stats
					opts := append(opts[:len(opts):len(opts)], gemm.WithWorkers(workers), gemm.WithStats(&st))
					if err := gemm.Multiply(c, a, b, opts...); err != nil {
						t.Fatal(err)
					}
					if st.Route != route {
						t.Errorf("%v: by way of %s, want %s", st, st.Route, route)
					}
				}
				for i := range m {
					for j := range n {
						if x, y := lines.At(i, j), other.At(i, j); bitsOf(x) != bitsOf(y) {
							t.Fatalf("element (%d, %d): %v in whole lines, %v in others", i, j, x, y)
						}
					}
					if x := other.Data[i*(n+1)+n]; bitsOf(x) != 0 {
						t.Fatalf("row %d: %v between the rows, want what was there", i, x)
					}
				}
			})
		}
	})
}
