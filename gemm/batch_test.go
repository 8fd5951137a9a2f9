package gemm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
)

// TestBatch compares batches of products of all sizes and layouts with a call for each, bit for bit.
func TestBatch(t *testing.T) {
	processors(t, 16)
	t.Run("bf16", testBatch[float32, bf16.BF16])
	t.Run("f16", testBatch[float16.Float16, float16.Float16])
	t.Run("f32", testBatch[float32, float32])
	t.Run("e4m3", testBatch[bf16.BF16, fp8.E4M3])
}

func testBatch[O gemm.Output, I gemm.Element](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	options := [][]gemm.Option{
		nil,
		{gemm.WithAlpha(0.5), gemm.WithBeta(-1.5)},
		{gemm.WithActivation(gemm.GELU)},
		{gemm.WithArithmetic(gemm.Hopper)},
		{gemm.WithDepth(2)},
	}
	// Sizes from which those of a batch are drawn: empty ones, tiny ones, ones that the caller keeps, and ones that are
	// shared.
	sizes := [][3]int{{0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {1, 1, 1}, {8, 8, 8}, {17, 33, 65}, {40, 1, 300}, {1, 70, 300},
		{64, 64, 64}, {100, 90, 80}, {2, 3, 9000}, {200, 190, 300}, {9, 600, 600}}
	most := 70
	if raceEnabled || testing.Short() { // of small ones: plain Go takes long
		most, sizes = 20, slices.DeleteFunc(sizes, func(of [3]int) bool { return of[0]*of[1]*of[2] > 1<<20 })
	}
	for i, workers := range []int{1, 2, 5, 16} {
		for j, n := range []int{0, 1, 2, 16, most} {
			opts := append(slices.Clone(options[(i+j)%len(options)]), gemm.WithWorkers(workers))
			t.Run(fmt.Sprint(workers, " workers, ", n), func(t *testing.T) {
				var c, want []gemm.Matrix[O]
				var a, b []gemm.Matrix[I]
				from, to := 0, len(sizes)
				if n == 16 { // alike
					from = r.IntN(to)
					to = from + 1
				}
				for k := range n {
					of := sizes[from+r.IntN(to-from)]
					s := size(of[0], of[1], of[2])
					s.seed, s.beta = uint64(k), 1
					s.ta, s.tb, s.tc = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
					s.padA, s.padB, s.padC = r.IntN(2)*k, r.IntN(2)*k, r.IntN(2)*k
					o := build[O, I](t, s)
					defer o.free()
					alone := build[O, I](t, s)
					defer alone.free()
					c, a, b, want = append(c, o.c), append(a, o.a), append(b, o.b), append(want, alone.c)
					if err := gemm.Multiply(alone.c, o.a, o.b, opts...); err != nil {
						t.Fatal(err)
					}
				}
				if err := gemm.MultiplyBatch(c, a, b, opts...); err != nil {
					t.Fatal(err)
				}
				for k := range c {
					same(t, dense(c[k]), dense(want[k]), c[k].Cols)
				}
			})
		}
	}
}

// TestBatchOperands has B packed, mixed, and by way of an engine.
func TestBatchOperands(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	const n = 9
	var c, a, b []matF32
	var packed []*gemm.Packed[float32]
	var mixed []gemm.Operand[float32]
	var anyC, anyA, anyB []gemm.AnyMatrix
	for i := range n {
		a, b = append(a, randomF32(r, 20+i, 50)), append(b, randomF32(r, 50, 40))
		c = append(c, gemm.NewMatrix[float32](20+i, 40))
		p, err := gemm.Pack(b[i])
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, p)
		mixed = append(mixed, []gemm.Operand[float32]{b[i], &b[i], p}[i%3])
		anyC, anyA, anyB = append(anyC, c[i]), append(anyA, a[i]), append(anyB, mixed[i])
	}
	var want [][]float32
	for i := range n {
		if err := gemm.Multiply(c[i], a[i], b[i]); err != nil {
			t.Fatal(err)
		}
		want = append(want, slices.Clone(c[i].Data))
	}
	for name, call := range map[string]func() error{
		"packed": func() error { return gemm.MultiplyBatch(c, a, packed) },
		"mixed":  func() error { return gemm.MultiplyBatch(c, a, mixed) },
		"engine": func() error { return testEngine.MultiplyBatch(anyC, anyA, anyB) },
	} {
		t.Run(name, func(t *testing.T) {
			for i := range n {
				clear(c[i].Data)
			}
			if err := call(); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				same(t, c[i].Data, want[i], 40)
			}
		})
	}
}

func randomF32(r *rand.Rand, rows, cols int) matF32 {
	m := gemm.NewMatrix[float32](rows, cols)
	fill(m, func() float32 { return ordinary(r) })
	return m
}

