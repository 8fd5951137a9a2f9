package gemm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestPast compares a C larger than the caches, whose lines are whole, with one
// whose lines are not.
func TestPast(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("takes 100 MB and seconds without assembly")
	}
	const m, n, k = 3000, 3072, 70
	defer gemm.PretendL3(1 << 20)()
	a, b := gemm.NewMatrix[bf16.BF16](m, k), gemm.NewMatrix[bf16.BF16](k, n)
	for i := range a.Data {
		a.Data[i] = bf16.FromFloat32(float32(i%37) - 18.5)
	}
	for i := range b.Data {
		b.Data[i] = bf16.FromFloat32(float32(i%41)/8 - 2.5)
	}
	lines := gemm.NewMatrix[float32](m, n)
	other := gemm.Matrix[float32]{Rows: m, Cols: n, Stride: n + 1, Data: make([]float32, m*(n+1))}
	for i := range other.Data {
		other.Data[i] = 7
	}
	for _, c := range []gemm.Matrix[float32]{lines, other} {
		if err := gemm.Multiply(c, a, b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m {
		for j := range n {
			if x, y := lines.At(i, j), other.At(i, j); bitsOf(x) != bitsOf(y) {
				t.Fatalf("element (%d, %d): %v in whole lines, %v in others", i, j, x, y)
			}
		}
		if x := other.Data[i*(n+1)+n]; x != 7 {
			t.Fatalf("row %d: %v between the rows, want what was there", i, x)
		}
	}
}
