// Addone is add_one_kernel of the CUDA C++ Programming Guide's chapter on the TMA: a piece
// of an array is loaded by a bulk copy, incremented in shared memory, and stored by a bulk
// copy. CUDA: addone.cu.
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
)

const length = 1024 // of the piece

func addOne(data []int32, offset int) func(*sm.Block) {
	return func(b *sm.Block) {
		piece := sm.Shared[int32](b, length, 16)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, b.Dim.X)
				t.FenceProxyAsync()
			}
			t.SyncThreads()

			if t.Rank() == 0 { // the copy and its expect_tx; it arrives for nobody
				sm.MemcpyAsync(t, piece, data[offset:offset+length], bar)
			}
			bar.Wait(t, bar.Arrive(t))

			for i := t.Rank(); i < length; i += b.Dim.X {
				piece.Store(t, i, piece.Load(t, i)+1)
			}

			t.FenceProxyAsync()
			t.SyncThreads()
			if t.Rank() == 0 {
				sm.StoreBulk(t, data[offset:offset+length], piece)
				t.CommitGroup()
				t.WaitGroupRead(0)
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	data := course.Ints(4*length, 1)
	err := launch(sm.Config{Block: sm.Dim3{X: 128}}, addOne(data, length))
	return []course.Output{{Name: "addone.data", Data: data}}, err
}

//go:embed addone.txt
var recorded string

func main() {
	course.Main(run, recorded, "a barrier counted the bytes of the load, a bulk group of thread 0 those of the store")
}
