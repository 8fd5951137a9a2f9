package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestStreamAgain multiplies more rows than a kernel for few takes at once by a B that
// nobody packs, as one processor does, and another if B lies along K and they are not too
// many. The bits are those of the ring.
func TestStreamAgain(t *testing.T) {
	processors(t, 5)
	defer gemm.PretendL2(1 << 10)()
	for _, along := range []bool{true, false} {
		in := fmt.Sprint("/along=", along)
		t.Run("bf16-f32"+in, func(t *testing.T) { testStreamAgain[float32, bf16.BF16](t, along) })
		t.Run("f32-f32"+in, func(t *testing.T) { testStreamAgain[float32, float32](t, along) })
		t.Run("f32-bf16"+in, func(t *testing.T) { testStreamAgain[bf16.BF16, float32](t, along) })
	}
}

func testStreamAgain[O gemm.Output, I gemm.Element](t *testing.T, along bool) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if slowKernel(k.Name) || k.Arithmetic != asm.Native {
			t.Skip("takes long, or has no kernel for few rows")
		}
		pairs := typeOf[I]() == asm.BF16
		reads := k.NR%32 == 0 && !k.Starves() && (k.KPack == 2) == pairs // AVX-512, and nothing to widen
		shapes := [][2]int{{530, 600}, {331, 4200}, {265, 9000}}         // n, k
		for i, m := range []int{9, 12, 13, 16, 31, 48, 49} {
			for j, d := range shapes {
				if (raceEnabled || testing.Short()) && i%3 != j {
					continue
				}
				s := size(m, d[0], d[1], opts...)
				s.seed, s.tb, s.ta, s.padA, s.padB, s.padC = uint64(i+j), along, i&1 != 0, i, j, i+j
				if i == 2 {
					s.alpha, s.beta = -0.5, 2
				}
				o := build[O, I](t, s)
				old := slices.Clone(o.c.Data)
				s.opts = append(slices.Clip(opts), gemm.WithDepth(2))
				again(t, o, s, old)
				want := dense(o.c)
				for _, intel := range []bool{false, true} {
					restore, restoreIntel := gemm.PretendHalves(!intel), gemm.PretendIntel(intel)
					for _, workers := range []int{1, 2, 5} {
						t.Run(fmt.Sprint(m, "x", d, "/intel=", intel, "/workers=", workers), func(t *testing.T) {
							s.opts = append(slices.Clip(opts), gemm.WithWorkers(workers))
							path, err := gemm.PathOf(testEngine, o.c, o.a, o.b, s.opts...)
							if err != nil {
								t.Fatal(err)
							}
							is := path.StreamsInPlace
							most := 12
							switch {
							case !intel && along:
								most = 48
							case intel && (pairs || !along), workers == 5:
								most = 8
							}
							rows := !intel && along && workers <= 2 && m == 31 // columns are, see TestStreamAlong
							if wants := reads && m <= most && !rows; is != wants {
								t.Errorf("reads B where it lies: %v, want %v", is, wants)
							}
							again(t, o, s, old)
							same(t, dense(o.c), want, s.n)
							checkGaps(t, s, o.c, old)
						})
					}
					restoreIntel()
					restore()
				}
				o.free()
			}
		}
	})
}
