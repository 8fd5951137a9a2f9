package gemm_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

// TestEngineDefaults checks that an engine's options hold unless a call names
// others.
func TestEngineDefaults(t *testing.T) {
	e, err := gemm.New(gemm.WithAlpha(2), gemm.WithBeta(1), gemm.WithKernel("go"),
		gemm.WithDepth(4), gemm.WithWorkers(1), gemm.WithTile(24, 24, 8))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	one := func(x float32) gemm.Matrix[float32] {
		return gemm.Matrix[float32]{Rows: 1, Cols: 1, Stride: 1, Data: []float32{x}}
	}
	c := one(100)
	if err := e.Multiply(c, one(3), one(5)); err != nil || c.Data[0] != 130 {
		t.Errorf("2·3·5 + 100 = %v, %v", c.Data[0], err)
	}
	if err := e.Multiply(c, one(3), one(5), gemm.WithAlpha(1), gemm.WithBeta(0)); err != nil || c.Data[0] != 15 {
		t.Errorf("3·5 = %v, %v", c.Data[0], err)
	}
	o := build[float32, float32](t, size(40, 40, 40))
	defer o.free()
	st, err := gemm.OnRing(e, o.c, o.a, o.b)
	if err != nil || st.Kernel != "go" || st.Depth != 4 || st.Workers != 1 ||
		st.TileM != 24 || st.TileN != 24 || st.TileK != 8 {
		t.Errorf("%v, %v: want kernel go, 1 worker, depth 4, tile 24x24x8", st, err)
	}
	st, err = gemm.OnRing(e, o.c, o.a, o.b, gemm.WithDepth(2), gemm.WithWorkers(3))
	if err != nil || st.Depth != 2 || st.Workers != 3 || st.TileM != 24 {
		t.Errorf("%v, %v: want 3 workers, depth 2, tile 24", st, err)
	}
}

// TestStats checks the statistics against what they must add up to.
func TestStats(t *testing.T) {
	k, err := asm.Select(asm.F32, "go")
	if err != nil {
		t.Fatal(err)
	}
	m, n := 16*k.MR, 16*k.NR
	s := size(m, n, 64, gemm.WithTile(m/2, n/2, 16), gemm.WithDepth(2), gemm.WithKernel("go"))
	s.ring = true
	st := verify[float32, float32](t, s)
	tiles := m / st.TileM * (n / st.TileN)
	bytes := int64(tiles * (st.TileM + st.TileN) * 64 * 4)
	if st.Inline || st.Kernel != "go" || st.Tiles != tiles || st.Stages != tiles*64/st.TileK || st.Bytes != bytes {
		t.Errorf("%v: want %d tiles, %d stages, %d bytes", st, tiles, tiles*64/st.TileK, bytes)
	}
	s.ring = false
	if st = verify[float32, float32](t, s); st.Route != "ring" || st.Depth != 2 {
		t.Errorf("%+v: want the ring that was asked for", st)
	}
	s.opts = []gemm.Option{gemm.WithKernel("go"), gemm.WithWorkers(1)}
	if st = verify[float32, float32](t, s); !st.Inline || st.Workers != 1 || st.Depth != 0 || st.Elapsed <= 0 {
		t.Errorf("%+v: want an inline product", st)
	}
	if want := fmt.Sprintf("kernel go, caller, %v", st.Elapsed); st.String() != want {
		t.Errorf("%q, want %q", st, want)
	}
	o := build[float32, float32](t, size(9, 9, 9))
	defer o.free()
	if err := gemm.Multiply(o.c, o.a, o.b, gemm.WithStats(nil)); err != nil {
		t.Errorf("without statistics: %v", err)
	}
}

