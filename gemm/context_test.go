package gemm_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// settle waits until no more than n goroutines are left; helpers may spin for a
// while before they end.
func settle(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > n {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines are left, want %d:\n%s", runtime.NumGoroutine(), n, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

// idle waits for the helpers of earlier tests to end and returns the number of
// goroutines.
func idle() int {
	n := runtime.NumGoroutine()
	for range 20 {
		time.Sleep(time.Millisecond)
		n = min(n, runtime.NumGoroutine())
	}
	return n
}

// A countdown is a context that is cancelled when it has been asked a number of
// times whether it is.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newCountdown(n int) *countdown {
	return &countdown{Context: context.Background(), left: n, done: make(chan struct{})}
}

func (c *countdown) Done() <-chan struct{} { return c.done }

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left >= 0 {
		return nil
	}
	if c.left == -1 {
		close(c.done)
	}
	return context.Canceled
}

// mixed fails the test unless every element of c is a canary or that of want.
func mixed(t *testing.T, c gemm.Matrix[float32], want []float32) {
	t.Helper()
	for i, got := range dense(c) {
		if g := bitsOf(got); g != bitsOf(canary[float32]()) && g != bitsOf(want[i]) {
			t.Fatalf("element %d is %v (%#x), neither old nor the product's %v", i, got, g, want[i])
		}
	}
}

// TestCancelPack has the context of Pack end before it allocates, and wherever else it looks.
func TestCancelPack(t *testing.T) {
	const n = 1 << 20 // elements
	wide, column := gemm.NewMatrix[bf16.BF16](1<<10, 1<<10), gemm.NewMatrix[bf16.BF16](1, n)
	for name, tc := range map[string]struct {
		b     gemm.Matrix[bf16.BF16]
		arith gemm.Arithmetic
	}{
		"rows": {wide, gemm.Native}, "transposed": {wide.T(), gemm.Native}, "Hopper": {wide, gemm.Hopper},
		"a column": {column.T(), gemm.Native}, "columns": {gemm.NewMatrix[bf16.BF16](n/2, 2), gemm.Native},
	} {
		pack := func(looks int) (*gemm.Packed[bf16.BF16], *countdown, error) {
			ctx := newCountdown(looks)
			p, err := gemm.Pack(tc.b, gemm.WithArithmetic(tc.arith), gemm.WithContext(ctx))
			return p, ctx, err
		}
		p, ctx, err := pack(n)
		if p == nil || err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		looks := n - ctx.left
		if looks < 5 { // for 2 MiB of B
			t.Errorf("%s: Pack looks %d times at its context", name, looks)
		}
		var before, after runtime.MemStats
		for i := range looks {
			if raceEnabled && i > 1 && i < looks-1 {
				continue
			}
			runtime.ReadMemStats(&before)
			p, _, err := pack(i)
			if p != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%s, after %d looks: %v, error %v, want %v", name, i, p, err, context.Canceled)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; i == 0 && got > n {
				t.Errorf("%s: %d bytes are allocated although the context had ended", name, got)
			}
		}
	}
}

// TestCancelAnywhere cancels a product of many stages, and one that streams B, the first time it looks, the second
// time, and so on until it succeeds.
func TestCancelAnywhere(t *testing.T) {
	before := idle()
	for _, workers := range []int{1, 2, 4} {
		ring := size(50, 70, 40, gemm.WithTile(16, 32, 8), gemm.WithDepth(2), gemm.WithWorkers(workers))
		ring.ring = true
		cancelAnywhere(t, ring, 5)
		cancelAnywhere(t, size(5, 700, 900, gemm.WithWorkers(workers)), 2)
	}
	settle(t, before)
}

// cancelAnywhere does so with s, which is to look at its context so many times.
func cancelAnywhere(t *testing.T, s spec, looks int) {
	t.Helper()
	want := product[float32, bf16.BF16](t, s)
	opts, step, cancelled := s.opts, 1, 0
	for n := 0; ; n += step {
		o := build[float32, bf16.BF16](t, s)
		s.opts = append(slices.Clip(opts), gemm.WithContext(newCountdown(n)))
		_, err := o.multiply(s)
		if err == nil {
			same(t, dense(o.c), want, s.n)
			o.free()
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		mixed(t, o.c, want)
		o.free()
		if cancelled++; cancelled > 50 {
			step = 1 + n/4
		}
	}
	s.opts = opts
	if cancelled < looks {
		t.Errorf("%+v: succeeded after %d cancellations: the context is hardly looked at", s, cancelled)
	}
	sameAs[float32, bf16.BF16](t, s, want)
}

// heavy returns a product that takes some milliseconds, and how many.
func heavy(t *testing.T) (o operands[float32, bf16.BF16], want []float32, full time.Duration) {
	m, n, k := 1000, 900, 2000
	if len(kernels(asm.F32)) == 1 {
		m, n, k = 400, 300, 2000
	}
	s := size(m, n, k)
	s.value = func(r *rand.Rand) float32 { return float32(r.IntN(9) - 4) }
	o = build[float32, bf16.BF16](t, s)
	t.Cleanup(o.free)
	start := time.Now()
	if err := gemm.Multiply(o.c, o.a, o.b); err != nil {
		t.Fatal(err)
	}
	return o, dense(o.c), time.Since(start)
}

func poison(data []float32) {
	for i := range data {
		data[i] = canary[float32]()
	}
}

// TestCancelled passes contexts that have ended before the call.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, d := range [][3]int{{3, 4, 5}, {300, 200, 300}, {0, 1, 1}, {2, 2, 0}} {
		o := build[float32, bf16.BF16](t, size(d[0], d[1], d[2]))
		if err := gemm.Multiply(o.c, o.a, o.b, gemm.WithContext(ctx)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v, want %v", d, err, context.Canceled)
		}
		if err := gemm.Multiply(o.c, o.a, o.b, gemm.WithContext(late)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v, want %v", d, err, context.DeadlineExceeded)
		}
		untouched(t, o.c.Data)
		o.free()
	}
}

