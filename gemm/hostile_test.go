package gemm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/hostile"
	"example.com/leafhopper/pipeline"
)

// A way is a product on a route of the engine's.
type way struct {
	name    string // of the route, if K is not 0
	m, n, k int
	opts    []gemm.Option
}

// ways returns one for each route, and a product without K.
func ways(t *testing.T) []way {
	two := []gemm.Option{gemm.WithWorkers(2)}
	ways := []way{
		{"caller", 8, 8, 8, nil},
		{"ring", 50, 70, 40, []gemm.Option{gemm.WithTile(16, 32, 8), gemm.WithDepth(2), gemm.WithWorkers(3)}},
		{"slabs", 96, 112, 128, two},
		{"columns", 2, 600, 500, two},
		{"without K", 100, 20, 0, nil},
	}
	for _, w := range ways {
		var st gemm.Stats
		if err := newCrowd(w.m, w.n, w.k, 1).multiply(0, append(w.opts, gemm.WithStats(&st))...); err != nil {
			t.Fatal(err)
		}
		if w.k > 0 && st.Route != w.name {
			t.Logf("%dx%dx%d is computed by route %s here, not %s", w.m, w.n, w.k, st.Route, w.name)
		}
	}
	return ways
}

// expected fails the test unless o is how a product with a hostile context may end.
func expected(t *testing.T, what string, kind hostile.Kind, o hostile.Outcome) {
	t.Helper()
	var strange hostile.Error
	p, _ := o.Panic.(*pipeline.RolePanic)
	switch {
	case o == hostile.Outcome{}, o.Exit, errors.Is(o.Err, context.Canceled), errors.As(o.Err, &strange):
	case o.Err != nil && strings.Contains(kind.Name, "ends the goroutine") && strings.Contains(o.Err.Error(), "Goexit"):
	case o.Panic == hostile.Panic, p != nil && p.Value == hostile.Panic:
	default:
		t.Errorf("%s: error %v, panic %v", what, o.Err, o.Panic)
	}
}

// TestHostileContext multiplies with contexts of every kind that turn at the first
// question, the second, and so on, and after each without one, on the same engine.
func TestHostileContext(t *testing.T) {
	before := idle()
	e, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	times := []int{0, 1, 2, 3, 5, 9, 30}
	for _, way := range ways(t) {
		name := way.name
		w := newCrowd(way.m, way.n, way.k, 2)
		w.engine = e
		if err := w.multiply(0, way.opts...); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(w.c[0].Data)
		for _, kind := range hostile.Kinds() {
			for _, times := range times {
				what := name + ", " + kind.Name
				o := within(t, what, func() hostile.Outcome {
					return hostile.Call(func() error {
						return w.multiply(0, append(way.opts, gemm.WithContext(kind.New(times)))...)
					})
				})
				expected(t, what, kind, o)
				if times == 0 && kind.Done == nil && o == (hostile.Outcome{}) && kind.Closes {
					t.Errorf("%s, from the start: the product was computed", what)
				}
				if o == (hostile.Outcome{}) && !equalBits(w.c[0].Data, want) {
					t.Errorf("%s, after %d questions: other bits", what, times)
				}
			}
			poison(w.c[1].Data)
			within(t, "a product after "+kind.Name, func() (o hostile.Outcome) {
				if err := w.multiply(1, way.opts...); err != nil || !equalBits(w.c[1].Data, want) {
					t.Errorf("after %s: error %v, or other bits", kind.Name, err)
				}
				return o
			})
		}
		for nils, ctx := range hostile.Nils() {
			o := hostile.Call(func() error { return w.multiply(0, append(way.opts, gemm.WithContext(ctx))...) })
			works := strings.HasSuffix(nils, "works")
			if works != (o == hostile.Outcome{}) || !works && o.Panic == nil {
				t.Errorf("%s, %s: error %v, panic %v", name, nils, o.Err, o.Panic)
			}
		}
	}
	within(t, "Close", func() (o hostile.Outcome) { o.Err = e.Close(); return o })
	settle(t, before)
}

// within returns what f does, which must not hang.
func within(t *testing.T, what string, f func() hostile.Outcome) hostile.Outcome {
	t.Helper()
	done := make(chan hostile.Outcome, 1)
	go func() { done <- f() }()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Minute):
		t.Fatalf("%s hangs", what)
		panic("unreachable")
	}
}

// TestHostileContextsAmongOthers has 64 callers, of whom every fourth has hostile
// contexts, which must not make the others' results wrong or late.
func TestHostileContextsAmongOthers(t *testing.T) {
	const callers = 64
	before := idle()
	each := 60
	if raceEnabled || testing.Short() {
		each = 8
	}
	kinds := hostile.Kinds()
	for _, way := range ways(t) {
		name := way.name
		w := newCrowd(way.m, way.n, way.k, callers)
		e, err := gemm.New()
		if err != nil {
			t.Fatal(err)
		}
		w.engine = e
		if err := w.multiply(0, way.opts...); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(w.c[0].Data)
		within(t, name, func() (o hostile.Outcome) {
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for n := range each {
						if i%4 > 0 {
							poison(w.c[i].Data)
							if err := w.multiply(i, way.opts...); err != nil || !equalBits(w.c[i].Data, want) {
								t.Errorf("%s: caller %d: error %v, or other bits", name, i, err)
							}
							continue
						}
						kind := kinds[(i/4+n)%len(kinds)]
						ctx := kind.New((i + 3*n) % 10)
						later := time.AfterFunc(time.Duration(i+n)*10*time.Microsecond, ctx.Turn)
						opts := append(slices.Clone(way.opts), gemm.WithContext(ctx))
						expected(t, kind.Name, kind, hostile.Call(func() error { return w.multiply(i, opts...) }))
						later.Stop()
					}
				})
			}
			wg.Wait()
			return o
		})
		within(t, "Close", func() (o hostile.Outcome) { o.Err = e.Close(); return o })
	}
	settle(t, before)
}