// TestConcurrent multiplies from many goroutines at once: the same operands and
// different ones, on the shared engine and on others.
func TestConcurrent(t *testing.T) {
	before := idle()
	sizes := [][3]int{{30, 40, 50}, {200, 160, 170}, {1, 500, 400}, {70, 300, 90}, {260, 20, 600}}
	type job struct {
		o    operands[float32, bf16.BF16]
		want []float32
	}
	var jobs []job
	for i, d := range sizes {
		s := size(d[0], d[1], d[2], gemm.WithWorkers(1))
		s.seed, s.ta, s.tb = uint64(i), i&1 != 0, i&2 != 0
		o := build[float32, bf16.BF16](t, s)
		defer o.free()
		if _, err := o.multiply(s); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job{o, dense(o.c)})
	}
	e, err := gemm.New(gemm.WithWorkers(3))
	if err != nil {
		t.Fatal(err)
	}
	turns := 12
	if raceEnabled || testing.Short() {
		turns = 4
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range turns {
				j := jobs[(g+i)%len(jobs)]
				c := gemm.NewMatrix[float32](j.o.c.Rows, j.o.c.Cols)
				var err error
				switch (g + i) % 3 {
				case 0:
					err = gemm.Multiply(c, j.o.a, j.o.b)
				case 1:
					err = e.Multiply(c, j.o.a, j.o.b)
				default:
					_, err = gemm.OnRing(e, c, j.o.a, j.o.b, gemm.WithTile(32, 64, 32), gemm.WithWorkers(1+g%4))
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !equalBits(c.Data, j.want) {
					t.Errorf("%dx%dx%d: not the bits of one call alone", c.Rows, c.Cols, j.o.a.Cols)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	settle(t, before)
}

// TestWorkers asks for more workers than cores, and for several on one core.
func TestWorkers(t *testing.T) {
	before := idle()
	s := size(120, 140, 130, gemm.WithTile(32, 32, 32))
	s.ring = true
	want := product[float32, float32](t, s)
	try := func(workers int) {
		t.Helper()
		s.opts = []gemm.Option{gemm.WithTile(32, 32, 32), gemm.WithWorkers(workers)}
		for range 3 {
			sameAs[float32, float32](t, s, want)
		}
	}
	for _, workers := range []int{3, 16, 100} {
		try(workers)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, workers := range []int{0, 1, 2, 16} {
		try(workers)
	}
	settle(t, before)
}

func TestClose(t *testing.T) {
	e, err := gemm.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	checkError(t, e.Close(), "closed")
	for _, d := range [][3]int{{3, 3, 3}, {300, 300, 300}, {0, 3, 3}, {3, 3, 0}} {
		o := build[float32, bf16.BF16](t, size(d[0], d[1], d[2]))
		checkError(t, e.Multiply(o.c, o.a, o.b), "closed")
		untouched(t, o.c.Data)
		o.free()
	}
}

// A gate is a context that stops its second caller until it is opened.
type gate struct {
	context.Context
	mu      sync.Mutex
	asked   int
	done    chan struct{}
	reached chan struct{}
	open    chan struct{}
}

func (g *gate) Done() <-chan struct{} { return g.done }

func (g *gate) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked++; g.asked == 2 {
		close(g.reached)
		<-g.open
	}
	return nil
}

// TestCloseWaits closes an engine during a call.
func TestCloseWaits(t *testing.T) {
	for _, workers := range []int{1, 2} {
		testCloseWaits(t, workers)
	}
}

func testCloseWaits(t *testing.T, workers int) {
	before := idle()
	e, err := gemm.New(gemm.WithWorkers(workers))
	if err != nil {
		t.Fatal(err)
	}
	s := size(200, 200, 200, gemm.WithTile(32, 32, 32))
	want := product[float32, float32](t, s)
	o := build[float32, float32](t, s)
	defer o.free()
	g := &gate{
		Context: context.Background(),
		done:    make(chan struct{}),
		reached: make(chan struct{}),
		open:    make(chan struct{}),
	}
	called, closed := make(chan error, 1), make(chan error, 1)
	go func() { called <- e.Multiply(o.c, o.a, o.b, gemm.WithContext(g)) }()
	<-g.reached
	go func() { closed <- e.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for the call under way")
	case <-time.After(20 * time.Millisecond):
	}
	close(g.open)
	if err := <-called; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	same(t, dense(o.c), want, s.n)
	settle(t, before)
}

// TestCloseAmongCalls closes an engine while goroutines keep calling it.
func TestCloseAmongCalls(t *testing.T) {
	before := idle()
	s := size(160, 100, 140)
	want := product[float32, float32](t, s)
	for range 5 {
		e, err := gemm.New(gemm.WithWorkers(2))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				o := build[float32, float32](t, s)
				defer o.free()
				for {
					if err := e.Multiply(o.c, o.a, o.b); err != nil {
						checkError(t, err, "closed")
						return
					}
					if !equalBits(o.c.Data, want) {
						t.Error("wrong bits")
						return
					}
				}
			})
		}
		time.Sleep(3 * time.Millisecond)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
	settle(t, before)
}
