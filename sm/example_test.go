package sm_test

import (
	"context"
	"errors"
	"fmt"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/mma"
	"example.com/leafhopper/sm"
)

// One thread issues a bulk copy; the phase is over when all threads have arrived and its bytes have landed.
func ExampleLaunch() {
	in, out := make([]int32, 128), make([]int32, 128)
	for i := range in {
		in[i] = int32(i)
	}
	err := sm.Launch(context.Background(), sm.Config{Block: sm.Dim3{X: 128}}, func(b *sm.Block) {
		buf := sm.Shared[int32](b, 128, 16)
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, b.Dim.Size())
				t.FenceProxyAsync()
			}
			t.SyncThreads()
			bytes := 0
			if t.Rank() == 0 {
				sm.LoadBulk(t, buf, in, bar)
				bytes = buf.Size()
			}
			bar.Wait(t, bar.ArriveTx(t, 1, bytes))
			out[t.Rank()] = buf.Load(t, 127-t.Rank())
		})
	})
	fmt.Println(err, out[:4])
	// Output: <nil> [127 126 125 124]
}

// A barrier that expects an arrival too many hangs a GPU. Here it is a fault that says who waits for what.
func ExampleFault() {
	err := sm.Launch(context.Background(), sm.Config{Block: sm.Dim3{X: 64}, Check: true}, func(b *sm.Block) {
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, b.Dim.Size()+1)
			}
			t.SyncThreads()
			bar.ArriveAndWait(t)
		})
	})
	var fault *sm.Fault
	if errors.As(err, &fault) {
		fmt.Println(fault.Rule, len(fault.Waits), fault.Waits[0].Agents)
	}
	// Output: deadlock 1 threads 0-63
}

// Nothing orders the initialisation before the arrivals: some orders of the threads get away with that.
func ExampleExplore() {
	err := sm.Explore(context.Background(), sm.Config{Block: sm.Dim3{X: 64}}, 100, func(b *sm.Block) {
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			if t.Rank() == 0 {
				bar.Init(t, b.Dim.Size())
			}
			bar.ArriveAndWait(t) // t.SyncThreads() is missing before it
		})
	})
	var fault *sm.Fault
	if errors.As(err, &fault) {
		fmt.Printf("%v: %s\n", fault.Rule, fault.Op)
	}
	// Output: mbarrier: ArriveAndWait
}

// Threads count by atomics, in shared memory first; the bins of all blocks add up in global memory.
func ExampleAtomicAdd() {
	text, total := []byte("atomics order nothing"), make([]int32, 26)
	err := sm.Launch(context.Background(), sm.Config{Grid: sm.Dim3{X: 2}, Block: sm.Dim3{X: 32}}, func(b *sm.Block) {
		bins, all := sm.Shared[int32](b, 26, 16), sm.Global(b, total)
		b.Threads(func(t *sm.Thread) {
			if t.Rank() < 26 {
				bins.Store(t, t.Rank(), 0)
			}
			t.SyncThreads()
			for i := b.Idx.X*b.Dim.X + t.Rank(); i < len(text); i += b.GridDim.X * b.Dim.X {
				if text[i] != ' ' {
					sm.AtomicAdd(t, bins.At(int(text[i]-'a')), 1)
				}
			}
			t.SyncThreads() // or the loads would race with the atomics
			if t.Rank() < 26 {
				sm.AtomicAdd(t, all.At(t.Rank()), bins.Load(t, t.Rank()))
			}
		})
	})
	fmt.Println(err, total['o'-'a'], total['t'-'a'])
	// Output: <nil> 3 2
}

