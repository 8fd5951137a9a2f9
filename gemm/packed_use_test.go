package gemm_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

func pack[T gemm.Element](t testing.TB, b gemm.Matrix[T], opts ...gemm.Option) *gemm.Packed[T] {
	t.Helper()
	p, err := gemm.Pack(b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPackErrors makes the mistakes that Pack can see.
func TestPackErrors(t *testing.T) {
	b := gemm.NewMatrix[float32](4, 5)
	for _, tc := range []struct {
		name string
		edit func(*matF32)
		opt  gemm.Option
		want []string
	}{
		{name: "negative", edit: func(b *matF32) { b.Rows = -4 }, want: []string{"B ", "-4x5"}},
		{name: "stride", edit: func(b *matF32) { b.Stride = 4 }, want: []string{"B ", "stride 4", "5"}},
		{name: "short", edit: func(b *matF32) { b.Data = b.Data[:19] }, want: []string{"B ", "4x5", "19"}},
		{name: "huge", edit: func(b *matF32) { b.Rows, b.Cols, b.Stride = math.MaxInt, math.MaxInt, math.MaxInt },
			want: []string{"B ", "20"}},
		{name: "kernel", opt: gemm.WithKernel("nonesuch"), want: []string{`"nonesuch"`, "choices", "go"}},
		{name: "type", opt: gemm.WithKernel("gobf16"), want: []string{`"gobf16"`, "f32", "choices"}},
		{name: "arithmetic", opt: gemm.WithKernel("hopper-go"), want: []string{`"hopper-go"`, "hopper", "native"}},
		{name: "option", opt: gemm.Option{}, want: []string{"zero Option"}},
		{name: "depth", opt: gemm.WithDepth(-1), want: []string{"WithDepth", "-1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, opts := b, []gemm.Option(nil)
			if tc.edit != nil {
				tc.edit(&m)
			} else {
				opts = append(opts, tc.opt)
			}
			p, err := gemm.Pack(m, opts...)
			checkError(t, err, tc.want...)
			if p != nil {
				t.Error("Pack returned a Packed along with its error")
			}
		})
	}
	// Without rows or columns no size is too large.
	for _, m := range []matF32{{Rows: 0, Cols: math.MaxInt, Stride: math.MaxInt}, {Rows: math.MaxInt}} {
		if p, err := gemm.Pack(m); err != nil || p.Rows() != m.Rows || p.Cols() != m.Cols || p.Size() != 0 {
			t.Errorf("%dx%d: %v", m.Rows, m.Cols, err)
		}
	}
}

// TestPackedErrors passes a Packed where it does not belong.
func TestPackedErrors(t *testing.T) {
	o := build[float32, float32](t, size(3, 5, 4))
	defer o.free()
	p, h := pack(t, o.b, gemm.WithKernel("go")), pack(t, o.b, gemm.WithArithmetic(gemm.Hopper))
	check := func(err error, want ...string) {
		t.Helper()
		checkError(t, err, want...)
		untouched(t, o.c.Data)
	}
	check(testEngine.Multiply(o.c, p, o.b), "A is packed")
	check(testEngine.Multiply(p, o.a, o.b), "C is packed")
	check(testEngine.Multiply(p, p, p), "A is packed")
	check(gemm.Multiply(o.c, o.a, nil), "B is nil")
	var none *gemm.Packed[float32]
	check(gemm.Multiply(o.c, o.a, none), "B is a nil or zero Packed")
	check(gemm.Multiply(o.c, o.a, new(gemm.Packed[float32])), "B is a nil or zero Packed")
	check(testEngine.Multiply(o.c, o.a, none), "B is a nil or zero Packed")
	// Even where the sizes match.
	empty := gemm.NewMatrix[float32](3, 0)
	check(gemm.Multiply(empty, empty, none), "nil or zero Packed", "Pack")
	check(gemm.Multiply(empty, empty, new(gemm.Packed[float32])), "nil or zero Packed")

	check(gemm.Multiply(o.c, o.a, p, gemm.WithKernel("gobf16")), `"gobf16"`, `"go"`)
	check(gemm.Multiply(o.c, o.a, p, gemm.WithKernel("nonesuch")), `"nonesuch"`, `"go"`)
	check(gemm.Multiply(o.c, o.a, p, gemm.WithArithmetic(gemm.Hopper)), "packed for native", "hopper")
	check(gemm.Multiply(o.c, o.a, h), "packed for hopper", "native")
	check(gemm.Multiply(o.c, o.a, h, gemm.WithArithmetic(gemm.Hopper), gemm.WithKernel("go")), `"go"`, h.Kernel())

	check(gemm.Multiply(o.c, o.a.T(), p), "A is 4x3", "B is 4x5", "K")
	check(gemm.Multiply(o.c.T(), o.a, p), "C is 5x3", "A is 3x4", "M")
	wide := gemm.NewMatrix[float32](3, 6)
	check(gemm.Multiply(wide, o.a, p), "C is 3x6", "B is 4x5", "N")
	check(testEngine.Multiply(o.c, gemm.NewMatrix[bf16.BF16](3, 4), p), "A holds bf16", "B holds f32")
}

// TestPackedChoosesKernel checks that a Packed brings its kernel along.
func TestPackedChoosesKernel(t *testing.T) {
	for _, arith := range arithmetics {
		for _, name := range kernelsOf(arith, asm.F32) {
			o := build[float32, float32](t, size(3, 5, 4))
			var st gemm.Stats
			p := pack(t, o.b, gemm.WithArithmetic(arith), gemm.WithKernel(name))
			err := gemm.Multiply(o.c, o.a, p, gemm.WithArithmetic(arith), gemm.WithStats(&st))
			if err != nil || st.Kernel != name {
				t.Errorf("packed for %s, ran %s, %v", name, st.Kernel, err)
			}
			o.free()
		}
	}
}

// TestPackedEngine multiplies by a Packed on an engine, with defaults of its own.
func TestPackedEngine(t *testing.T) {
	e, err := gemm.New(gemm.WithAlpha(2), gemm.WithBeta(1), gemm.WithKernel("go"), gemm.WithWorkers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, d := range [][3]int{{3, 5, 4}, {150, 170, 160}} {
		s := size(d[0], d[1], d[2], gemm.WithKernel("go"))
		s.alpha, s.beta = 2, 1
		want := product[bf16.BF16, float16.Float16](t, s)
		o := build[bf16.BF16, float16.Float16](t, s)
		defer o.free()
		var b gemm.AnyMatrix = pack(t, o.b, gemm.WithKernel("go"))
		if err := e.Multiply(o.c, o.a, b); err != nil {
			t.Fatal(err)
		}
		same(t, dense(o.c), want, s.n)
		// Its kernel is pinned, so what was packed for another one is refused.
		hopper := gemm.WithArithmetic(gemm.Hopper)
		checkError(t, e.Multiply(o.c, o.a, pack(t, o.b, hopper), hopper), `"go"`, "hopper-")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	c, a := gemm.NewMatrix[float32](2, 2), gemm.NewMatrix[float32](2, 2)
	checkError(t, e.Multiply(c, a, pack(t, a, gemm.WithKernel("go"))), "closed")
}

// TestPackedShared multiplies by the same Packed from many goroutines.
func TestPackedShared(t *testing.T) {
	before := idle()
	for _, arith := range arithmetics {
		s := size(40, 90, 1100, gemm.WithArithmetic(arith))
		want := product[float32, bf16.BF16](t, s)
		o := build[float32, bf16.BF16](t, s)
		defer o.free()
		p := pack(t, o.b, s.opts...)
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				for i := range 3 {
					c := gemm.NewMatrix[float32](s.m, s.n)
					opts := append(slices.Clip(s.opts), gemm.WithWorkers(1+(g+i)%3), gemm.WithTile(16, 64, 0))
					if err := gemm.Multiply(c, o.a, p, opts...); err != nil {
						t.Error(err)
					} else if !equalBits(c.Data, want) {
						t.Error("not the bits of one call alone")
					}
					data, err := p.MarshalBinary()
					if err != nil || new(gemm.Packed[bf16.BF16]).UnmarshalBinary(data) != nil {
						t.Errorf("marshalling: %v", err)
					}
				}
			})
		}
		wg.Wait()
	}
	settle(t, before)
}

// TestPackedAllocations checks that a call with a Packed allocates nothing.
func TestPackedAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	for _, arith := range arithmetics {
		for _, n := range []int{5, 60, 300} {
			a, b := gemm.NewMatrix[bf16.BF16](n, 1100), gemm.NewMatrix[bf16.BF16](1100, n)
			c := gemm.NewMatrix[float32](n, n)
			p := pack(t, b, gemm.WithArithmetic(arith))
			var anyA, anyC gemm.AnyMatrix = a, c
			for name, call := range map[string]func() error{
				"plain": func() error { return gemm.Multiply(c, a, p, gemm.WithArithmetic(arith)) },
				"view":  func() error { return gemm.Multiply(c.T(), a, p, gemm.WithArithmetic(arith)) },
				"2 workers": func() error {
					return gemm.Multiply(c, a, p, gemm.WithArithmetic(arith), gemm.WithWorkers(2))
				},
				"engine": func() error { return testEngine.Multiply(anyC, anyA, p, gemm.WithArithmetic(arith)) },
			} {
				t.Run(fmt.Sprint(arith, "/", n, "/", name), func(t *testing.T) { allocatesNothing(t, 5, call) })
			}
		}
	}
}

