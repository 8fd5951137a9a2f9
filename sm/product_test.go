package sm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
	"github.com/x448/float16"
)

// A product is the walk-through kernel for operands of any kind, 128 bytes of K a stage.
type product[T any] struct {
	kind       wgmma.Kind
	size       int // m = n = k
	a, b       []T
	mapA, mapB *tile.TensorMap
	c          []bf16.BF16
}

func (p *product[T]) kernel(b *sm.Block) {
	depth := 128 / p.kind.ElementSize() // bk
	sA := sm.Shared[T](b, qsize*bm*depth, 1024)
	sB := sm.Shared[T](b, qsize*bn*depth, 1024)
	full, empty := b.Barriers(qsize), b.Barriers(qsize)
	m, n := b.Idx.X%(p.size/bm), b.Idx.X/(p.size/bm)
	b.Warpgroups(func(w *sm.Warpgroup) {
		t := w.Thread(0)
		if w.Rank() == 0 {
			for i := range qsize {
				full[i].Init(t, 129)
				empty[i].Init(t, 129)
			}
			t.FenceProxyAsync()
		}
		w.SyncThreads()
		if w.Rank() == 0 {
			for k := range p.size / depth {
				q := k % qsize
				empty[q].Wait(t, empty[q].Arrive(t))
				t.LoadTensor(sA.At(q*bm*depth), p.mapA, &full[q], k*depth, m*bm)
				t.LoadTensor(sB.At(q*bn*depth), p.mapB, &full[q], k*depth, n*bn)
				full[q].ArriveTx(t, 1, 128*(bm+bn))
			}
			return
		}
		op := wgmma.Op{Kind: p.kind, N: bn}
		d := w.Accumulators(p.kind.AccumulatorType(), bn)
		for i := range qsize {
			empty[i].Arrive(w)
		}
		for k := range p.size / depth {
			q := k % qsize
			full[q].Wait(w, full[q].Arrive(w))
			w.Fence()
			for s := 0; s < depth; s += p.kind.K() {
				w.MMA(op, d, sA.At(q*bm*depth+s).KMajor(tile.Swizzle128B), sB.At(q*bn*depth+s).KMajor(tile.Swizzle128B))
			}
			w.CommitGroup()
			w.WaitGroup(0)
			empty[q].Arrive(w)
		}
		for tid := range 128 {
			for i := range bn / 2 {
				row, col := wgmma.AccumulatorCoord(tid, i)
				p.c[(n*bn+col)*p.size+m*bm+row] = bf16.FromFloat32(d.Float32(tid, i))
			}
		}
	})
}

// newProduct has random operands: element makes one of a multiple of 2^-7 in [-1, 1).
func newProduct[T any](tb testing.TB, kind wgmma.Kind, size int, element func(float32) T) *product[T] {
	p := &product[T]{kind: kind, size: size, c: make([]bf16.BF16, size*size)}
	random := rand.New(rand.NewPCG(1, 2))
	operand := func() ([]T, *tile.TensorMap) {
		data := make([]T, size*size)
		for i := range data {
			data[i] = element(float32(random.IntN(256)-128) / 128)
		}
		m, err := sm.NewTensorMap(data, tile.Config{
			Dims: []uint64{uint64(size), uint64(size)},
			Box:  []uint32{uint32(128 / kind.ElementSize()), 64}, Swizzle: tile.Swizzle128B,
		})
		if err != nil {
			tb.Fatal(err)
		}
		return data, m
	}
	p.a, p.mapA = operand()
	p.b, p.mapB = operand()
	return p
}

func (p *product[T]) launch() error {
	grid := sm.Dim3{X: p.size / bm * p.size / bn}
	return sm.Launch(context.Background(), sm.Config{Grid: grid, Block: sm.Dim3{X: 256}}, p.kernel)
}

// testProduct compares a product with gemm's. A column-major C is a row-major B·Aᵀ.
func testProduct[T gemm.Element](t *testing.T, kind wgmma.Kind, element func(float32) T) {
	p := newProduct(t, kind, 256, element)
	if err := p.launch(); err != nil {
		t.Fatal(err)
	}
	want := gemm.NewMatrix[bf16.BF16](p.size, p.size)
	a, b := gemm.Of(p.size, p.size, p.a), gemm.Of(p.size, p.size, p.b)
	if err := gemm.Multiply(want, b, a.T(), gemm.WithArithmetic(gemm.Hopper)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.c, want.Data) {
		t.Errorf("%v: not the bits of gemm", kind)
	}
}

