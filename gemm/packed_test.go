package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// samePacked is sameAs with B packed.
func samePacked[O gemm.Output, I gemm.Element](t testing.TB, s spec, want []O) gemm.Stats {
	t.Helper()
	s.packed = true
	return sameAs[O, I](t, s, want)
}

// TestPacked checks that packing B does not change a bit: every kernel, type and
// layout, inline and on the ring.
func TestPacked(t *testing.T) {
	t.Run("bf16-f32", testPacked[float32, bf16.BF16])
	t.Run("bf16-bf16", testPacked[bf16.BF16, bf16.BF16])
	t.Run("f16-f32", testPacked[float32, float16.Float16])
	t.Run("f16-f16", testPacked[float16.Float16, float16.Float16])
	t.Run("f32-f32", testPacked[float32, float32])
	t.Run("f64-f64", testPacked[float64, float64])
	t.Run("f32-bf16", testPacked[bf16.BF16, float32])
}

func testPacked[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		s := size(2*k.MR+3, 2*k.NR+1, 45, opts...)
		eachLayout(s, func(layout string, s spec) {
			for i, f := range [][2]float32{{1, 0}, {0.75, 1.5}, {-2, 0}} {
				s.alpha, s.beta, s.ring = f[0], f[1], false
				s.padA, s.padB, s.padC, s.atStart = i, 2*i, 3*i, i == 1
				want := product[O, I](t, s)
				if st := samePacked[O, I](t, s, want); !st.Inline || st.Kernel != k.Name {
					t.Errorf("%s: %v: want kernel %s inline", layout, st, k.Name)
				}
				s.ring = true
				samePacked[O, I](t, s, want)
				if slowKernel(k.Name) || raceEnabled {
					return
				}
			}
		})
	})
}

// TestPackedStages cuts K into several stages, at every place near their ends,
// for any crew, depth and tile.
func TestPackedStages(t *testing.T) {
	t.Run("bf16-f32", testPackedStages[float32, bf16.BF16])
	t.Run("f16-bf16", testPackedStages[bf16.BF16, float16.Float16])
	t.Run("f32-f32", testPackedStages[float32, float32])
	t.Run("f64-f64", testPackedStages[float64, float64])
}

func testPackedStages[O gemm.Output, I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		stage := gemm.PackedStage(pack(t, gemm.NewMatrix[I](1, 1), opts...))
		thin := slowKernel(k.Name) || raceEnabled || testing.Short()
		depths := []int{stage - 1, stage, stage + 1, 2*stage + 1, 3 * stage}
		if thin {
			depths = depths[2:4]
		}
		if raceEnabled {
			depths = depths[1:]
		}
		for i, kk := range depths {
			// Few rows, and more than are multiplied without a ring.
			for _, m := range []int{k.MR + 1, 65} {
				if slowKernel(k.Name) && m == 65 && (i > 0 || raceEnabled) {
					continue
				}
				s := size(m, 2*k.NR+1, kk, opts...)
				s.alpha, s.beta, s.ta, s.tb, s.tc = 1, float32(i&1), i&1 != 0, i&2 != 0, i == 2
				want := product[O, I](t, s)
				samePacked[O, I](t, s, want)
				s.ring = true
				crews := [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 2}, {4, 5}, {2, gemm.MaxDepth}}
				if thin {
					crews = crews[2:4]
				}
				for j, crew := range crews {
					// The depth of a tile does not count: the stages are those of the packing.
					tile := gemm.WithTile(j%3*k.MR, j%2*k.NR, j%2*24)
					s.opts = append(slices.Clip(opts), gemm.WithWorkers(crew[0]), gemm.WithDepth(crew[1]), tile)
					samePacked[O, I](t, s, want)
				}
			}
		}
	})
}

// TestPackedEdges takes sizes next to the dimensions of the register tile, and a
// product of tiles and stages of the engine's own choice.
func TestPackedEdges(t *testing.T) {
	t.Run("bf16", testPackedEdges[bf16.BF16])
	t.Run("f32", testPackedEdges[float32])
}