// TestPackedSplitK splits K where a stage of the packing ends, and elsewhere: stages of Hopper's
// arithmetic are what K is split at.
func TestPackedSplitK(t *testing.T) {
	const unit = 64
	for _, tc := range []struct{ k, parts int }{
		{2 * unit, 2}, {5 * unit, 2}, {2*unit - 5, 2}, {unit - 5, 1}, {40, 3}, {6 * unit, 3}, {2*unit + 1, 2},
	} {
		s := size(9, 70, tc.k, gemm.WithArithmetic(gemm.Hopper), gemm.WithSplitK(tc.parts))
		samePacked[float32, bf16.BF16](t, s, product[float32, bf16.BF16](t, s))
		s.opts = append(s.opts, gemm.WithWorkers(3), gemm.WithDepth(3), gemm.WithTile(8, 32, 0))
		samePacked[float32, bf16.BF16](t, s, product[float32, bf16.BF16](t, s))
	}
}

// TestPackedTallTile asks for a tile whose rows of A, as deep as the stages of a
// packed B, are more than a barrier counts.
func TestPackedTallTile(t *testing.T) {
	a, b := gemm.NewMatrix[float32](gemm.MaxTile, 300), gemm.NewMatrix[float32](300, 40)
	for i := range a.Data {
		a.Data[i] = float32(i%13) - 6
	}
	for i := range b.Data {
		b.Data[i] = float32(i%7) - 3
	}
	want, got := gemm.NewMatrix[float32](gemm.MaxTile, 40), gemm.NewMatrix[float32](gemm.MaxTile, 40)
	if err := gemm.Multiply(want, a, b); err != nil {
		t.Fatal(err)
	}
	var st gemm.Stats
	if err := gemm.Multiply(got, a, pack(t, b), gemm.WithTile(gemm.MaxTile, 0, 0), gemm.WithStats(&st)); err != nil {
		t.Fatal(err)
	}
	same(t, got.Data, want.Data, 40)
	if st.TileM < gemm.MaxTile/4 {
		t.Errorf("%v: a tile of %d rows, want about as many as a barrier counts", st, st.TileM)
	}
}

// TestPackedAfterPlain multiplies few rows by a packed B on workers that have just multiplied
// them by the same B unpacked, in slabs of fewer columns.
func TestPackedAfterPlain(t *testing.T) {
	processors(t, 4)
	t.Run("bf16", testPackedAfterPlain[bf16.BF16])
	t.Run("f16", testPackedAfterPlain[float16.Float16])
	t.Run("f32", testPackedAfterPlain[float32])
}

func testPackedAfterPlain[I gemm.Element](t *testing.T) {
	eachKernel(t, typeOf[I](), func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		if slowKernel(k.Name) {
			t.Skip("takes long, and cuts as others do")
		}
		for n := 300; n <= 1100; n += 200 {
			s := size(1+n/200%4, n, 512, append(slices.Clip(opts), gemm.WithWorkers(4))...)
			o := build[float32, I](t, s)
			old := slices.Clone(o.c.Data)
			again(t, o, s, old)
			want := dense(o.c)
			s.packed = true
			again(t, o, s, old)
			same(t, dense(o.c), want, s.n)
			o.free()
		}
	})
}