// TestCancelAtRandom cancels a large product at random moments.
func TestCancelAtRandom(t *testing.T) {
	before := idle()
	o, want, full := heavy(t)
	turns := 25
	if testing.Short() || raceEnabled {
		turns = 6
	}
	for i := range turns {
		poison(o.c.Data)
		ctx, cancel := context.WithCancel(t.Context())
		var at time.Time
		delay := time.Duration(rand.Float64() * 1.2 * float64(full))
		fired := make(chan struct{})
		timer := time.AfterFunc(delay, func() { at = time.Now(); cancel(); close(fired) })
		err := gemm.Multiply(o.c, o.a, o.b, gemm.WithContext(ctx), gemm.WithWorkers(i%3))
		end := time.Now()
		if timer.Stop() {
			cancel()
		} else {
			<-fired
		}
		switch {
		case err == nil:
			same(t, dense(o.c), want, o.c.Cols)
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		default:
			mixed(t, o.c, want)
			if late := end.Sub(at); late > 2*time.Second {
				t.Errorf("returned %v after it was cancelled", late)
			}
		}
	}
	poison(o.c.Data)
	if err := gemm.Multiply(o.c, o.a, o.b, gemm.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, dense(o.c), want, o.c.Cols)
	settle(t, before)
}

// TestDeadline lets the time run out in the middle of a product.
func TestDeadline(t *testing.T) {
	o, want, full := heavy(t)
	for turn := 0; ; turn++ {
		poison(o.c.Data)
		ctx, cancel := context.WithTimeout(t.Context(), full/time.Duration(4<<turn))
		err := gemm.Multiply(o.c, o.a, o.b, gemm.WithContext(ctx))
		cancel()
		if err == nil && turn < 10 {
			continue // the machine was faster this time
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v, want %v", err, context.DeadlineExceeded)
		}
		mixed(t, o.c, want)
		return
	}
}

// TestDeadlineWithoutK cancels a product that only scales C, between two blocks of rows.
func TestDeadlineWithoutK(t *testing.T) {
	a, b, c := gemm.NewMatrix[float32](1000, 0), gemm.NewMatrix[float32](0, 100), gemm.NewMatrix[float32](1000, 100)
	for i := range c.Data {
		c.Data[i] = 4
	}
	ctx := newCountdown(10)
	if err := gemm.Multiply(c, a, b, gemm.WithBeta(0.5), gemm.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want %v", err, context.Canceled)
	}
	if first, last := c.At(0, 0), c.At(999, 99); first != 2 || last != 4 {
		t.Errorf("the first element is %v and the last %v, want 2 and 4", first, last)
	}
}

// TestContextIsLetGo checks that an engine, which keeps what it can use again,
// does not keep the context of a call that is over.
func TestContextIsLetGo(t *testing.T) {
	e, err := gemm.New(gemm.WithWorkers(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []int{4, 300} { // streamed, on the ring
		for _, cancelled := range []bool{false, true} {
			gone := make(chan struct{})
			func() {
				value := new([16]int)
				runtime.AddCleanup(value, func(gone chan struct{}) { close(gone) }, gone)
				ctx := newCountdown(math.MaxInt)
				if cancelled {
					ctx.left = 3
				}
				ctx.Context = context.WithValue(context.Background(), gone, value)
				a, b := gemm.NewMatrix[float32](m, 700), gemm.NewMatrix[float32](700, 800)
				c := gemm.NewMatrix[float32](m, 800)
				if err := e.Multiply(c, a, b, gemm.WithContext(ctx)); (err != nil) != cancelled {
					t.Fatal(err)
				}
			}()
			let := false
			for range 500 {
				runtime.GC()
				select {
				case <-gone:
					let = true
				case <-time.After(10 * time.Millisecond):
				}
				if let {
					break
				}
			}
			if !let {
				t.Errorf("%d rows, cancelled %v: the context is still reachable after the call", m, cancelled)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
