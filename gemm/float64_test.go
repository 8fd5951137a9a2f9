package gemm_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// defined64 is an element of a product of float64 as package gemm defines it: K in blocks, each a chain from zero,
// fused or not, and their sums in order.
func defined64(fused bool, a, b []float64) (sum float64) {
	block := asm.F64.Block()
	for k0 := 0; k0 < len(a); k0 += block {
		chain := 0.0
		for k := k0; k < min(k0+block, len(a)); k++ {
			if fused {
				chain = math.FMA(a[k], b[k], chain)
			} else {
				chain += float64(a[k] * b[k])
			}
		}
		if k0 == 0 {
			sum = chain
		} else {
			sum += chain
		}
	}
	return sum
}

// sow64 fills m with numbers that need all bits of a float64.
func sow64(m gemm.Matrix[float64], r *rand.Rand) {
	for i := range m.Rows {
		for j := range m.Cols {
			m.Set(i, j, math.Ldexp(r.NormFloat64(), r.IntN(8)))
		}
	}
}

// TestFloat64 compares products of float64 in all layouts, packed and not, on every route, with their definition, bit
// for bit; and some elements with the exact value, within the bound.
func TestFloat64(t *testing.T) {
	processors(t, 4)
	block, routes := asm.F64.Block(), map[string]bool{}
	shapes := [][3]int{
		{1, 1, 1}, {1, 1, 9*block + 3}, {1, 300, 3*block - 1}, {300, 1, block + 1}, {5, 700, 2 * block}, {7, 5, 3},
		{16, 1030, 2*block + 1}, {70, 70, block + 5}, {64, 40, 9 * block}, {31, 45, 100}, {300, 333, 2*block + 9},
		{1003, 3, 40}, {520, 1030, block + 1},
	}
	for _, d := range [][3]int{{2, 2, 20*block + 7}, {3, 1, 40 * block}, {9, 1030, 3*block + 9}} {
		shapes = append(shapes, d, d, d, d) // in all layouts: dots, and what is packed behind products
	}
	eachKernel(t, asm.F64, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		tiles := [][3]int{{k.MR + 1, 2*k.NR - 1, 30}, {2*k.MR - 1, k.NR + 1, block + 3}, {k.MR, 3 * k.NR, 2 * block}}
		for i, d := range append(tiles, shapes...) {
			s := size(d[0], d[1], d[2], opts...)
			if (slowKernel(k.Name) || raceEnabled) && s.m*s.n*s.k > 1<<22 {
				continue
			}
			s.ta, s.tb, s.tc, s.atStart = i%2 == 1, i%4 > 1, i%5 == 4, i%3 == 0
			s.padA, s.padB, s.padC = i%3, i%2, (i+1)%3
			alpha, beta := 1.0, 0.0
			if i%3 == 1 {
				alpha, beta = 1./3, -1./7
			}
			r := rand.New(rand.NewPCG(uint64(i), 64))
			a, freeA := matrix[float64](t, s.m, s.k, s.padA, s.ta, !s.atStart)
			b, freeB := matrix[float64](t, s.k, s.n, s.padB, s.tb, !s.atStart)
			c, freeC := matrix[float64](t, s.m, s.n, s.padC, s.tc, !s.atStart)
			sow64(a, r)
			sow64(b, r)
			if beta != 0 { // else C stays all NaN, which must not survive
				sow64(c, r)
			}
			old, want, rows, columns := slices.Clone(c.Data), make([]float64, 0, s.m*s.n), dense(a), dense(b.T())
			for i := range s.m {
				for j := range s.n {
					x := float64(alpha * defined64(k.Name != "gof64", rows[i*s.k:][:s.k], columns[j*s.k:][:s.k]))
					if beta != 0 {
						x += float64(beta * c.At(i, j))
					}
					want = append(want, x)
				}
			}
			last := len(want) - 1
			bounded(t, rows[len(rows)-s.k:], columns[len(columns)-s.k:], alpha, beta, want[last], old[len(old)-1])
			for way, more := range [][]gemm.Option{
				{gemm.WithWorkers(1)}, {gemm.WithWorkers(4)}, {gemm.WithDepth(3)}, {gemm.WithTile(2*k.MR, 3*k.NR, 48)},
			} {
				for _, packed := range []bool{false, true} {
					var st gemm.Stats
					of := gemm.Operand[float64](b)
					if packed {
						of = pack(t, b, opts...)
					}
					copy(c.Data, old)
					with := append(slices.Clip(opts), gemm.WithAlpha64(alpha), gemm.WithBeta64(beta), gemm.WithStats(&st))
					if err := gemm.Multiply(c, a, of, append(with, more...)...); err != nil {
						t.Fatal(err)
					}
					routes[st.Route] = true
					if checkGaps(t, s, c, old); !equalBits(dense(c), want) {
						t.Logf("%+v, way %d, packed %v: %v", s, way, packed, st)
						same(t, dense(c), want, s.n)
					}
				}
			}
			freeA()
			freeB()
			freeC()
		}
	})
	if len(routes) < 4 {
		t.Errorf("products took the routes %v alone", routes)
	}
}

