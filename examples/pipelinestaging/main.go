// Pipelinestaging is with_staging of the CUDA C++ Programming Guide: a cuda::pipeline of
// two stages, in which a batch is computed while the next one is copied. As the guide
// prints it, it writes results one batch too late; the program runs it both ways.
// CUDA: pipelinestaging.cu.
//
//	stage 0   copy 0             compute 0   copy 2      compute 2   copy 4
//	stage 1              copy 1              compute 1   copy 3      compute 3
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const blocks, threads, batches, stages = 4, 64, 5, 2

// compute is what a thread makes of a batch: from its own element and from the one at the
// other end, which another thread has copied.
func compute(t *sm.Thread, out []int32, batch *sm.Array[int32]) {
	i, n := t.Rank(), batch.Len()
	out[i] = 3*batch.Load(t, i) + batch.Load(t, n-1-i)
}

func staging(out, in []int32, asPrinted bool) func(*sm.Block) {
	return func(b *sm.Block) {
		shared := sm.Shared[int32](b, stages*threads, 4)
		state := b.Pipeline(stages, nil)
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()
			pipeline := state[block.Rank()]

			start := func(batch int) int { return b.Idx.X*block.Size() + b.GridDim.X*block.Size()*batch }
			stage := func(batch int) *sm.Array[int32] {
				at := batch % stages * block.Size()
				return shared.Slice(at, at+block.Size())
			}
			fetch := func(batch int) {
				pipeline.ProducerAcquire()
				sm.MemcpyAsync(block, stage(batch), in[start(batch):start(batch)+block.Size()], pipeline)
				pipeline.ProducerCommit()
			}
			consume := func(batch, place int) {
				pipeline.ConsumerWait()
				compute(t, out[start(place):], stage(batch))
				pipeline.ConsumerRelease()
			}

			fetch(0)
			for batch := 1; batch < batches; batch++ {
				fetch(batch)
				place := batch - 1
				if asPrinted {
					place = batch
				}
				consume(batch-1, place)
			}
			consume(batches-1, batches-1)
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	in := course.Ints(batches*blocks*threads, 1)
	out, printed := make([]int32, len(in)), make([]int32, len(in)) // zeros, which batch 0 of printed keeps
	cfg := sm.Config{Grid: sm.Dim3{X: blocks}, Block: sm.Dim3{X: threads}}
	err := launch(cfg, staging(out, in, false))
	if err == nil {
		err = launch(cfg, staging(printed, in, true))
	}
	return []course.Output{
		{Name: "pipelinestaging.out", Data: out},
		{Name: "pipelinestaging.as_printed", Data: printed},
	}, err
}

//go:embed pipelinestaging.txt
var recorded string

func main() {
	course.Main(run, recorded,
		"a batch is copied while the one before is computed; as printed, results are a batch late")
}