func int8Of(x float32) int8 { return int8(128 * x) }

// TestProduct has the kinds that BenchmarkGist measures; gist_test.go has bf16.
func TestProduct(t *testing.T) {
	testProduct(t, wgmma.F16F32, float16.Fromfloat32)
	testProduct(t, wgmma.TF32F32, func(x float32) float32 { return x })
	testProduct(t, wgmma.E4M3F32, fp8.E4M3FromFloat32)

	p := newProduct(t, wgmma.S8S32, 128, int8Of)
	if err := p.launch(); err != nil {
		t.Fatal(err)
	}
	for i := range p.size {
		for j := range p.size {
			sum := 0
			for k := range p.size {
				sum += int(p.a[i*p.size+k]) * int(p.b[j*p.size+k])
			}
			if got, want := p.c[j*p.size+i], bf16.FromFloat32(float32(sum)); got != want {
				t.Fatalf("s8: C[%d,%d] = %v, want %v", i, j, got, want)
			}
		}
	}
}

func benchmarkProduct[T any](b *testing.B, kind wgmma.Kind, size int, element func(float32) T) {
	p := newProduct(b, kind, size, element)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.launch(); err != nil {
			b.Fatal(err)
		}
	}
	flop := 2 * float64(size) * float64(size) * float64(size)
	b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkGist is the walk-through kernel, compared with
//
//	gemmbench compare -arith hopper -dtype bf16,f16,f32,e4m3 -size 2048 -depth 0
func BenchmarkGist(b *testing.B) {
	for _, size := range []int{1024, 2048} {
		for name, run := range map[string]func(*testing.B){
			"bf16": func(b *testing.B) { benchmarkProduct(b, wgmma.BF16F32, size, bf16.FromFloat32) },
			"f16":  func(b *testing.B) { benchmarkProduct(b, wgmma.F16F32, size, float16.Fromfloat32) },
			"tf32": func(b *testing.B) {
				benchmarkProduct(b, wgmma.TF32F32, size, func(x float32) float32 { return x })
			},
			"e4m3": func(b *testing.B) { benchmarkProduct(b, wgmma.E4M3F32, size, fp8.E4M3FromFloat32) },
			"s8":   func(b *testing.B) { benchmarkProduct(b, wgmma.S8S32, size, int8Of) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, size), run)
		}
	}
}

// BenchmarkEmptyGrid launches 16,384 CTAs that do nothing.
func BenchmarkEmptyGrid(b *testing.B) {
	for b.Loop() {
		if err := sm.Launch(context.Background(), sm.Config{Grid: sm.Dim3{X: 16384}}, func(*sm.Block) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWideWithoutBoxes has a B of 128 columns of which nothing says where the second 64 are, and operands that no
// instruction has.
func TestWideWithoutBoxes(t *testing.T) {
	for want, op := range map[string]wgmma.Op{
		"operand B is 256 bytes wide, its swizzle spans 128": {N: 128, TransposeB: true},
		"is not a kind of wgmma":                             {N: 128, TransposeB: true, Kind: 99},
		"must be a multiple of 8":                            {N: 999, TransposeB: true},
		"exist only for 16-bit types":                        {N: 128, TransposeB: true, Kind: wgmma.E4M3F32},
	} {
		err := launch(t, sm.Config{Block: sm.Dim3{X: 128}}, func(b *sm.Block) {
			a, x := sm.Shared[bf16.BF16](b, 64*64, 1024), sm.Shared[bf16.BF16](b, 128*64, 1024)
			b.Warpgroups(func(w *sm.Warpgroup) {
				d := w.Accumulators(wgmma.F32, 128)
				w.Fence()
				w.MMA(op, d, a.KMajor(tile.Swizzle128B), x.MNMajor(tile.Swizzle128B))
				w.CommitGroup()
				w.WaitGroup(0)
			})
		})
		faultOf(t, err, sm.RuleWGMMA, want)
	}
}
