// Quarters is a TMA exercise, main3.cu, and what its README says about parities, asked of
// the barrier. Four blocks load, update and store a quarter of a matrix each; then one
// thread asks a barrier for both parities before, while and after a tile lands, twice.
// CUDA: quarters.cu.
//
//	        32 columns
//	┌─────────────────────────┐
//	│ block 0: rows  0..15    │   load (0, 0)    update   store (0, 0)
//	├─────────────────────────┤
//	│ block 1: rows 16..31    │   load (0, 16)   update   store (0, 16)
//	├─────────────────────────┤
//	│ block 2: rows 32..47    │   load (0, 32)   update   store (0, 32)
//	├─────────────────────────┤
//	│ block 3: rows 48..63    │   load (0, 48)   update   store (0, 48)
//	└─────────────────────────┘
package main

import (
	_ "embed"
	"fmt"
	"io"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

const (
	blocks, threads = 4, 32
	rows, columns   = 64, 32
	tileRows        = rows / blocks
)

// quarter waits for the phase of that parity, which is over when the tile has landed only if
// it is 0.
func quarter(m *tile.TensorMap, parity int) func(*sm.Block) {
	return func(b *sm.Block) {
		box := sm.Shared[int32](b, tileRows*columns, 128)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			y := b.Idx.X * tileRows
			if t.Rank() == 0 {
				bar.Init(t, 1)
				t.FenceProxyAsync()
				bar.ArriveTx(t, 1, box.Size())
				t.LoadTensor(box, m, bar, 0, y)
			}
			t.SyncThreads()
			bar.WaitParity(t, parity)

			for row := range tileRows {
				i := row*columns + t.Rank()
				box.Store(t, i, 2*box.Load(t, i)+int32(1000*b.Idx.X+row))
			}

			t.FenceProxyAsync()
			t.SyncThreads()
			if t.Rank() == 0 {
				t.StoreTensor(m, box, 0, y)
				t.CommitGroup()
				t.WaitGroupRead(0)
			}
		})
	}
}

// parities is for one thread; answers[2*i+p] is what a wait for parity p says at moment i.
func parities(m *tile.TensorMap, answers []int32) func(*sm.Block) {
	return func(b *sm.Block) {
		box := sm.Shared[int32](b, tileRows*columns, 128)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			ask := func() {
				for parity := range 2 {
					if bar.TestWaitParity(t, parity) {
						answers[parity] = 1
					}
				}
				answers = answers[2:]
			}
			bar.Init(t, 1)
			t.FenceProxyAsync()
			ask()
			for use := range 2 {
				bar.ArriveTx(t, 1, box.Size())
				ask()
				t.LoadTensor(box, m, bar, 0, 0)
				bar.WaitParity(t, use)
				ask()
			}
		})
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	matrix, answers := course.Ints(rows*columns, 1), make([]int32, 10)
	m, err := sm.NewTensorMap(matrix, tile.Config{Dims: []uint64{columns, rows}, Box: []uint32{columns, tileRows}})
	if err != nil {
		return nil, err
	}
	err = launch(sm.Config{Grid: sm.Dim3{X: blocks}, Block: sm.Dim3{X: threads}}, quarter(m, 0))
	if err == nil {
		err = launch(sm.Config{}, parities(m, answers))
	}
	return []course.Output{{Name: "quarters.matrix", Data: matrix}, {Name: "quarters.parities", Data: answers}}, err
}

//go:embed quarters.txt
var recorded string

func main() {
	outputs := course.Main(run, recorded, "parity 1 passes before the tile has landed, and waits after that")
	answers := outputs[1].Data.([]int32)
	cli.Print(func(w io.Writer) error {
		for i, moment := range []string{"init 1", "arrive.expect_tx", "bytes landed", "arrive.expect_tx", "bytes landed"} {
			fmt.Fprintf(w, "# after %-16s parity 0: %d  parity 1: %d\n", moment, answers[2*i], answers[2*i+1])
		}
		return nil
	})
}
