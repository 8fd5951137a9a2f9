// Pipelinespecialized is with_specialized_staging_unified of the CUDA C++ Programming
// Guide: a partitioned cuda::pipeline, whose even threads produce and whose odd threads
// consume. CUDA: pipelinespecialized.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const (
	blocks, threads, batches = 4, 64, 7
	elements                 = threads / 2 // a block's part of a batch: one for each pair of threads
)

func compute(out *int32, value int32) { *out = 3*value + 1 }

func role(rank int) sm.Role {
	if rank%2 == 0 {
		return sm.Producer
	}
	return sm.Consumer
}

func specialized(stages int, out, in []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		shared := sm.Shared[int32](b, stages*elements, 4)
		state := b.Pipeline(stages, role)
		b.Threads(func(t *sm.Thread) {
			role := role(t.Rank())
			pair := t.Rank() / 2
			pipeline := state[t.Rank()]

			global := func(batch int) int { return blocks*elements*batch + elements*b.Idx.X + pair }
			slot := func(batch int) *sm.Array[int32] { return shared.At(batch%stages*elements + pair) }

			for computed, fetched := 0, 0; computed < batches; computed++ {
				for ; fetched < batches && fetched < computed+stages; fetched++ {
					if role == sm.Producer {
						pipeline.ProducerAcquire()
						sm.MemcpyAsync(t, slot(fetched), in[global(fetched):global(fetched)+1], pipeline)
						pipeline.ProducerCommit()
					}
				}
				if role == sm.Consumer {
					pipeline.ConsumerWait()
					compute(&out[global(computed)], slot(computed).Load(t, 0))
					pipeline.ConsumerRelease()
				}
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) (outputs []course.Output, err error) {
	in := course.Ints(batches*blocks*elements, 1)
	for _, p := range []struct {
		name   string
		stages int
	}{{"pipelinespecialized.stages2", 2}, {"pipelinespecialized.stages3", 3}} {
		out := make([]int32, len(in))
		cfg := sm.Config{Grid: sm.Dim3{X: blocks}, Block: sm.Dim3{X: threads}}
		if err := launch(cfg, specialized(p.stages, out, in)); err != nil {
			return nil, err
		}
		outputs = append(outputs, course.Output{Name: p.name, Data: out})
	}
	return outputs, nil
}

//go:embed pipelinespecialized.txt
var recorded string

func main() {
	course.Main(run, recorded, "producers ran ahead of consumers by as many batches as there are stages")
}
