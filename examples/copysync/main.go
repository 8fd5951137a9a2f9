// Copysync is the copy and compute pattern of the CUDA C++ Programming Guide, three times:
// a batch is copied to shared memory through registers, by cooperative_groups::memcpy_async,
// or by cuda::memcpy_async and a barrier, and then computed from. CUDA: copysync.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const blocks, threads, batches = 4, 64, 5

// compute is what a thread makes of a batch: from its own element and from the one at the
// other end, which another thread has copied.
func compute(t *sm.Thread, out []int32, batch *sm.Array[int32]) {
	i, n := t.Rank(), batch.Len()
	out[i] = 3*batch.Load(t, i) + batch.Load(t, n-1-i)
}

// batchStart is where the block's part of a batch is in global memory.
func batchStart(b *sm.Block, batch int) int { return b.Idx.X*threads + b.GridDim.X*threads*batch }

func withoutMemcpyAsync(out, in []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		shared := sm.Shared[int32](b, threads, 4)
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()
			for batch := range batches {
				start := batchStart(b, batch)
				shared.Store(t, block.Rank(), in[start+block.Rank()])
				block.Sync() // the copies are done
				compute(t, out[start:], shared)
				block.Sync() // shared may be overwritten
			}
		})
	}
}

func withMemcpyAsync(out, in []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		shared := sm.Shared[int32](b, threads, 4)
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()
			for batch := range batches {
				start := batchStart(b, batch)
				sm.MemcpyAsync(block, shared, in[start:start+block.Size()], nil)
				block.WaitAll()
				compute(t, out[start:], shared)
				block.Sync()
			}
		})
	}
}

func withBarrier(out, in []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		shared := sm.Shared[int32](b, threads, 4)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()
			if block.Rank() == 0 {
				bar.Init(t, block.Size())
			}
			block.Sync()
			for batch := range batches {
				start := batchStart(b, batch)
				sm.MemcpyAsync(block, shared, in[start:start+block.Size()], bar)
				bar.ArriveAndWait(t)
				compute(t, out[start:], shared)
				block.Sync()
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) (outputs []course.Output, err error) {
	in := course.Ints(batches*blocks*threads, 1)
	for _, k := range []struct {
		name   string
		kernel func(out, in []int32) func(*sm.Block)
	}{
		{"copysync.without_memcpy_async", withoutMemcpyAsync},
		{"copysync.with_memcpy_async", withMemcpyAsync},
		{"copysync.with_barrier", withBarrier},
	} {
		out := make([]int32, len(in))
		cfg := sm.Config{Grid: sm.Dim3{X: blocks}, Block: sm.Dim3{X: threads}}
		if err := launch(cfg, k.kernel(out, in)); err != nil {
			return nil, err
		}
		outputs = append(outputs, course.Output{Name: k.name, Data: out})
	}
	return outputs, nil
}

//go:embed copysync.txt
var recorded string

func main() {
	course.Main(run, recorded, "three ways to wait for a copy that all threads made, with one result")
}