// CTAs share K and add their partial sums one after the other, by a semaphore in global memory. What if one forgets
// that a flag orders nothing by itself?
func ExampleGlobal() {
	c, turn := make([]float32, 4), make([]uint32, 1)
	splitK := func(scope sm.Scope) sm.Kernel {
		return func(b *sm.Block) {
			sums, semaphore := sm.Global(b, c), sm.Global(b, turn)
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					for sm.AtomicLoad(t, semaphore) != uint32(b.Idx.X) {
					}
					t.ThreadFence(scope)
				}
				t.SyncThreads()
				sums.Store(t, t.Rank(), sums.Load(t, t.Rank())+float32(b.Idx.X))
				t.SyncThreads()
				if t.Rank() == 0 {
					t.ThreadFence(scope)
					sm.AtomicAdd(t, semaphore, 1)
				}
			})
		}
	}
	cfg := sm.Config{Grid: sm.Dim3{X: 3}, Block: sm.Dim3{X: 4}, Cooperative: true, Check: true, Reset: func() {
		clear(c)
		clear(turn)
	}}
	fmt.Println(sm.Launch(context.Background(), cfg, splitK(sm.ScopeDevice)), c)
	var fault *sm.Fault
	if err := sm.Launch(context.Background(), cfg, splitK(sm.ScopeBlock)); errors.As(err, &fault) {
		fmt.Printf("%v: %s by CTA %v\n", fault.Rule, fault.Op, fault.CTA)
	}
	// Output:
	// <nil> [3 3 3 3]
	// race: Load by CTA (1,0,0)
}

// A sum over a block: each warp's by shuffles, and that of the warps' sums by the first warp.
func ExampleShflDown() {
	in := make([]float32, 256)
	for i := range in {
		in[i] = float32(i)
	}
	var sum float32
	err := sm.Launch(context.Background(), sm.Config{Block: sm.Dim3{X: 256}}, func(b *sm.Block) {
		partial := sm.Shared[float32](b, 8, 4)
		b.Threads(func(t *sm.Thread) {
			v := in[t.Rank()]
			for offset := 16; offset > 0; offset /= 2 {
				v += sm.ShflDown(t, sm.FullMask, v, offset)
			}
			if t.Lane() == 0 {
				partial.Store(t, t.WarpRank(), v)
			}
			t.SyncThreads()
			if t.Rank() < 8 {
				v = partial.Load(t, t.Rank())
				for offset := 4; offset > 0; offset /= 2 {
					v += sm.ShflDown(t, 0xff, v, offset, 8)
				}
				if t.Rank() == 0 {
					sum = v
				}
			}
		})
	})
	fmt.Println(err, sum)
	// Output: <nil> 32640
}

// A warp multiplies A, 16 by 32, by B, 32 by 8, in two steps of K = 16, both row by row in shared memory.
func ExampleWarp_MMA() {
	const n, k = mma.N, 32
	op := mma.Op{Shape: mma.M16N8K16, A: mma.BF16, B: mma.BF16, D: mma.F32}
	var out [16][n]float32
	err := sm.Launch(context.Background(), sm.Config{Block: sm.Dim3{X: 32}, Check: true}, func(block *sm.Block) {
		as, bs := sm.Shared[bf16.BF16](block, 16*k, 16), sm.Shared[bf16.BF16](block, k*n, 16)
		block.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			for i := range 16 * k {
				as.Store(w, i, bf16.FromFloat32(float32(i/k-i%k)))
			}
			for i := range k * n {
				bs.Store(w, i, bf16.FromFloat32(float32(i/n%5+i%n%3)))
			}
			w.SyncWarp()
			f := op.FragmentD()
			a, b, d := op.FragmentA().Make(), op.FragmentB().Make(), f.Make()
			for at := 0; at < k; at += op.Shape.K() {
				w.LoadMatrix(func(lane int) sm.Region { return as.At(lane%16*k + at + lane/16*8) }, a)
				w.LoadMatrixTrans(func(lane int) sm.Region { return bs.At((at + lane) * n) }, b)
				w.MMA(op, d, a, b)
			}
			for lane := range mma.Lanes {
				for i := range f.Elements() {
					row, col := f.Coord(lane, i)
					out[row][col] = f.Float32(d, lane, i)
				}
			}
		}))
	})
	// Row 10, column 7: the sum over k of (10-k)·(k%5 + 7%3).
	want := 0
	for i := range k {
		want += (10 - i) * (i%5 + 7%3)
	}
	fmt.Println(err, out[10][7], want)
	// Output: <nil> -527 -527
}
