// Tma_quarters updates a matrix in four CTAs. Each takes a quarter, loads its
// 16 x 32 box with the TMA, changes it in shared memory, and stores it back.
//
//	        32 columns
//	┌─────────────────────────┐
//	│ CTA 0: rows  0..15      │   load (0, 0)    update   store (0, 0)
//	├─────────────────────────┤
//	│ CTA 1: rows 16..31      │   load (0, 16)   update   store (0, 16)
//	├─────────────────────────┤
//	│ CTA 2: rows 32..47      │   load (0, 32)   update   store (0, 32)
//	├─────────────────────────┤
//	│ CTA 3: rows 48..63      │   load (0, 48)   update   store (0, 48)
//	└─────────────────────────┘
//
// Kernels like this one go around with the note that they hang if they wait for
// parity 1 instead of 0: arrive.expect_tx, it says, turns the phase to 1, and the
// bytes, arriving by themselves, turn it back. Neither happens. There is one
// completion, of phase 0, when nobody and no byte is missing any more. And a wait
// for parity P asks whether the phase of parity P has completed, to which a fresh
// barrier says yes for parity 1. What parity 1 makes of the kernel is a race:
//
//	             before the bytes land          after
//	parity 0     false: wait                    true: the tile is there
//	parity 1     TRUE: go on without a tile     false: wait, and forever
//
// The first part of the program prints that, step by step, from a barrier whose
// copy is slow. The second part is the kernel, with parity 0.
//
// Sources: PTX ISA 9.1, section 9.7.13.15 (mbarrier) and 9.7.9.27 (tensor copies,
// bulk groups); the recordings of an H200 that package barrier replays.
package main

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

const (
	ctas       = 4
	rows, cols = 64, 32
	boxRows    = rows / ctas
)

// race shows what a wait for either parity does while one phase goes by.
func race(m *tile.TensorMap) {
	shared, bar := block(m)
	show := func(after string) {
		s := bar.State()
		fmt.Printf("%-16s  phase %d  pending %d  tx %4d   wait(parity 0) %-5v  wait(parity 1) %v\n",
			after, s.Phase, s.Pending, s.Tx, bar.TestWaitParity(0), bar.TestWaitParity(1))
	}
	show("init 1")
	bar.ArriveExpectTx(m.BoxBytes())
	show("arrive.expect_tx")

	bar.WaitParity(1)
	there := 0
	for e := range boxRows * cols {
		if binary.LittleEndian.Uint32(shared.Bytes()[4*e:]) != 0 {
			there++
		}
	}
	fmt.Printf("wait(parity 1) returns: %d of %d elements are there\n", there, boxRows*cols)

	check(tile.Load(shared, 0, m, []int32{0, 0}, bar))
	show("bytes landed")
	fmt.Println("wait(parity 1) now returns within 5 ms:", bar.TryWaitParity(1, 5*time.Millisecond))
}

// kernel is what one CTA does: it adds 1000 to every element of its quarter.
func kernel(m *tile.TensorMap, cta int) {
	shared, bar := block(m)
	coord := []int32{0, int32(cta * boxRows)}
	var t tile.Thread // the elected one

	bar.ArriveExpectTx(m.BoxBytes())
	check(t.Load(shared, 0, m, coord, bar))
	bar.WaitParity(0)

	for e := range boxRows * cols {
		element := shared.Bytes()[4*e:]
		binary.LittleEndian.PutUint32(element, binary.LittleEndian.Uint32(element)+1000)
	}

	check(t.Store(m, coord, shared, 0))
	t.CommitGroup()
	t.WaitGroup(0) // main reads the matrix: WaitGroupRead would promise only that shared memory has been read
}

// block returns the shared memory of a CTA and its barrier, which expects the
// one thread that issues the copy.
func block(m *tile.TensorMap) (*tile.Shared, *barrier.Barrier) {
	shared, err := tile.NewShared(m.SharedBytes())
	check(err)
	bar, err := barrier.New(1)
	check(err)
	return shared, bar
}

// check ends the program where the GPU would end the kernel.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	matrix := make([]byte, 4*rows*cols)
	for e := range rows * cols {
		binary.LittleEndian.PutUint32(matrix[4*e:], uint32(e+1))
	}
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.Int32,
		Global:   matrix,
		Dims:     []uint64{cols, rows},
		Strides:  []uint64{4 * cols},
		Box:      []uint32{cols, boxRows},
	})
	check(err)
	race(m)

	var grid sync.WaitGroup
	for cta := range ctas {
		grid.Go(func() { kernel(m, cta) })
	}
	grid.Wait()

	wrong := 0
	for e := range rows * cols {
		if binary.LittleEndian.Uint32(matrix[4*e:]) != uint32(e+1+1000) {
			wrong++
		}
	}
	fmt.Printf("4 CTAs updated %d x %d elements, %d wrong\n", rows, cols, wrong)
}
