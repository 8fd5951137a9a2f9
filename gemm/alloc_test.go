package gemm_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestAllocationsInParallel counts with all processors, which
// testing.AllocsPerRun does not: helpers come and go.
func TestAllocationsInParallel(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	const n, calls = 200, 200
	a, b, c := gemm.NewMatrix[bf16.BF16](n, n), gemm.NewMatrix[bf16.BF16](n, n), gemm.NewMatrix[float32](n, n)
	count := func(calls int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			if err := gemm.Multiply(c, a, b, gemm.WithWorkers(2)); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	// The runtime itself allocates now and then, goroutines among others, until
	// it has as many as it reuses.
	for turn := 1; ; turn++ {
		got := count(calls)
		if got <= calls/10 {
			return
		}
		if turn == 10 {
			t.Fatalf("still %d allocations in %d calls", got, calls)
		}
	}
}

// allocatesNothing checks that call succeeds and allocates nothing once memory of its size has been used before, in one
// of three turns of so many calls: a garbage collection in between empties the pools, and whoever is the first of the
// process to give way has package runtime/metrics make its tables.
func allocatesNothing(t *testing.T, calls int, call func() error) {
	t.Helper()
	least, failed := math.Inf(1), error(nil)
	for turn := 0; turn < 3 && least > 0; turn++ {
		least = min(least, testing.AllocsPerRun(calls, func() { failed = cmp.Or(failed, call()) }))
	}
	if least != 0 || failed != nil {
		t.Errorf("%v allocations a call, error %v, want none", least, failed)
	}
}

// TestAllocations checks that a call allocates nothing once memory of its size
// has been used before.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	t.Run("bf16-f32", testAllocations[float32, bf16.BF16])
	t.Run("f16-f16", testAllocations[float16.Float16, float16.Float16])
	t.Run("f32-f32", testAllocations[float32, float32])
}

// The engine takes its operands as interfaces, for which the compiler must not copy their headers to the heap.
func testAllocations[O gemm.Output, I gemm.Element](t *testing.T) {
	e, err := gemm.New(gemm.WithWorkers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var st gemm.Stats
	values := make([]float32, 150)
	for _, n := range []int{0, 5, 32, 150} {
		a, b, c := gemm.NewMatrix[I](n, n), gemm.NewMatrix[I](n, n), gemm.NewMatrix[O](n, n)
		var anyA, anyB, anyC gemm.AnyMatrix = a, b, c
		for name, call := range map[string]func() error{
			"plain":     func() error { return gemm.Multiply(c, a, b) },
			"views":     func() error { return gemm.Multiply(c.T(), a.T(), b) },
			"1 worker":  func() error { return gemm.Multiply(c, a, b, gemm.WithWorkers(1)) },
			"2 workers": func() error { return gemm.Multiply(c, a, b, gemm.WithWorkers(2)) },
			"options": func() error {
				return gemm.Multiply(c, a, b, gemm.WithAlpha(2), gemm.WithBeta(-1), gemm.WithDepth(2),
					gemm.WithTile(64, 64, 64), gemm.WithKernel("go"), gemm.WithContext(ctx), gemm.WithStats(&st))
			},
			"epilogue": func() error {
				return gemm.Multiply(c, a, b, gemm.WithBeta(-1), gemm.WithScales(values[:1], values[:n]),
					gemm.WithBias(values[:n]), gemm.WithRowBias(values[:n]), gemm.WithActivation(gemm.GELU))
			},
			"engine":    func() error { return e.Multiply(c, a, b) },
			"interface": func() error { return e.Multiply(anyC, anyA, anyB) },
		} {
			t.Run(fmt.Sprint(n, "/", name), func(t *testing.T) { allocatesNothing(t, 20, call) })
		}
	}
}

// TestAllocationsInTurns has products take turns that have the same sizes and differ in something else.
func TestAllocationsInTurns(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has allocations of its own")
	}
	const m, n, k = 64, 128, 128
	data, bias := make([]bf16.BF16, m*k+1), make([]float32, n)
	a, b, one := gemm.Of(m, k, data), gemm.NewMatrix[bf16.BF16](k, n), gemm.WithWorkers(1)
	c, wide := gemm.NewMatrix[bf16.BF16](m, n), gemm.NewMatrix[float32](m, n)
	for name, other := range map[string]func() error{
		"activation":   func() error { return gemm.Multiply(c, a, b, one, gemm.WithActivation(gemm.SiLU)) },
		"bias":         func() error { return gemm.Multiply(c, a, b, one, gemm.WithBias(bias)) },
		"another C":    func() error { return gemm.Multiply(wide, a, b, one) },
		"A elsewhere":  func() error { return gemm.Multiply(c, gemm.Of(m, k, data[1:]), b, one) },
		"A transposed": func() error { return gemm.Multiply(c, gemm.Of(k, m, data).T(), b, one) },
		"a context":    func() error { return gemm.Multiply(c, a, b, one, gemm.WithContext(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			allocatesNothing(t, 20, func() error { return cmp.Or(gemm.Multiply(c, a, b, one), other()) })
		})
	}
}

// TestEngineData checks that the elements of a matrix, unlike its header, are on the heap, where other goroutines may
// read them, also if the compiler does not see the method that finds them.
func TestEngineData(t *testing.T) {
	type embeds struct{ gemm.Matrix[float32] }
	e, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	a := gemm.NewMatrix[float32](2, 2)
	for name, call := range map[string]func() error{
		"a matrix": func() error {
			var data [4]float32
			return e.Multiply(gemm.Matrix[float32]{Rows: 2, Cols: 2, Stride: 2, Data: data[:]}, a, a)
		},
		"one embedded": func() error {
			var data [4]float32
			return e.Multiply(embeds{gemm.Matrix[float32]{Rows: 2, Cols: 2, Stride: 2, Data: data[:]}}, a, a)
		},
	} {
		if got := testing.AllocsPerRun(20, func() { err = call() }); got < 1 || err != nil {
			t.Errorf("%s with elements of a local array: %v allocations, error %v, want one", name, got, err)
		}
	}
}

// TestEngineOperands multiplies by an Engine what is a Matrix, what points to one and what has one embedded, at any
// depth of the stack.
func TestEngineOperands(t *testing.T) {
	type embeds struct{ gemm.Matrix[float32] }
	e, err := gemm.New(gemm.WithWorkers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rounds := 2000
	if raceEnabled || testing.Short() {
		rounds = 200
	}
	var callers sync.WaitGroup
	for g := range 4 {
		callers.Go(func() {
			a, b := gemm.NewMatrix[float32](3, 2), gemm.NewMatrix[float32](2, 5)
			for i := range a.Data {
				a.Data[i] = float32(i + g)
			}
			for i := range b.Data {
				b.Data[i] = float32(i - g)
			}
			for i := range rounds {
				var deep func(n int) error
				c := gemm.NewMatrix[float32](3, 5)
				deep = func(n int) error {
					var room [64]int
					if room[n%64] = n; n > 0 {
						return deep(n - 1)
					}
					switch i % 3 {
					case 0:
						return e.Multiply(embeds{c}, embeds{a}, embeds{b})
					case 1:
						return e.Multiply(&c, &a, &embeds{b})
					}
					return e.Multiply(c, a, b)
				}
				if err := deep(i % 40); err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				for row := range 3 {
					for col := range 5 {
						if want := a.At(row, 0)*b.At(0, col) + a.At(row, 1)*b.At(1, col); c.At(row, col) != want {
							t.Errorf("%d: element %d, %d is %v, want %v", i, row, col, c.At(row, col), want)
							return
						}
					}
				}
			}
		})
	}
	callers.Wait()
}