// bounded checks that got is alpha·row·column + beta·old within the bound of the package comment.
func bounded(t *testing.T, row, column []float64, alpha, beta, got, old float64) {
	t.Helper()
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(v) }
	sum, size := exact(0), 0.0
	for i, x := range row {
		sum.Add(sum, exact(0).Mul(exact(x), exact(column[i])))
		size += math.Abs(x * column[i])
	}
	sum.Mul(sum, exact(alpha))
	size *= math.Abs(alpha)
	if beta != 0 {
		sum.Add(sum, exact(0).Mul(exact(beta), exact(old)))
		size += math.Abs(beta * old)
	}
	off, _ := sum.Sub(sum, exact(got)).Float64()
	block, k := asm.F64.Block(), len(row)
	if limit := float64(min(block, k)+k/block+8) * 0x1p-53 * size; math.Abs(off) > limit {
		t.Errorf("K = %d: it is off by %.3g, more than %.3g", k, off, limit)
	}
}

// TestFloat64Special multiplies NaN, infinities, zeros and subnormal numbers, of which none is skipped or flushed.
func TestFloat64Special(t *testing.T) {
	eachKernel(t, asm.F64, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		const n = 9
		for _, tc := range []struct{ x, y, want float64 }{
			{math.NaN(), 0, math.NaN()}, {math.Inf(1), 0, math.NaN()}, {math.Inf(-1), 2, math.Inf(-1)},
			{0x1p-1074, 1, 0x1p-1074}, {0x1p-600, 0x1p-474, 0x1p-1074}, {math.MaxFloat64, 2, math.Inf(1)},
		} {
			a, b, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
			a.Set(4, 3, tc.x)
			b.Set(3, 7, tc.y)
			if err := gemm.Multiply(c, a, b, opts...); err != nil {
				t.Fatal(err)
			}
			if got := c.At(4, 7); got != tc.want && !(got != got && tc.want != tc.want) {
				t.Errorf("%v · %v = %v, want %v", tc.x, tc.y, got, tc.want)
			}
		}
	})
}

// unpinned skips the test where LEAFHOPPER_KERNEL names no kernel of float64.
func unpinned(t *testing.T) {
	t.Helper()
	if _, err := asm.Select(asm.F64, ""); err != nil {
		t.Skip(err)
	}
}

