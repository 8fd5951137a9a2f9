// Producerconsumer is producer_consumer_pattern of the CUDA C++ Programming Guide: one
// warp fills two buffers in turn, the other warps empty them. Each buffer has two barriers,
// at which all threads of the block arrive. CUDA: producerconsumer.cu.
//
//	producers   ready: arrive and wait   fill    filled: arrive
//	consumers   ready: arrive            empty   filled: arrive and wait
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const threads, warp = 128, 32

func produce(t *sm.Thread, ready, filled []sm.Barrier, buffers *sm.Array[float32], in []float32, length int) {
	for i := range len(in) / length {
		ready[i%2].ArriveAndWait(t)
		buffer := buffers.At(i % 2 * length)
		for j := t.Rank(); j < length; j += warp {
			buffer.Store(t, j, in[i*length+j])
		}
		filled[i%2].Arrive(t)
	}
}

func consume(t *sm.Thread, ready, filled []sm.Barrier, buffers *sm.Array[float32], out []float32, length int) {
	ready[0].Arrive(t)
	ready[1].Arrive(t)
	for i := range len(out) / length {
		filled[i%2].ArriveAndWait(t)
		buffer := buffers.At(i % 2 * length)
		for j := t.Rank() - warp; j < length; j += threads - warp {
			out[i*length+j] = 2*buffer.Load(t, length-1-j) + float32(i)
		}
		ready[i%2].Arrive(t)
	}
}

func producerConsumer(length int, in, out []float32) func(*sm.Block) {
	return func(b *sm.Block) {
		buffers := sm.Shared[float32](b, 2*length, 4)
		bars := b.Barriers(4) // ready 0, ready 1, filled 0, filled 1
		b.Threads(func(t *sm.Thread) {
			block := t.ThisThreadBlock()

			if block.Rank() < 4 {
				bars[block.Rank()].Init(t, block.Size())
			}
			block.Sync()

			if block.Rank() < warp {
				produce(t, bars[:2], bars[2:], buffers, in, length)
			} else {
				consume(t, bars[:2], bars[2:], buffers, out, length)
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	in, out := make([]float32, 1024), make([]float32, 1024)
	for i := range in {
		in[i] = float32(course.Element(uint32(i), 1) >> 16)
	}
	err := launch(sm.Config{Block: sm.Dim3{X: threads}}, producerConsumer(64, in, out))
	return []course.Output{{Name: "producerconsumer.out", Data: out}}, err
}

//go:embed producerconsumer.txt
var recorded string

func main() {
	course.Main(run, recorded,
		"16 turns of two buffers went from one warp to three, and nobody read or wrote too early")
}
