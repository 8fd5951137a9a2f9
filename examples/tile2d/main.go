// Tile2d is the kernel for multi-dimensional arrays of the CUDA C++ Programming Guide's
// chapter on the TMA: a tile of a matrix is loaded through a tensor map, its first row
// changed, and stored through the same map. CUDA: tile2d.cu.
//
//	          x = 100      128
//	┌───────────┬───────────┐
//	│  matrix   │           │
//	│           │           │
//	├───────────╔═══════════╪═══════════╗ y = 88
//	│           ║ loaded    │ zeros     ║
//	└───────────╫───────────┘           ║ 96
//	            ║ zeros, and not stored ║
//	            ╚═══════════════════════╝
package main

import (
	_ "embed"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

const (
	width, height         = 128, 96 // the matrix
	tileWidth, tileHeight = 64, 16  // the box
)

func modifyTile(m *tile.TensorMap, x, y int, columnSums []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		box := sm.Shared[int32](b, tileHeight*tileWidth, 128)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			i := t.Rank()
			if i == 0 {
				bar.Init(t, b.Dim.X)
				t.FenceProxyAsync()
			}
			t.SyncThreads()

			var token sm.Token
			if i == 0 {
				t.LoadTensor(box, m, bar, x, y)
				token = bar.ArriveTx(t, 1, box.Size())
			} else {
				token = bar.Arrive(t)
			}
			bar.Wait(t, token)

			var sum int32
			for row := range tileHeight {
				sum += box.Load(t, row*tileWidth+i)
			}
			columnSums[i] = sum
			box.Store(t, i, box.Load(t, i)+int32(i))

			t.FenceProxyAsync()
			t.SyncThreads()
			if i == 0 {
				t.StoreTensor(m, box, x, y)
				t.CommitGroup()
				t.WaitGroupRead(0)
				bar.Invalidate(t)
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) (outputs []course.Output, err error) {
	for _, at := range []struct {
		name string
		x, y int
	}{{"tile2d.inside", 36, 21}, {"tile2d.edge", 100, 88}} {
		matrix, sums := course.Ints(width*height, 1), make([]int32, tileWidth)
		m, err := sm.NewTensorMap(matrix, tile.Config{
			Dims: []uint64{width, height}, Box: []uint32{tileWidth, tileHeight},
		})
		if err != nil {
			return nil, err
		}
		if err := launch(sm.Config{Block: sm.Dim3{X: tileWidth}}, modifyTile(m, at.x, at.y, sums)); err != nil {
			return nil, err
		}
		outputs = append(outputs,
			course.Output{Name: at.name, Data: matrix},
			course.Output{Name: at.name + "_sums", Data: sums})
	}
	return outputs, nil
}

//go:embed tile2d.txt
var recorded string

func main() {
	course.Main(run, recorded, "over the edge the load brought zeros, and counted their bytes, and the store was cut")
}