// TestFloat64Errors checks what float64 cannot be multiplied with.
func TestFloat64Errors(t *testing.T) {
	unpinned(t)
	d, f, h := gemm.NewMatrix[float64](4, 4), gemm.NewMatrix[float32](4, 4), gemm.NewMatrix[bf16.BF16](4, 4)
	d2, d3, e4 := gemm.NewMatrix[float64](4, 4), gemm.NewMatrix[float64](4, 4), gemm.NewMatrix[fp8.E4M3](4, 4)
	three := make([]float32, 4)
	for _, tc := range []struct {
		c, a, b gemm.AnyMatrix
		opts    []gemm.Option
		want    []string
	}{
		{f, d, d2, nil, []string{"C f32", "f64"}},
		{d, f, f, nil, []string{"C f64", "A holds f32"}},
		{d, d2, f, nil, []string{"A holds f64", "B holds f32"}},
		{d, d2, e4, nil, []string{"A holds f64", "B e4m3"}},
		{d, e4, d2, nil, []string{"A holds e4m3", "B f64"}},
		{d, h, d2, nil, []string{"A holds bf16", "B holds f64"}},
		{d, d2, d3, []gemm.Option{gemm.WithArithmetic(gemm.Hopper)}, []string{"f64", "hopper"}},
		{d, d2, d3, []gemm.Option{gemm.WithKernel("go")}, []string{`"go"`, "does not multiply f64", "gof64"}},
		{d, d2, d3, []gemm.Option{gemm.WithBias(three)}, []string{"biases", "f64"}},
		{d, d2, d3, []gemm.Option{gemm.WithActivation(gemm.ReLU)}, []string{"activations", "f64"}},
		{f, gemm.NewMatrix[float32](4, 4), gemm.NewMatrix[float32](4, 4), []gemm.Option{gemm.WithKernel("gof64")},
			[]string{`"gof64"`, "does not multiply f32", "go"}},
		{d, d, d2, nil, []string{"shares memory"}},
	} {
		e, err := gemm.New()
		if err != nil {
			t.Fatal(err)
		}
		checkError(t, e.Multiply(tc.c, tc.a, tc.b, tc.opts...), tc.want...)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d.Data[0] != 0 {
		t.Error("C has been written")
	}
}

// TestFloat64Factors checks that products of other types take factors rounded to float32.
func TestFloat64Factors(t *testing.T) {
	a, b := gemm.NewMatrix[float32](3, 3), gemm.NewMatrix[float32](3, 3)
	for i := range a.Data {
		a.Data[i], b.Data[i] = float32(i), 1
	}
	c, d := gemm.NewMatrix[float32](3, 3), gemm.NewMatrix[float32](3, 3)
	if err := gemm.Multiply(c, a, b, gemm.WithAlpha64(1./3), gemm.WithBeta64(1e-60)); err != nil {
		t.Fatal(err)
	}
	if err := gemm.Multiply(d, a, b, gemm.WithAlpha(1./3)); err != nil {
		t.Fatal(err)
	}
	same(t, c.Data, d.Data, 3)
}

// TestFloat64Kept marshals packed matrices of float64, and multiplies batches of them, with the bits of plain ones.
func TestFloat64Kept(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	eachKernel(t, asm.F64, func(t *testing.T, k *asm.Kernel, opts []gemm.Option) {
		var c, a, want []gemm.Matrix[float64]
		var b []gemm.Operand[float64]
		for i := range 5 {
			m, n, depth := 1+20*i, 2*k.NR+i, 100+150*i
			x, y, z := gemm.NewMatrix[float64](m, depth), gemm.NewMatrix[float64](depth, n), gemm.NewMatrix[float64](m, n)
			sow64(x, r)
			sow64(y, r)
			if err := gemm.Multiply(z, x, y, opts...); err != nil {
				t.Fatal(err)
			}
			var kept gemm.Packed[float64]
			if err := kept.UnmarshalBinary(marshal(t, pack(t, y, opts...))); err != nil {
				t.Fatal(err)
			}
			b = append(b, &kept)
			a, want, c = append(a, x), append(want, z), append(c, gemm.NewMatrix[float64](m, n))
		}
		if err := gemm.MultiplyBatch(c, a, b, opts...); err != nil {
			t.Fatal(err)
		}
		for i := range c {
			same(t, c[i].Data, want[i].Data, c[i].Cols)
		}
	})
}

// TestFloat64Allocations counts those of calls in steady state.
func TestFloat64Allocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose what they are given")
	}
	unpinned(t)
	for _, n := range []int{3, 40, 300} {
		c, a, b := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
		allocatesNothing(t, 20, func() error {
			return gemm.Multiply(c, a, b, gemm.WithAlpha64(2), gemm.WithBeta64(1))
		})
	}
}
