// Bulkcopy is the first kernel of the chapter on the TMA in the CUDA C++
// Programming Guide, add_one_kernel: a block of threads brings a piece of an
// array into shared memory with one bulk copy, adds one to every number, and
// sends the piece back with another.
//
//	global  ────── LoadBulk ─────►  shared  ────── StoreBulk ─────►  global
//	               completes the            belongs to a bulk
//	               bytes of a barrier       group of its thread
//
// Every thread arrives at the barrier, so it counts threads; the one that starts
// the copy announces the bytes as well. The phase is over when all the threads
// have come and the balance of bytes is zero. The bytes arrive for nobody: the
// thread that waits for them still has to arrive itself.
//
// Two barriers are at work. One is the mbarrier of the copy. The other stands in
// for __syncthreads: nobody may send the piece off before everybody has written
// to it. (The GPU needs fence.proxy.async there too, since its copy engine reads
// shared memory through another proxy. Go has one order of memory for all.)
//
// The store completes no barrier. Its thread waits for the group: WaitGroupRead
// says that shared memory has been read and may be reused, WaitGroup that the
// bytes are where they should be. The program prints what lies in global memory
// after each.
//
// Sources: CUDA C++ Programming Guide, asynchronous data copies using the TMA,
// one-dimensional arrays; PTX ISA 9.1, sections 9.7.9.25 (cp.async.bulk) and
// 9.7.13.15 (mbarrier).
package main

import (
	"encoding/binary"
	"fmt"
	"sync"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

const (
	threads = 32   // blockDim.x
	total   = 2048 // numbers in global memory
	length  = 1024 // numbers in the buffer in shared memory
	first   = 512  // where the piece begins
	size    = 4 * length
)

// A block is the shared memory of the kernel.
type block struct {
	data   []byte // global memory
	buffer *tile.Shared
	bar    *barrier.Barrier // of the copy
	sync   *barrier.Barrier // __syncthreads
}

func (b *block) syncThreads() { b.sync.Wait(b.sync.Arrive()) }

// addOne is the kernel, run by thread tid.
func (b *block) addOne(tid int) {
	global := tile.Global{Bytes: b.data}
	var t tile.Thread

	// One thread starts the copy. Its arrival carries the bytes, those of the
	// others none: barrier_arrive_tx(bar, 1, tx).
	tx := 0
	if tid == 0 {
		tx = size
		check(t.LoadBulk(b.buffer, 0, global, 4*first, size, b.bar))
	}
	token := b.bar.ArriveExpectTx(tx)
	b.bar.Wait(token)

	numbers := b.buffer.Bytes()
	for i := tid; i < length; i += threads {
		v := binary.LittleEndian.Uint32(numbers[4*i:])
		binary.LittleEndian.PutUint32(numbers[4*i:], v+1)
	}
	b.syncThreads()

	if tid == 0 {
		check(t.StoreBulk(global, 4*first, b.buffer, 0, size))
		t.CommitGroup()
		t.WaitGroupRead(0)
		clear(numbers) // the buffer may be reused
		fmt.Println("after WaitGroupRead:", numberAt(b.data, first))
		t.WaitGroup(0)
		fmt.Println("after WaitGroup:    ", numberAt(b.data, first))
	}
}

// check ends the program where the GPU would end the kernel.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func numberAt(data []byte, i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }

func main() {
	data := make([]byte, 4*total)
	for i := range total {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
	}
	b := &block{data: data}
	var err error
	b.buffer, err = tile.NewShared(size)
	check(err)
	b.bar, err = barrier.New(threads)
	check(err)
	b.sync, err = barrier.New(threads)
	check(err)

	var group sync.WaitGroup
	for tid := range threads {
		group.Go(func() { b.addOne(tid) })
	}
	group.Wait()

	wrong := 0
	for i := range total {
		want := uint32(i)
		if i >= first && i < first+length {
			want++
		}
		if numberAt(data, i) != want {
			wrong++
		}
	}
	fmt.Printf("%d numbers, %d..%d one more than before, %d wrong\n", total, first, first+length-1, wrong)
	state := b.bar.State()
	fmt.Printf("the barrier is in phase %d, with %d bytes and %d arrivals to come\n", state.Phase, state.Tx, state.Pending)
}