// TestBatchErrors makes mistakes in one of several products: nothing is written.
func TestBatchErrors(t *testing.T) {
	bias := make([]float32, 3)
	var none gemm.Operand[float32]
	after := func(c, b []matF32) {
		data := make([]float32, 8*16)
		for i := range 4 {
			c[i], b[i] = gemm.Of(4, 4, data[16*i:]), gemm.Of(4, 4, data[16*(4+i):])
		}
	}
	for _, tc := range []struct {
		name string
		edit func(c, a, b []matF32)
		opts []gemm.Option
		want string
	}{
		{"shape", func(_, a, _ []matF32) { a[2].Cols = 3 }, nil,
			"gemm: product 2 of the batch: A is 4x3 but B is 4x4: K differs"},
		{"bias", nil, []gemm.Option{gemm.WithBias(bias)},
			"gemm: product 0 of the batch: WithBias: 3 values for the 4"},
		{"own A", func(c, a, _ []matF32) { c[1] = a[1] }, nil,
			"gemm: product 1 of the batch: C (4x4) shares memory with A (4x4)"},
		{"one C twice", func(c, _, _ []matF32) { c[3] = c[0] }, nil, "shares memory with C of product "},
		{"another's A", func(c, a, _ []matF32) { a[1] = c[2] }, nil,
			"gemm: A of product 1 of the batch (4x4) shares memory with C of product 2 (4x4)"},
		{"another's B", func(c, _, b []matF32) { c[1] = b[2] }, nil,
			"gemm: B of product 2 of the batch (4x4) shares memory with C of product 1 (4x4)"},
		{"another's A, C transposed", func(c, a, _ []matF32) { c[1], a[1] = c[1].T(), c[2] }, nil,
			"gemm: A of product 1 of the batch (4x4) shares memory with C of product 2 (4x4)"},
		{"another's A, all B after all C", func(c, a, b []matF32) { after(c, b); a[1] = c[2] }, nil,
			"gemm: A of product 1 of the batch (4x4) shares memory with C of product 2 (4x4)"},
		{"another's B, all A after all C", func(c, a, b []matF32) { after(c, a); b[1] = c[2] }, nil,
			"gemm: B of product 1 of the batch (4x4) shares memory with C of product 2 (4x4)"},
		{"part of another's B", func(c, _, b []matF32) {
			b[3] = gemm.Matrix[float32]{Rows: 4, Cols: 4, Stride: 7, Data: make([]float32, 30)}
			c[0] = gemm.Of(4, 4, b[3].Data[13:])
		}, nil, "gemm: B of product 3 of the batch (4x4) shares memory with C of product 0 (4x4)"},
		{"stats", nil, []gemm.Option{gemm.WithStats(new(gemm.Stats))},
			"gemm: WithStats and WithTrace tell of one product"},
		{"trace", nil, []gemm.Option{gemm.WithTrace(new(gemm.Trace))},
			"gemm: WithStats and WithTrace tell of one product"},
		{"option", nil, []gemm.Option{gemm.WithWorkers(-1)}, "gemm: WithWorkers: -1 is outside 0..1024"},
		{"kernel", nil, []gemm.Option{gemm.WithKernel("sse9")}, `gemm: product 0 of the batch: asm: kernel "sse9"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			c, a, b := make([]matF32, 4), make([]matF32, 4), make([]matF32, 4)
			var all [][]float32
			for i := range c {
				c[i], a[i], b[i] = randomF32(r, 4, 4), randomF32(r, 4, 4), randomF32(r, 4, 4)
				all = append(all, c[i].Data)
			}
			var was [][]float32
			for _, data := range all {
				was = append(was, slices.Clone(data))
			}
			if tc.edit != nil {
				tc.edit(c, a, b)
			}
			checkError(t, gemm.MultiplyBatch(c, a, b, tc.opts...), tc.want)
			for i, data := range all {
				same(t, data, was[i], 4)
			}
		})
	}
	two, three := make([]matF32, 2), make([]matF32, 3)
	checkError(t, gemm.MultiplyBatch(two, three, two), "gemm: a batch of 2 C has 3 A and 2 B")
	checkError(t, gemm.MultiplyBatch(two, two, three), "gemm: a batch of 2 C has 2 A and 3 B")
	checkError(t, gemm.MultiplyBatch(two, two, []gemm.Operand[float32]{two[0], none}),
		"product 1 of the batch: B is nil")
	checkError(t, gemm.MultiplyBatch(two, two, make([]*gemm.Packed[float32], 2)), "product 0", "zero Packed")
	one := []gemm.AnyMatrix{two[0]}
	checkError(t, testEngine.MultiplyBatch(one, one, []gemm.AnyMatrix{nil}), "product 0 of the batch: B is nil")
	checkError(t, testEngine.MultiplyBatch([]gemm.AnyMatrix{nil}, one, one), "product 0 of the batch: C is nil")
	nilA := []gemm.AnyMatrix{(*matF32)(nil)}
	checkError(t, testEngine.MultiplyBatch(one, nilA, one), "product 0 of the batch: A is nil")
	checkError(t, (*gemm.Engine)(nil).MultiplyBatch(one, one, one), "zero Engine")
}

// TestBatchHeads has the products of attention: columns of one matrix, which lie side by side, and some that are
// shared.
func TestBatchHeads(t *testing.T) {
	const heads, rows, depth = 8, 37, 16
	r := rand.New(rand.NewPCG(2, 2))
	q, out := randomF32(r, rows, heads*depth), gemm.NewMatrix[float32](rows, heads*depth)
	keys := randomF32(r, depth, depth)
	part := func(m matF32, head int) matF32 {
		return matF32{Rows: rows, Cols: depth, Stride: m.Stride, Data: m.Data[head*depth:]}
	}
	var c, a, b []matF32
	for head := range heads {
		c, a, b = append(c, part(out, head)), append(a, part(q, head)), append(b, keys)
	}
	if err := gemm.MultiplyBatch(c, a, b); err != nil {
		t.Fatal(err)
	}
	for head := range heads {
		want := gemm.NewMatrix[float32](rows, depth)
		if err := gemm.Multiply(want, a[head], keys); err != nil {
			t.Fatal(err)
		}
		same(t, dense(c[head]), want.Data, depth)
	}
	c[5].Cols, a[5].Cols, b[5].Cols = depth, depth, depth
	c[5].Data = out.Data[5*depth-1:] // one column too far to the left
	checkError(t, gemm.MultiplyBatch(c, a, b), "C of product 5", "C of product 4")
}

// TestBatchMany: products in one matrix, side by side, or below each other beside one of many rows, are told apart in a
// time that grows as the batch does.
func TestBatchMany(t *testing.T) {
	const dim = 2
	columns := func(n int) (x [3][]matF32) {
		all := gemm.NewMatrix[float32](dim, 3*n*dim)
		for i := range 3 * n {
			x[i%3] = append(x[i%3], matF32{Rows: dim, Cols: dim, Stride: all.Stride, Data: all.Data[i*dim:]})
		}
		return x
	}
	rows := func(n int) (x [3][]matF32) {
		all := gemm.NewMatrix[float32](n, 6)
		part := func(row, col, rows int) matF32 {
			return matF32{Rows: rows, Cols: 1, Stride: all.Stride, Data: all.Data[row*all.Stride+col:]}
		}
		for side := range x {
			x[side] = append(x[side], part(0, side, n))
			for row := range n {
				x[side] = append(x[side], part(row, 3+side, 1))
			}
		}
		x[2][0].Rows = 1
		return x
	}
	for name, lay := range map[string]func(n int) [3][]matF32{"columns": columns, "rows": rows} {
		t.Run(name, func(t *testing.T) {
			timed := func(n int) time.Duration {
				x := lay(n)
				start := time.Now()
				if err := gemm.MultiplyBatch(x[0], x[1], x[2], gemm.WithWorkers(1)); err != nil {
					t.Fatal(err)
				}
				return time.Since(start)
			}
			few, many := time.Hour, time.Hour
			for range 20 { // others may have the processor
				few, many = min(few, timed(500)), min(many, timed(8000))
				if many < 100*few {
					return
				}
			}
			t.Errorf("%v for 500 products, %v for 16 times as many", few, many)
		})
	}
}

// TestBatchOverlaps has matrices, mostly of one pitch, anywhere in a slice. There is an error where one is another's C,
// and else none, unless the pitches of two that are among each other differ.
func TestBatchOverlaps(t *testing.T) {
	const size = 400
	type place struct {
		matF32
		from, to int
		has      [size]bool
	}
	share := func(p, q *place) bool {
		for i := max(p.from, q.from); i < min(p.to, q.to); i++ {
			if p.has[i] && q.has[i] {
				return true
			}
		}
		return false
	}
	unlike := func(p, q *place) bool { return p.Stride != q.Stride && max(p.from, q.from) < min(p.to, q.to) }
	r := rand.New(rand.NewPCG(6, 7))
	memory := make([]float32, size)
	// put mostly finds a place where none of others is.
	put := func(rows, cols, stride int, others ...[]place) (p place) {
		for range 1 + r.IntN(100) {
			n := (rows-1)*stride + cols
			p = place{matF32: matF32{Rows: rows, Cols: cols, Stride: stride}, from: r.IntN(size - n + 1)}
			p.to, p.Data = p.from+n, memory[p.from:]
			for i := range rows * cols {
				p.has[p.from+i/cols*stride+i%cols] = true
			}
			with := func(q place) bool { return share(&p, &q) || unlike(&p, &q) }
			if !slices.ContainsFunc(slices.Concat(others...), with) {
				break
			}
		}
		return p
	}
	matrices := func(from []place) (m []matF32) {
		for _, p := range from {
			m = append(m, p.matF32)
		}
		return m
	}
	wrong, right := 0, 0
	for range 10_000 {
		stride := 4 + r.IntN(40)
		var c, a, b []place
		for range 1 + r.IntN(8) {
			m, n, k := 1+r.IntN(4), 1+r.IntN(4), 1+r.IntN(4)
			pitch := func() int { return stride + r.IntN(16)/15 }
			c = append(c, put(m, n, pitch(), c, a, b))
			a, b = append(a, put(m, k, pitch(), c)), append(b, put(k, n, pitch(), c))
		}
		shared, doubtful := false, false
		for i := range c {
			for _, others := range [][]place{c[:i], a, b} {
				for j := range others {
					shared = shared || share(&c[i], &others[j])
					doubtful = doubtful || unlike(&c[i], &others[j])
				}
			}
		}
		switch err := gemm.MultiplyBatch(matrices(c), matrices(a), matrices(b)); {
		case shared && err == nil:
			t.Fatal("a C shares memory with another matrix, and there is no error")
		case shared:
			wrong++
		case !doubtful && err != nil:
			t.Fatal(err)
		case len(c) > 4:
			right++
		}
	}
	if min(wrong, right) < 500 {
		t.Errorf("%d batches were wrong, %d of more than 4 were right", wrong, right)
	}
}

// TestBatchContext ends a batch before it begins, between products of one worker, and while workers have them.
func TestBatchContext(t *testing.T) {
	processors(t, 4)
	r := rand.New(rand.NewPCG(2, 3))
	c, a, b := make([]matF32, 64), make([]matF32, 64), make([]matF32, 64)
	for i := range c {
		c[i], a[i], b[i] = gemm.NewMatrix[float32](32, 32), randomF32(r, 32, 32), randomF32(r, 32, 32)
	}
	before := idle()
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := gemm.MultiplyBatch(c, a, b, gemm.WithContext(done)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
	if slices.ContainsFunc(c, func(m matF32) bool { return m.Data[0] != 0 }) {
		t.Error("something was written")
	}
	for _, workers := range []int{1, 4} {
		for asked := range 40 {
			ctx := newCountdown(asked)
			err := gemm.MultiplyBatch(c, a, b, gemm.WithContext(ctx), gemm.WithWorkers(workers))
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%d workers, done when asked for the %dth time: %v", workers, asked, err)
			}
		}
	}
	settle(t, before)
	if err := gemm.MultiplyBatch(c, a, b); err != nil {
		t.Error(err)
	}
}

// TestBatchClosed has an engine that is closed.
func TestBatchClosed(t *testing.T) {
	e, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	m := []gemm.AnyMatrix{gemm.NewMatrix[float32](2, 2)}
	if err := e.MultiplyBatch(m, m, m); !errors.Is(err, gemm.ErrClosed) {
		t.Errorf("error %v, want %v", err, gemm.ErrClosed)
	}
}

// TestBatchAllocations checks that a batch allocates nothing once one of its size has been computed.
func TestBatchAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	r := rand.New(rand.NewPCG(2, 4))
	for _, n := range []int{1, 40} {
		for _, of := range []int{5, 40, 300} {
			if of == 300 && testing.Short() {
				continue // it takes long in plain Go
			}
			c, a, b := make([]matF32, n), make([]matF32, n), make([]matF32, n)
			var packed []*gemm.Packed[float32]
			var anyC, anyA, anyB []gemm.AnyMatrix
			for i := range c {
				c[i], a[i], b[i] = gemm.NewMatrix[float32](of, of), randomF32(r, of, of), randomF32(r, of, of)
				p, err := gemm.Pack(b[i])
				if err != nil {
					t.Fatal(err)
				}
				packed = append(packed, p)
				anyC, anyA, anyB = append(anyC, c[i]), append(anyA, a[i]), append(anyB, b[i])
			}
			bias := gemm.WithBias(make([]float32, of))
			t.Run(fmt.Sprint(n, " of ", of), func(t *testing.T) {
				two := gemm.WithWorkers(2)
				allocatesNothing(t, 20, func() error { return gemm.MultiplyBatch(c, a, b, two) })
				allocatesNothing(t, 20, func() error { return gemm.MultiplyBatch(c, a, packed, two, bias) })
				allocatesNothing(t, 20, func() error { return testEngine.MultiplyBatch(anyC, anyA, anyB, two) })
			})
		}
	}
}
