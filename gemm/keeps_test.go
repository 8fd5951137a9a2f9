package gemm_test

import (
	"fmt"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// A routed is a product, on so many workers, and the route it is to take.
type routed struct {
	m, n, k, workers int
	edit             func(s *spec)
	want             string
}

// checkRoutes fails the test unless every product takes its route, and has the bits of the ring.
func checkRoutes[I gemm.Element](t *testing.T, opts []gemm.Option, products []routed) {
	for _, tc := range products {
		t.Run(fmt.Sprintf("%dx%dx%d/workers=%d", tc.m, tc.n, tc.k, tc.workers), func(t *testing.T) {
			s := size(tc.m, tc.n, tc.k, append(opts[:len(opts):len(opts)], gemm.WithWorkers(tc.workers))...)
			tc.edit(&s)
			if st := sameAsRing[float32, I](t, s); st.Route != tc.want {
				t.Errorf("%v; want %s", st, tc.want)
			}
		})
	}
}

// TestKeepsB checks that several workers compute few rows in place where their second-level caches hold B twice and
// each has three tiles, that B is streamed otherwise, and that the bits are those of the ring.
func TestKeepsB(t *testing.T) {
	processors(t, 8)
	defer gemm.PretendL2(8 << 20)()
	eachKernel(t, asm.F32, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if slowKernel(k.Name) || k.NR%16 != 0 || k.Rows(asm.F32) == nil || k.StreamRows(asm.F32) == 0 {
			t.Skip("it reads no rows, or has no vectors of AVX-512")
		}
		// Half of 8 MB for each of four, and more elements than are read unpacked.
		const n, deep = 1024, 4096
		checkRoutes[float32](t, opts, []routed{
			{57, n, deep, 4, func(s *spec) {}, "place"},
			{64, n, deep, 4, func(s *spec) { s.beta = 0.5 }, "place"},
			{57, n, deep + 1, 4, func(s *spec) {}, "stream"},
			{57, n, deep, 3, func(s *spec) {}, "stream"},
			{9, 11 * k.NR, 8192, 8, func(s *spec) {}, "stream"}, // three tiles for each are 24
			{9, 12 * k.NR, 8192, 8, func(s *spec) {}, "place"},
			{k.MR, n, deep, 4, func(s *spec) {}, "place"},
			{k.MR - 1, n, deep, 4, func(s *spec) {}, "stream"},
			{57, n, deep, 4, func(s *spec) { s.tb = true }, "place"},
			{57, n, deep, 4, func(s *spec) { s.packed = true }, "place"},
			{57, n, deep + 1, 4, func(s *spec) { s.packed = true }, "stream"},
			{57, n, deep, 4, func(s *spec) { s.ta = true }, "stream"}, // A is not in rows
		})
	})
}

// TestFetchesApart checks that few rows are computed in place by workers with AMX where their second-level caches hold B, if it
// is packed or along K or the workers are many, or where each of many has two panels of it, that B is streamed otherwise, and
// that the bits are those of the ring.
func TestFetchesApart(t *testing.T) {
	processors(t, 8)
	defer gemm.PretendL2(1 << 20)()
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !k.Starves() || k.StreamRows(asm.BF16) == 0 {
			t.Skip("it does not wait for operands, or has no kernels that stream")
		}
		third, narrow := 8<<20/3/2, 2*8*k.NR // elements of B, columns
		checkRoutes[bf16.BF16](t, opts, []routed{
			{8, 768, third / 768 &^ 15, 8, func(s *spec) {}, "place"},
			{8, 768, third/768&^15 + 16, 8, func(s *spec) {}, "stream"},
			{5, 768, third / 768 &^ 15, 8, func(s *spec) { s.tb, s.beta = true, 0.5 }, "place"},
			{7, 768, third/768&^15 + 16, 8, func(s *spec) { s.packed = true }, "stream"},
			{8, narrow, 4096, 8, func(s *spec) {}, "place"},
			{5, narrow, 4096, 8, func(s *spec) { s.packed = true }, "place"},
			{8, narrow + 1, 4096, 8, func(s *spec) { s.tb = true }, "stream"},
			{8, 8 * narrow / 2, 512, 8, func(s *spec) {}, "stream"}, // whose slabs are wide
			{8, 768, 512, 4, func(s *spec) {}, "stream"},
			{64, 768, third / 768 / 2 &^ 15, 4, func(s *spec) { s.packed = true }, "place"},
			{5, 768, third/768/2&^15 + 16, 4, func(s *spec) { s.packed = true }, "stream"},
			{3, 768, third / 768 &^ 15, 8, func(s *spec) { s.packed = true }, "place"},
			{64, 1024, 512, 4, func(s *spec) { s.tb = true }, "place"},
			{3, 1024, 512, 1, func(s *spec) { s.tb = true }, "stream"},
		})
	})
}