func testPackedEdges[I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		ms, ns, ks := around(1, k.MR), around(1, k.NR, 9*k.NR), around(1, k.KStep(typeOf[I]())*k.KPack)
		i := 0
		for _, m := range ms {
			for _, n := range ns {
				for _, kk := range ks {
					if i++; slowKernel(k.Name) && i%11 != 0 {
						continue
					}
					s := size(m, n, kk, opts...)
					s.tb, s.tc, s.ring = i&1 != 0, i&2 != 0, i&4 != 0
					samePacked[float32, I](t, s, product[float32, I](t, s))
					s.alpha, s.beta, s.tc = 0.75, float32(i&1), !s.tc
					samePacked[float16.Float16, I](t, s, product[float16.Float16, I](t, s))
				}
			}
		}
		if slowKernel(k.Name) || raceEnabled || testing.Short() {
			return
		}
		s := size(600, 1100, 700, append(opts[:len(opts):len(opts)], gemm.WithWorkers(4))...)
		s.ring = true
		want := product[float32, I](t, s)
		for _, s.tb = range []bool{false, true} {
			if st := samePacked[float32, I](t, s, want); !gemm.WaitsForB(k) && (st.Inline || st.Stages < 2) {
				t.Errorf("%v: want several stages", st)
			}
		}
	})
}

// TestPackedEmpty takes matrices without rows, columns or K.
func TestPackedEmpty(t *testing.T) {
	for _, d := range [][3]int{{3, 5, 0}, {3, 0, 5}, {0, 3, 5}, {3, 0, 0}, {0, 0, 0}, {300, 200, 0}} {
		for _, beta := range []float32{0, 0.5} {
			for _, arith := range arithmetics {
				s := size(d[0], d[1], d[2], gemm.WithArithmetic(arith))
				s.beta = beta
				samePacked[float32, bf16.BF16](t, s, product[float32, bf16.BF16](t, s))
				s.tb, s.tc = true, true
				samePacked[float16.Float16, float32](t, s, product[float16.Float16, float32](t, s))
			}
		}
	}
	p, err := gemm.Pack(gemm.Matrix[float32]{})
	if err != nil || p.Rows() != 0 || p.Cols() != 0 || p.Size() != 0 {
		t.Errorf("an empty matrix packs to %v, %v", p, err)
	}
}

// TestPackedSize checks what is documented about a Packed, and that it stands by
// itself: B may change.
func TestPackedSize(t *testing.T) {
	t.Run("bf16", testPackedSize[bf16.BF16])
	t.Run("f32", testPackedSize[float32])
}

func testPackedSize[T gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[T](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		each := 16 * typeOf[T]().Block() // rows for each of a few columns, from which on they are kept
		for i, d := range [][2]int{{1, 1}, {901, 1}, {1, 2}, {700, 3 * k.NR}, {1500, k.NR + 1},
			{2 * each, 2}, {2*each - 1, 2}, {3*each - 1, 3}, {8*each + 5, 8}, {9 * each, 9}} {
			if d[0] > 2000 && (slowKernel(k.Name) || k.Arithmetic != gemm.Native || raceEnabled) {
				continue
			}
			s := size(1, d[1], d[0], opts...)
			s.tb, s.padB = i%2 == 0, i%3
			want := product[float32, T](t, s)
			o := build[float32, T](t, s)
			p, err := gemm.Pack(o.b, opts...)
			if err != nil {
				t.Fatal(err)
			}
			step := k.KStep(typeOf[T]())
			elements := (d[0] + step*k.KPack - 1) / (step * k.KPack) * (step * k.KPack) *
				((d[1] + k.NR - 1) / k.NR * k.NR)
			least, most := elements*typeOf[T]().Size(), elements*typeOf[T]().Size()
			switch {
			case d[1] == 1, d[0] >= each*d[1] && d[1] <= 8:
				least, most = d[0]*d[1]*typeOf[T]().Size(), d[0]*d[1]*typeOf[T]().Size()
			case k.Arithmetic == gemm.Native && k.KPack == 2 && d[0] >= 256 && d[1] <= 16: // the columns, too
				least += (d[0] + 1) / 2 * 2 * d[1] * typeOf[T]().Size()
				most = least
			case k.Arithmetic == gemm.Hopper:
				least, most = 5*elements, 6*elements+128*(elements/k.NR/step)
			}
			if p.Rows() != d[0] || p.Cols() != d[1] || p.Kernel() != k.Name || p.Size() < least || p.Size() > most {
				t.Errorf("%dx%d packed takes %d bytes for kernel %s, want %d to %d for %dx%d and %s",
					p.Rows(), p.Cols(), p.Size(), p.Kernel(), least, most, d[0], d[1], k.Name)
			}
			fill(o.b, func() float32 { return nan })
			if err := gemm.Multiply(o.c, o.a, p, opts...); err != nil {
				t.Fatal(err)
			}
			same(t, dense(o.c), want, s.n)
			o.free()
		}
	})
	for _, p := range []*gemm.Packed[T]{nil, new(gemm.Packed[T])} {
		if p.Rows() != 0 || p.Cols() != 0 || p.Size() != 0 || p.Kernel() != "" {
			t.Errorf("a nil or zero Packed is %dx%d of %d bytes for kernel %q", p.Rows(), p.Cols(), p.Size(), p.Kernel())
		}
	}
}

