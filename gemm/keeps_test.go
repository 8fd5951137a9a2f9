package gemm_test

import (
	"fmt"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// A shared is a product of few rows, on so many workers.
type shared struct {
	m, n, k, workers int
	edit             func(s *spec)
}

// checkShared fails the test unless every product has the bits of the ring, and some are computed in
// slabs and others by columns.
func checkShared[I gemm.Element](t *testing.T, opts []gemm.Option, products []shared) {
	routes := map[string]int{}
	for _, tc := range products {
		t.Run(fmt.Sprintf("%dx%dx%d/workers=%d", tc.m, tc.n, tc.k, tc.workers), func(t *testing.T) {
			s := size(tc.m, tc.n, tc.k, append(opts[:len(opts):len(opts)], gemm.WithWorkers(tc.workers))...)
			tc.edit(&s)
			routes[sameAsRing[float32, I](t, s).Route]++
		})
	}
	if routes["slabs"] == 0 || routes["columns"] == 0 {
		t.Errorf("the routes are %v", routes)
	}
}

// TestKeepsB has several workers multiply few rows by a B that their second-level caches hold, and by larger ones.
func TestKeepsB(t *testing.T) {
	processors(t, 8)
	defer gemm.PretendL2(8 << 20)()
	eachKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if slowKernel(k.Name) || k.NR%16 != 0 || !k.InRows(asm.F32) || k.StreamRows(asm.F32, true) == 0 {
			t.Skip("it reads no rows, or has no vectors of AVX-512")
		}
		// Half of 8 MB for each of four, and more elements than are read unpacked.
		const n, deep = 1024, 4096
		checkShared[float32](t, opts, []shared{
			{57, n, deep, 4, func(s *spec) {}},
			{64, n, deep, 4, func(s *spec) { s.beta = 0.5 }},
			{57, n, deep + 1, 4, func(s *spec) {}},
			{57, n, deep, 3, func(s *spec) {}},
			{9, 11 * k.NR, 8192, 8, func(s *spec) {}}, // three tiles for each are 24
			{9, 12 * k.NR, 8192, 8, func(s *spec) {}},
			{k.MR, n, deep, 4, func(s *spec) {}},
			{k.MR - 1, n, deep, 4, func(s *spec) {}},
			{57, n, deep, 4, func(s *spec) { s.tb = true }},
			{57, n, deep, 4, func(s *spec) { s.packed = true }},
			{57, n, deep + 1, 4, func(s *spec) { s.packed = true }},
			{57, n, deep, 4, func(s *spec) { s.ta = true }}, // A is not in rows
		})
	})
}

// TestFetchesApart does the same with AMX.
func TestFetchesApart(t *testing.T) {
	processors(t, 8)
	defer gemm.PretendL2(1 << 20)()
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !gemm.WaitsForB(k) || k.StreamRows(asm.BF16, true) == 0 {
			t.Skip("it does not wait for operands, or has no kernels that stream")
		}
		third, narrow := 8<<20/3/2, 2*8*k.NR // elements of B, columns
		checkShared[bf16.BF16](t, opts, []shared{
			{8, 768, third / 768 &^ 15, 8, func(s *spec) {}},
			{8, 768, third/768&^15 + 16, 8, func(s *spec) {}},
			{5, 768, third / 768 &^ 15, 8, func(s *spec) { s.tb, s.beta = true, 0.5 }},
			{7, 768, third/768&^15 + 16, 8, func(s *spec) { s.packed = true }},
			{8, narrow, 4096, 8, func(s *spec) {}},
			{5, narrow, 4096, 8, func(s *spec) { s.packed = true }},
			{8, narrow + 1, 4096, 8, func(s *spec) { s.tb = true }},
			{8, 8 * narrow / 2, 512, 8, func(s *spec) {}},
			{8, 768, 512, 4, func(s *spec) {}},
			{64, 768, third / 768 / 2 &^ 15, 4, func(s *spec) { s.packed = true }},
			{5, 768, third/768/2&^15 + 16, 4, func(s *spec) { s.packed = true }},
			{3, 768, third / 768 &^ 15, 8, func(s *spec) { s.packed = true }},
			{64, 1024, 512, 4, func(s *spec) { s.tb = true }},
			{3, 1024, 512, 1, func(s *spec) { s.tb = true }},
		})
	})
}
