package sm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// gist is the walk-through kernel, with the places where the tests break it.
type gist struct {
	m, n, k, consumers int
	mapA, mapB         *tile.TensorMap
	c                  []bf16.BF16

	expectMore int // bytes that the producer expects too many
	fullCount  int // arrivals that full expects more
	tiles      int // that the producer loads less
}

const (
	bm, bn, bk = 64, 64, 64
	qsize      = 5
)

func (g *gist) kernel(b *sm.Block) {
	sA := sm.Shared[bf16.BF16](b, qsize*bm*bk, 1024)
	sB := sm.Shared[bf16.BF16](b, qsize*bn*bk, 1024)
	full, empty := b.Barriers(qsize), b.Barriers(qsize)
	m, n := b.Idx.X%(g.m/bm), b.Idx.X/(g.m/bm)
	b.Warpgroups(func(w *sm.Warpgroup) {
		t := w.Thread(0)
		if w.Rank() == 0 {
			for i := range qsize {
				full[i].Init(t, g.consumers*128+1+g.fullCount)
				empty[i].Init(t, g.consumers*128+1)
			}
			t.FenceProxyAsync()
		}
		w.SyncThreads()
		if w.Rank() == 0 {
			for k := range g.k/bk - g.tiles {
				q := k % qsize
				empty[q].Wait(t, empty[q].Arrive(t))
				t.LoadTensor(sA.At(q*bm*bk), g.mapA, &full[q], k*bk, m*bm)
				t.LoadTensor(sB.At(q*bn*bk), g.mapB, &full[q], k*bk, n*bn)
				full[q].ArriveTx(t, 1, 2*(bm+bn)*bk+g.expectMore)
			}
			return
		}
		d := w.Accumulators(wgmma.F32, bn)
		for i := range qsize {
			empty[i].Arrive(w)
		}
		for k := range g.k / bk {
			q := k % qsize
			full[q].Wait(w, full[q].Arrive(w))
			w.Fence()
			for s := range bk / 16 {
				a, b := sA.At(q*bm*bk+16*s), sB.At(q*bn*bk+16*s)
				w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: bn}, d, a.KMajor(tile.Swizzle128B), b.KMajor(tile.Swizzle128B))
			}
			w.CommitGroup()
			w.WaitGroup(0)
			empty[q].Arrive(w)
		}
		for tid := range 128 {
			for i := range d.Registers() {
				row, col := wgmma.AccumulatorCoord(tid, i)
				g.c[(n*bn+col)*g.m+m*bm+row] = bf16.FromFloat32(d.Float32(tid, i))
			}
		}
	})
}

func newGist(t testing.TB, m, n, k int) (*gist, gemm.Matrix[bf16.BF16], gemm.Matrix[bf16.BF16]) {
	g := &gist{m: m, n: n, k: k, consumers: 1, c: make([]bf16.BF16, m*n)}
	a, b := gemm.NewMatrix[bf16.BF16](m, k), gemm.NewMatrix[bf16.BF16](n, k)
	for i := range a.Data {
		a.Data[i] = bf16.FromFloat32((float32(uint32(i)*2654435761>>7%512) - 256) / 256)
	}
	for i := range b.Data {
		b.Data[i] = bf16.FromFloat32(float32(i*40503>>5%512-256) / 256)
	}
	g.mapA, g.mapB = tensorMap(t, a), tensorMap(t, b)
	return g, a, b
}

func tensorMap(t testing.TB, x gemm.Matrix[bf16.BF16]) *tile.TensorMap {
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.BFloat16, Global: bf16Bytes(x.Data), Dims: []uint64{uint64(x.Cols), uint64(x.Rows)},
		Strides: []uint64{uint64(2 * x.Stride)}, Box: []uint32{bk, 64}, Swizzle: tile.Swizzle128B,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (g *gist) launch(cfg sm.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cfg.Grid, cfg.Block = sm.Dim3{X: g.m / bm * g.n / bn}, sm.Dim3{X: 128 * (1 + g.consumers)}
	return sm.Launch(ctx, cfg, g.kernel)
}

func TestGist(t *testing.T) {
	g, a, b := newGist(t, 192, 128, 512)
	want := gemm.NewMatrix[bf16.BF16](g.m, g.n)
	if err := gemm.Multiply(want, a, b.T(), gemm.WithArithmetic(gemm.Hopper)); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []sm.Config{
		{}, {Check: true}, {Check: true, Seed: 7, Schedule: sm.Eager}, {Check: true, Seed: 9, Schedule: sm.Random},
	} {
		clear(g.c)
		if err := g.launch(cfg); err != nil {
			t.Fatal(err)
		}
		for i := range g.m {
			for j := range g.n {
				if got := g.c[j*g.m+i]; got != want.At(i, j) {
					t.Fatalf("%+v: C[%d,%d] = %v, want %v", cfg, i, j, got, want.At(i, j))
				}
			}
		}
	}
}

func TestGistBroken(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(g *gist)
		want    []string
	}{
		"expect_tx 16 too large": {func(g *gist) { g.expectMore = 16 },
			[]string{"deadlock in kernel", "warpgroup 1 at gist_test.go",
				"waits for full[0] phase 0: 0 arrivals missing, 16 bytes missing (expected 16400 at gist_test.go",
				"copies brought 16384)"}},
		"expect_tx 16 too small": {func(g *gist) { g.expectMore = -16 },
			[]string{"full[0] phase 0", "16 bytes too many (expected 16368 at gist_test.go", "copies brought 16384)"}},
		"one arrival too many": {func(g *gist) { g.fullCount = 1 },
			[]string{"full[0] phase 0: 1 of 130 arrivals missing (last arrived: "}},
		"producer stops early": {func(g *gist) { g.tiles = 1 },
			[]string{"full[2] phase 1", "1 of 129 arrivals missing"}},
	} {
		for _, cfg := range []sm.Config{{}, {Check: true, Schedule: sm.Eager}, {Check: true}} {
			g, _, _ := newGist(t, 64, 64, 512)
			c.breakIt(g)
			start := time.Now()
			err := g.launch(cfg)
			t.Logf("%s: %v\n%v", name, time.Since(start), err)
			var f *sm.Fault
			if !errors.As(err, &f) {
				t.Fatalf("%s: %v", name, err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) && !(cfg.Check && cfg.Schedule == sm.Late) {
					t.Errorf("%s, checked %v: %q is not in\n%v", name, cfg.Check, w, err)
				}
			}
		}
	}
}
