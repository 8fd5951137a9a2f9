package gemm

import (
	"context"
	"runtime"
	"testing"
)

// have has a call keep so many processors busy if it is the only one.
func have(n int) (restore func()) {
	old := processors
	processors = func() int { return n }
	return func() { processors = old }
}

// TestSharers has calls under way share the processors, but for those that name their workers.
func TestSharers(t *testing.T) {
	defer have(8)()
	calls := make([]product, 9)
	unnamed, named := settings{}, settings{workers: 5}
	for i, want := range []int{8, 4, 3, 2, 2, 2, 2, 1, 1} {
		if n := unnamed.workerCount(&calls[i]); n != want {
			t.Errorf("call %d has %d workers, want %d", i, n, want)
		}
		if n := named.workerCount(&product{}); n != 5 {
			t.Errorf("a call that wants 5 workers has %d", n)
		}
	}
	for i := range calls {
		calls[i].leave()
		calls[i].leave()
	}
	if n := sharers.Load(); n != 0 {
		t.Errorf("%d calls are left", n)
	}
}

// TestSharersLeave has calls end in every way, beside one that goes on.
func TestSharersLeave(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	defer have(2)()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	multiply := func(n int, opts ...Option) (st Stats, err error) {
		a, b, c := NewMatrix[float32](n, n), NewMatrix[float32](n, n), NewMatrix[float32](n, n)
		err = e.Multiply(c, a, b, append(opts, WithStats(&st))...)
		return st, err
	}
	var other product
	for _, want := range []int{2, 1} {
		if want == 1 {
			new(settings).workerCount(&other)
		}
		for _, n := range []int{8, 64, 200, 256} {
			for _, opts := range [][]Option{nil, {WithDepth(2)}, {WithDepth(2), WithTile(64, 64, 64)}} {
				st, err := multiply(n, opts...)
				if err != nil || st.Workers > want || n == 256 && st.Workers != want {
					t.Errorf("%d, %d calls under way: %v, %v", n, 3-want, st, err)
				}
			}
			if _, err := multiply(n, WithContext(ctx)); err == nil {
				t.Errorf("%d: no error", n)
			}
		}
	}
	other.leave()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := multiply(256); err == nil {
		t.Error("a closed engine multiplies")
	}
	if n := sharers.Load(); n != 0 {
		t.Errorf("%d calls are left", n)
	}
}
