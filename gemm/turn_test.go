package gemm_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cores"
	"example.com/leafhopper/internal/race"
)

// TestGivesWay has a goroutine that is always ready to run share its P with products of every
// route. The scheduler interrupts one of them after 10 ms at the earliest. Time is that of the
// processor, where it is known: other programs may take any amount of all other.
func TestGivesWay(t *testing.T) {
	if k, err := asm.Select(asm.F32, ""); err != nil || k.Name == "go" {
		t.Skip("without assembly the scheduler can interrupt a kernel")
	}
	if race.Enabled {
		t.Skip("what the detector is told of a product takes longer than the product")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, s := range [][3]int{
		{12, 12, 12}, {32, 32, 32}, {64, 64, 64}, {128, 128, 128}, {512, 512, 512}, {1024, 1024, 1024},
		{1, 4096, 4096}, {8, 4096, 4096}, {4096, 64, 60}, {2048, 2048, 32},
	} {
		for _, trans := range []bool{false, true} {
			givesWay[float32](t, s, trans, false)
		}
		givesWay[float32](t, s, false, true)
		givesWay[bf16.BF16](t, s, true, false)
		givesWay[bf16.BF16](t, s, false, false)
	}
	givesWay[bf16.BF16](t, [3]int{256, 512, 512}, false, false, gemm.WithArithmetic(gemm.Hopper))
	givesWay[float32](t, [3]int{700, 700, 700}, false, false, gemm.WithDepth(2))

	// Narrower than a tile:
	for _, s := range [][3]int{{1, 2, 1 << 20}, {2, 2, 1 << 20}} {
		givesWay[fp8.E4M3](t, s, false, false, gemm.WithArithmetic(gemm.Hopper), gemm.WithWorkers(1))
	}

	column := gemm.NewMatrix[bf16.BF16](1, 1<<25).T()
	waitsBeside(t, "Pack, a column", func() {
		if _, err := gemm.Pack(column); err != nil {
			t.Error(err)
		}
	})
	weights := gemm.NewMatrix[bf16.BF16](2048, 4096)
	for _, arithmetic := range []gemm.Arithmetic{gemm.Native, gemm.Hopper} {
		var p *gemm.Packed[bf16.BF16]
		var data []byte
		var err error
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"Pack", func() { p, err = gemm.Pack(weights, gemm.WithArithmetic(arithmetic)) }},
			{"MarshalBinary", func() { data, err = p.MarshalBinary() }},
			{"UnmarshalBinary", func() { err = new(gemm.Packed[bf16.BF16]).UnmarshalBinary(data) }},
		} {
			waitsBeside(t, fmt.Sprintf("%s, %v", step.name, arithmetic), step.do)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	c, without := gemm.NewMatrix[float32](1024, 4096), gemm.Matrix[float32]{Rows: 1024}
	waitsBeside(t, "K = 0", func() {
		b := gemm.Matrix[float32]{Cols: 4096, Stride: 4096}
		if err := gemm.Multiply(c, without, b, gemm.WithActivation(gemm.GELU)); err != nil {
			t.Error(err)
		}
	})
}

func givesWay[T gemm.Element](t *testing.T, s [3]int, trans, packed bool, opts ...gemm.Option) {
	m, n, k := s[0], s[1], s[2]
	c, a, b := gemm.NewMatrix[float32](m, n), gemm.NewMatrix[T](m, k), gemm.NewMatrix[T](k, n)
	if trans {
		b = gemm.NewMatrix[T](n, k).T()
	}
	var right gemm.Operand[T] = b
	if packed {
		p, err := gemm.Pack(b)
		if err != nil {
			t.Fatal(err)
		}
		right = p
	}
	var st gemm.Stats
	multiply := func(opts ...gemm.Option) {
		if err := gemm.Multiply(c, a, right, opts...); err != nil {
			t.Fatal(err)
		}
	}
	multiply(append(slices.Clip(opts), gemm.WithStats(&st))...)
	name := fmt.Sprintf("%T, %v, transposed %v, packed %v, %s", a.Data[0], s, trans, packed, st.Route)
	waitsBeside(t, name, func() { multiply(opts...) })
}

// waitsBeside has work done again and again, and another goroutine that is always ready to run wait for its turn.
func waitsBeside(t *testing.T, name string, work func()) {
	t.Helper()
	clock := cores.Time
	if clock() == 0 {
		start := time.Now()
		clock = func() time.Duration { return time.Since(start) }
	}
	var stop atomic.Bool
	done := make(chan []time.Duration)
	go func() {
		var waits []time.Duration
		for last := clock(); !stop.Load(); {
			runtime.Gosched()
			now := clock()
			waits, last = append(waits, now-last), now
		}
		done <- waits
	}()
	for start := clock(); clock()-start < 25*time.Millisecond; {
		for burst := time.Now(); time.Since(burst) < time.Millisecond; { // to read the clock takes as long as a product
			work()
		}
	}
	stop.Store(true)
	waits := <-done
	slices.Sort(waits)
	if len(waits) == 0 || waits[len(waits)/2] > 2*time.Millisecond {
		t.Errorf("%s: another goroutine waits %v", name, waits)
	} else {
		t.Logf("%s: %v in the median of %d waits, %v at most",
			name, waits[len(waits)/2], len(waits), waits[len(waits)-1])
	}
}
