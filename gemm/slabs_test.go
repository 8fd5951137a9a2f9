package gemm_test

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestSlabs compares products whose A is read where it lies with those of the
// ring, bit for bit.
func TestSlabs(t *testing.T) {
	t.Run("bf16-f32", testSlabs[float32, bf16.BF16])
	t.Run("bf16-bf16", testSlabs[bf16.BF16, bf16.BF16])
	t.Run("f32-f32", testSlabs[float32, float32])
	defer gemm.PretendL2(1)() // so it is packed
	t.Run("f32-f32-packed", testSlabs[float32, float32])
}

// processors has n goroutines run at once during the test.
func processors(t *testing.T, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// inRows reports whether k reads a where it lies: AMX wants whole lines of the
// cache and whole tiles.
func inRows[I gemm.Element](k *asm.Kernel, a gemm.Matrix[I]) bool {
	return !gemm.WaitsForB(k) || (uintptr(unsafe.Pointer(&a.Data[0]))|uintptr(a.Stride*2))%64 == 0 && a.Cols%32 == 0
}

func testSlabs[O gemm.Output, I gemm.Element](t *testing.T) {
	processors(t, 6)
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !k.InRows(typeOf[I]()) {
			t.Skip("packs A")
		}
		for i, tc := range []struct{ m, n, k int }{
			{128, 200, 128}, {192, 133, 256}, {40 * k.MR, 5*k.NR + 7, 200}, {256, 64, 250}, {400, 130, 64},
			{min(65*k.MR, 600), 3 * k.NR, 200}, {140, 3*k.NR + 7, 1060}, {300, 170, 256}, {140, 3*k.NR + 7, 1056},
		} {
			rounds := typeOf[O]() != asm.F32
			if gemm.WaitsForB(k) && (raceEnabled || slowKernel(k.Name) && rounds) && tc.m*tc.n*tc.k > 1<<22 {
				continue // a model takes long, and the detector makes it slower still
			}
			t.Run(fmt.Sprint(tc), func(t *testing.T) {
				s := size(tc.m, tc.n, tc.k, opts...)
				s.tb, s.padA, s.padC, s.alpha = i&1 != 0, i, i&2, 1
				if i == 3 || i > 6 {
					s.padA = 32
				}
				if i%3 == 1 {
					s.alpha, s.beta = 0.75, -1.5
				}
				s.ring = true
				want := product[O, I](t, s)
				s.ring = false
				for _, workers := range []int{1, 2, 3, 6} {
					for _, packed := range []bool{false, true} {
						if raceEnabled && packed != (workers == 1 || workers == 6) {
							continue // the detector makes operands slow to build
						}
						s.packed = packed
						s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(workers))
						o := build[O, I](t, s)
						st, err := o.multiply(s)
						if err != nil {
							t.Fatal(err)
						}
						same(t, dense(o.c), want, s.n)
						lies := inRows(k, o.a)
						o.free()
						if workers <= 4 && !lies {
							continue // A is packed, and where depends on its size
						}
						inline := workers == 1 || gemm.Alone(k, typeOf[I](), tc.m, tc.n, tc.k, workers)
						if st.Bytes != 0 || st.Inline != inline {
							t.Errorf("%d workers, packed %v: %v: copied to a ring", workers, packed, st)
						}
					}
				}
			})
		}
	})
}

// TestSlabsOwn compares products that many workers cut into slabs, each of which
// fetches for itself, with those of the ring.
func TestSlabsOwn(t *testing.T) {
	t.Run("bf16-f32", testSlabsOwn[float32, bf16.BF16])
	t.Run("f32-bf16", testSlabsOwn[bf16.BF16, float32])
}

func testSlabsOwn[O gemm.Output, I gemm.Element](t *testing.T) {
	processors(t, 6)
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !k.InRows(typeOf[I]()) {
			t.Skip("packs A")
		}
		for i, tc := range []struct{ m, n, k int }{{300, 290, 560}, {130, 330, 1100}, {97, 400, 544}} {
			for _, trans := range []bool{false, true} {
				for _, packed := range []bool{false, true} {
					if raceEnabled && (trans != packed || gemm.WaitsForB(k) && i < 2) {
						continue
					}
					t.Run(fmt.Sprint(tc, trans, packed), func(t *testing.T) {
						s := size(tc.m, tc.n, tc.k, append(opts[:len(opts):len(opts)], gemm.WithWorkers(6))...)
						s.ta, s.tb, s.padA, s.packed, s.alpha, s.beta = trans, i&1 != 0, 8*i, packed, 1, float32(i%2)
						bySlabs[O, I](t, s)
					})
				}
			}
		}
	})
}

// TestSlabsSums has more sums than scratch memory holds, and several stages of K. They
// wait in C where that can hold them; else there are so many slabs that each has room.
func TestSlabsSums(t *testing.T) {
	t.Run("bf16-f32", testSlabsSums[float32, bf16.BF16])
	t.Run("bf16-bf16", testSlabsSums[bf16.BF16, bf16.BF16])
	t.Run("f32-f32", testSlabsSums[float32, float32])
	t.Run("f64-f64", testSlabsSums[float64, float64])
}

func testSlabsSums[O gemm.Output, I gemm.Element](t *testing.T) {
	processors(t, 2)
	defer gemm.PretendL2(16 << 20)() // of which A takes a part
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if k.Edge() == nil || !k.InRows(typeOf[I]()) {
			t.Skip("A has to be packed, or C to be stored, in whole tiles")
		}
		for i, tc := range []struct{ m, n, k int }{{403, 300, 514 * k.KPack}, {3203, 2 * k.NR, 300 * k.KPack}} {
			for _, packed := range []bool{false, true} {
				if raceEnabled && packed == (i == 0) {
					continue // the detector makes operands slow to build
				}
				s := size(tc.m, tc.n, tc.k)
				s.tb, s.padA, s.padC, s.packed = true, 2*i, i&1, packed
				for _, scale := range []float32{1, -0.5} {
					s.alpha, s.beta, s.ring, s.opts = scale, 1-scale, true, opts
					want := product[O, I](t, s)
					s.ring = false
					for _, workers := range []int{1, 2} {
						s.opts = append(opts[:len(opts):len(opts)], gemm.WithWorkers(workers))
						st := sameAs[O, I](t, s, want)
						inC := scale == 1 && typeOf[O]() == k.Sum
						if st.Bytes != 0 || st.Inline != (workers == 1 && inC) {
							t.Errorf("%v, packed %v, %d workers, alpha %v: %v", tc, packed, workers, scale, st)
						}
					}
				}
			}
		}
	})
}

// TestSlabsTall has more rows than scratch memory has accumulators for, and so
// few columns that few workers come.
func TestSlabsTall(t *testing.T) {
	processors(t, 6)
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if !gemm.WaitsForB(k) {
			t.Skip("operands come fast enough")
		}
		bySlabs[float32, bf16.BF16](t, size(3100, 4, 128, append(opts[:len(opts):len(opts)], gemm.WithWorkers(6))...))
	})
}

// bySlabs checks that s is computed by slabs, with the bits of the ring.
func bySlabs[O gemm.Output, I gemm.Element](t *testing.T, s spec) {
	t.Helper()
	if st := sameAsRing[O, I](t, s); st.Bytes != 0 || st.Inline {
		t.Errorf("%v: not by slabs", st)
	}
}
