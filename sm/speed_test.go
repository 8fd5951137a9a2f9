package sm_test

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
	"github.com/x448/float16"
)

// A product is the walk-through kernel for operands of any kind, 128 bytes of K a stage.
type product[T any] struct {
	kind       wgmma.Kind
	size       int // m = n = k
	mapA, mapB *tile.TensorMap
	c          []bf16.BF16
}

func (p *product[T]) kernel(b *sm.Block) {
	var zero T
	depth := 128 / int(unsafe.Sizeof(zero)) // bk
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

// benchmarkProduct multiplies operands whose elements are those of values in turn.
func benchmarkProduct[T any](b *testing.B, kind wgmma.Kind, typ tile.DataType, size int, values ...T) {
	p := &product[T]{kind: kind, size: size, c: make([]bf16.BF16, size*size)}
	operand := func() *tile.TensorMap {
		data := make([]T, size*size)
		for i := range data {
			data[i] = values[(i*40503>>5)%len(values)]
		}
		pitch := size * kind.ElementSize()
		m, err := tile.NewTensorMap(tile.Config{
			DataType: typ, Global: unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), size*pitch),
			Dims: []uint64{uint64(size), uint64(size)}, Strides: []uint64{uint64(pitch)},
			Box: []uint32{uint32(128 / kind.ElementSize()), 64}, Swizzle: tile.Swizzle128B,
		})
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	p.mapA, p.mapB = operand(), operand()
	b.ReportAllocs()
	for b.Loop() {
		err := sm.Launch(context.Background(), sm.Config{Grid: sm.Dim3{X: size / bm * size / bn}, Block: sm.Dim3{X: 256}}, p.kernel)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*float64(size)*float64(size)*float64(size)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkGist is the walk-through kernel, compared with
//
//	gemmbench compare -arith hopper -dtype bf16,f16,f32,e4m3 -size 2048 -depth 0
func BenchmarkGist(b *testing.B) {
	for _, size := range []int{1024, 2048} {
		for name, run := range map[string]func(*testing.B){
			"bf16": func(b *testing.B) {
				benchmarkProduct(b, wgmma.BF16F32, tile.BFloat16, size, bf16.FromFloat32(0.25), bf16.FromFloat32(-1.5), bf16.FromFloat32(3))
			},
			"f16": func(b *testing.B) {
				benchmarkProduct(b, wgmma.F16F32, tile.Float16, size, float16.Fromfloat32(0.25), float16.Fromfloat32(-1.5), float16.Fromfloat32(3))
			},
			"tf32": func(b *testing.B) { benchmarkProduct(b, wgmma.TF32F32, tile.Float32, size, float32(0.25), -1.5, 3) },
			"e4m3": func(b *testing.B) {
				benchmarkProduct(b, wgmma.E4M3F32, tile.Uint8, size, uint8(0x28), 0xBC, 0x44)
			},
			"s8": func(b *testing.B) { benchmarkProduct(b, wgmma.S8S32, tile.Uint8, size, int8(-100), 7, 55) },
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

// BenchmarkSyncThreads is __syncthreads of a block of 1,024.
func BenchmarkSyncThreads(b *testing.B) {
	err := sm.Launch(context.Background(), sm.Config{Block: sm.Dim3{X: 1024}}, func(block *sm.Block) {
		block.Threads(func(t *sm.Thread) {
			for range b.N {
				t.SyncThreads()
			}
		})
	})
	if err != nil {
		b.Fatal(err)
	}
}