// TestPackedGuard has the panels end, or begin, at a page that faults.
func TestPackedGuard(t *testing.T) {
	if !guardPages {
		t.Skip("no guard pages")
	}
	eachKernel(t, asm.BF16, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		for _, atEnd := range []bool{false, true} {
			for _, d := range [][3]int{{1, 1, 1}, {k.MR, k.NR, 700}, {k.MR + 1, 2*k.NR + 3, 95}, {1100, 3, 257},
				{2, 2, 256*512 + 1}, {7, 1, 4099}} {
				if d[2] > 5000 && (slowKernel(k.Name) || k.Arithmetic != gemm.Native || raceEnabled) {
					continue
				}
				s := size(d[0], d[1], d[2], opts...)
				want := product[float32, bf16.BF16](t, s)
				o := build[float32, bf16.BF16](t, s)
				p, err := gemm.Pack(o.b, opts...)
				if err != nil {
					t.Fatal(err)
				}
				memory, free := fenced[byte](t, p.Size(), atEnd)
				gemm.MovePacked(p, memory)
				for _, multiply := range []func() error{
					func() error { return gemm.Multiply(o.c, o.a, p, opts...) },
					func() error { _, err := gemm.OnRing(testEngine, o.c, o.a, p, opts...); return err },
				} {
					poison(o.c.Data)
					if err := multiply(); err != nil {
						t.Fatal(err)
					}
					same(t, dense(o.c), want, s.n)
				}
				free()
				o.free()
			}
		}
	})
}

// TestPackedMemory checks that a ring does without room for B.
func TestPackedMemory(t *testing.T) {
	processors(t, 2)
	for _, arith := range arithmetics {
		for _, d := range [][3]int{{8, 2000, 900}, {1000, 1000, 600}, {3000, 30, 2000}} {
			a, b := gemm.NewMatrix[bf16.BF16](d[0], d[2]), gemm.NewMatrix[bf16.BF16](d[2], d[1])
			c := gemm.NewMatrix[float32](d[0], d[1])
			p := pack(t, b, gemm.WithArithmetic(arith))
			// Without a given depth the ring may hold no B in either case.
			depth := gemm.WithDepth(1)
			plain, err := gemm.RingBytes(testEngine, c, a, b, depth, gemm.WithArithmetic(arith))
			if err != nil {
				t.Fatal(err)
			}
			packed, err := gemm.RingBytes(testEngine, c, a, p, depth, gemm.WithArithmetic(arith))
			if err != nil || packed >= plain || packed > 16<<20 {
				t.Errorf("%v: %v: %d bytes with B packed, error %v, and %d without", arith, d, packed, err, plain)
			}
		}
	}
}

// TestPackedSpecial lets NaN and infinities through.
func TestPackedSpecial(t *testing.T) {
	for _, arith := range arithmetics {
		for seed := range uint64(4) {
			s := size(21, 67, 600, gemm.WithArithmetic(arith))
			s.value, s.seed, s.ring = peculiar, seed, seed&1 != 0
			t.Run(fmt.Sprint(arith, "/", seed), func(t *testing.T) {
				samePacked[float32, bf16.BF16](t, s, product[float32, bf16.BF16](t, s))
				samePacked[float16.Float16, float32](t, s, product[float16.Float16, float32](t, s))
			})
		}
	}
}
