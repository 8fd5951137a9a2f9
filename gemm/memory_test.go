package gemm_test

import (
	"slices"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestMemory checks the bound of the package comment on the memory of a ring.
func TestMemory(t *testing.T) {
	t.Run("bf16", testMemory[bf16.BF16])
	t.Run("f32", testMemory[float32])
}

func testMemory[T gemm.Element](t *testing.T) {
	defer gemm.PretendL3(64 << 20)()
	// Nothing is multiplied, so one buffer does for all operands.
	const longest = 1 << 21
	data, out := make([]T, 2*longest), make([]float32, 2*longest)
	eachKernel(t, typeOf[T](), func(t *testing.T, kernel *asm.Kernel, opts []gemm.Option) {
		name, more, word := kernel.Name, 0, 4
		if kernel.Arithmetic == gemm.Hopper {
			more, word = 4<<20, 8 // exponents, too
		}
		ring := func(c gemm.Matrix[float32], a, b gemm.Matrix[T], more ...gemm.Option) (int, error) {
			return gemm.RingBytes(testEngine, c, a, b, append(slices.Clip(opts), more...)...)
		}
		for _, m := range []int{1, 100, 1000, 1025, 2047, 2049, longest} {
			for _, n := range []int{1, 100, 1023, 1025, 2047, longest} {
				for _, k := range []int{1, 255, 257, 513, 5000, longest} {
					if m > len(data)/k || n > len(data)/k || m > len(out)/n {
						continue
					}
					a := gemm.Matrix[T]{Rows: m, Cols: k, Stride: k, Data: data}
					b := gemm.Matrix[T]{Rows: k, Cols: n, Stride: n, Data: data}
					c := gemm.Matrix[float32]{Rows: m, Cols: n, Stride: n, Data: out}
					for workers, apart := range map[int]int{4: 0, 64: 16 << 20} {
						limit := 32<<20 + more
						if kernel.Arithmetic != gemm.Hopper && typeOf[T]() == asm.BF16 && kernel.KPack == 1 {
							limit += apart // a stage is half a block of K
						}
						got, err := ring(c, a, b, gemm.WithWorkers(workers))
						if err != nil {
							t.Fatal(err)
						}
						if got > limit {
							t.Errorf("%s, %d workers: the ring of %dx%dx%d takes %d bytes, more than %d",
								name, workers, m, n, k, got, limit)
						}
						got, err = ring(c, a, b, gemm.WithWorkers(workers), gemm.WithSplitK(4))
						if err != nil {
							t.Fatal(err)
						}
						if limit := 32<<20 + max(apart, limit-32<<20) + more; got > limit {
							t.Errorf("%s, %d workers: the ring of %dx%dx%d with K split takes %d bytes, more than %d",
								name, workers, m, n, k, got, limit)
						}
					}
					// What a caller chooses is what it gets.
					got, err := ring(c, a, b, gemm.WithTile(64, 96, 64), gemm.WithDepth(2))
					if limit := 2*(64+96)*64*word + 2*64*96*4 + 1024; err != nil || got > limit {
						t.Errorf("%s: %d bytes for a tile of 64x96x64 on 2 stages, error %v, want at most %d",
							name, got, err, limit)
					}
				}
			}
		}
	})
}

// TestMemoryOfFewColumns does the same for columns that fill no panel, and a K so long
// that their panels are as large as those of many.
func TestMemoryOfFewColumns(t *testing.T) {
	defer gemm.PretendL3(64 << 20)()
	defer gemm.PretendL2(1)() // few rows then have others below them
	const m, k = 300, 450159
	a := gemm.Matrix[bf16.BF16]{Rows: m, Cols: k, Stride: k, Data: make([]bf16.BF16, m*k)}
	eachKernel(t, asm.BF16, func(t *testing.T, kernel *asm.Kernel, opts []gemm.Option) {
		if kernel.Arithmetic == gemm.Hopper {
			t.Skip("keeps nothing")
		}
		for _, n := range []int{1, 2, 3, 5, 31, 40} {
			b, c := gemm.NewMatrix[bf16.BF16](k, n), gemm.NewMatrix[float32](m, n)
			got, err := gemm.RingBytes(testEngine, c, a, b, append(slices.Clip(opts), gemm.WithWorkers(2))...)
			if err != nil || got > 32<<20 {
				t.Errorf("%s: the ring of %dx%dx%d takes %d bytes, error %v, want at most %d",
					kernel.Name, m, n, k, got, err, 32<<20)
			}
		}
	})
}
