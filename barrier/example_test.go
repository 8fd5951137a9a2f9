package barrier_test

import (
	"fmt"
	"sync"

	"example.com/leafhopper/barrier"
)

// A ring of one slot: the producer fills it by a copy that books its bytes
// off, the consumer empties it, and each lap of the ring is one phase of both
// barriers.
func Example() {
	var full, empty barrier.Barrier
	for _, b := range []*barrier.Barrier{&full, &empty} {
		if err := b.Init(1); err != nil {
			fmt.Println(err)
			return
		}
	}
	var slot [4]int
	go func() {
		for lap := range uint32(3) {
			empty.WaitParity(lap ^ 1) // passes at once on the first lap
			full.ArriveExpectTx(32)
			for i := range slot {
				slot[i] = 10*int(lap) + i
				full.CompleteTx(8)
			}
		}
	}()
	for lap := range uint32(3) {
		full.WaitParity(lap)
		fmt.Println(slot)
		empty.Arrive()
	}
	// Output:
	// [0 1 2 3]
	// [10 11 12 13]
	// [20 21 22 23]
}

// A fresh barrier is in phase 0, which has parity 0 and has not completed. The
// phase before it, of parity 1, counts as complete.
func ExampleBarrier_WaitParity() {
	b, err := barrier.New(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	b.WaitParity(1)
	fmt.Println("parity 1 passed")
	fmt.Println("parity 0:", b.TestWaitParity(0))
	b.Arrive()
	fmt.Println("parity 0 after the arrival:", b.TestWaitParity(0))
	// Output:
	// parity 1 passed
	// parity 0: false
	// parity 0 after the arrival: true
}

// A token remembers the phase of its arrive.
func ExampleBarrier_Wait() {
	b, err := barrier.New(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	t := b.Arrive()
	fmt.Println("pending before:", t.Pending(), "complete:", b.TestWait(t))
	var arrives sync.WaitGroup
	arrives.Go(func() { b.Arrive() })
	b.Wait(t)
	arrives.Wait() // who completes a phase takes the waiters off its list before it returns
	fmt.Println(b)
	// Output:
	// pending before: 2 complete: false
	// barrier: phase 1 (mod 8), pending 2 of 2, tx 0, 0 parked
}

// Misuse that is undefined on a GPU panics.
func ExampleMisuse() {
	defer func() { fmt.Println(recover()) }()
	b, err := barrier.New(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	b.ArriveN(4)
	// Output:
	// barrier: ArriveN: arrival underflow: count 4, pending 3 (phase 0 (mod 8), pending 3 of 3, tx 0, 0 parked)
}
