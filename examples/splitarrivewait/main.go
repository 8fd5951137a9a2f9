// Splitarrivewait is split_arrive_wait of the CUDA C++ Programming Guide: arriving and
// waiting are two steps, and what does not need the others is computed between them.
// CUDA: splitarrivewait.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const threads = 128

// compute is what a thread does while the others still arrive: of its own value only.
func compute(value uint32, iteration int) uint32 {
	return value*1664525 + 1013904223 + uint32(iteration)
}

func splitArriveWait(iterations int, data []uint32) func(*sm.Block) {
	return func(b *sm.Block) {
		published := sm.Shared[uint32](b, 2*threads, 4) // two sets of slots, which alternate
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()
			rank := block.Rank()

			if rank == 0 {
				bar.Init(t, block.Size())
			}
			block.Sync()

			value := data[rank]
			for i := range iterations {
				slots := published.At(i % 2 * threads)
				slots.Store(t, rank, value) // before arrive
				token := bar.Arrive(t)
				own := compute(value, i) // between
				bar.Wait(t, token)
				value = own ^ slots.Load(t, (rank+1)%threads) // after wait
			}
			data[rank] = value
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	data := make([]uint32, threads)
	for i := range data {
		data[i] = course.Element(uint32(i), 1)
	}
	err := launch(sm.Config{Block: sm.Dim3{X: threads}}, splitArriveWait(16, data))
	return []course.Output{{Name: "splitarrivewait.data", Data: data}}, err
}

//go:embed splitarrivewait.txt
var recorded string

func main() {
	course.Main(run, recorded, "what is written before an arrival is there after the wait for its token")
}
