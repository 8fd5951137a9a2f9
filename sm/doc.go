// Package sm runs Hopper kernels on a CPU: it launches grids of CTAs whose threads are
// goroutines, gives them the operations of CUDA C++ and PTX, and says what is wrong when
// something is wrong. It is for people who write, teach, port or test such kernels and have
// no GPU at hand.
//
//	err := sm.Launch(ctx, sm.Config{Grid: sm.Dim3{X: 4}, Block: sm.Dim3{X: 128}}, func(b *sm.Block) {
//		buf := sm.Shared[int32](b, 1024, 16)
//		bar := b.Barrier()
//		b.Threads(func(t *sm.Thread) {
//			if t.Rank() == 0 {
//				bar.Init(t, b.Dim.Size())
//			}
//			t.SyncThreads()
//			…
//		})
//	})
//
// # Who does what
//
// The kernel function runs once for every CTA. First it declares what the CTA shares,
// with [Shared], [Block.Barriers] and [Block.Pipeline]; then it starts the CTA's agents,
// once. Go has no thread identity, so an agent is the receiver or an argument of every
// operation:
//
//	cluster                CTAs that reach each other's shared memory
//	└ CTA      *Block      shared memory, mbarriers, 16 named barriers
//	  ├ *Thread            one goroutine; or one thread of
//	  ├ *Warp              32 threads in lockstep on one goroutine: arrives 32 times
//	  └ *Warpgroup         128 of them, which issue wgmma instructions together
//
// A copy or a wgmma instruction is asynchronous as on the GPU: it is done when a barrier's
// phase or a wait for its group says so. Shared memory is reached through views ([Array]).
//
// # Warps
//
// Threads of a warp exchange values by [Shfl] and its kin, [Thread.Ballot], [MatchAny] and [ReduceSync]. The lanes that
// a mask names and that have not ended come to the same operation with the same mask, width and type: else it is a
// fault, or a deadlock that says who has not come. As in CUDA, none of it orders accesses of memory, which SyncWarp
// does. Threads of a [Warp] or [Warpgroup] have nobody to exchange with: the values of all are on their goroutine.
//
// # Atomics
//
// An atomic is of the first element of a view of memory, shared, a peer's or global, and returns what that was before:
//
//	old := sm.AtomicAdd(t, bins.At(i), 1)
//
// Atomics do not race with each other, unless one is of 4 bytes and one of 8; with all other accesses they do, those
// of [ReduceAsync] too. They are relaxed: what comes before one is known to who has read by another what it wrote, if a
// ThreadFence comes before the one and another after the other. A thread that only looks, by AtomicLoad, or by an
// AtomicCAS or AtomicExch that changes nothing, and finds the same 50,000 times on end while nobody in its cluster
// changes anything by atomics, waits, under Check after 5,000 times and 50,000 of the cluster. If all agents wait, that
// is a deadlock.
//
// # Global memory
//
// Global memory is Go's: slices, which copies and tensor maps take as they are. What agents of several CTAs hand each
// other in it, flags, partial sums and tiles, they access by an [Array] of [Global]:
//
//	sums, ready := sm.Global(b, partial), sm.Global(b, flags)
//	…
//	for sm.AtomicLoad(t, ready.At(i)) == 0 { // if nobody sets it: a deadlock
//	}
//	t.ThreadFence(sm.ScopeDevice) // without it, under Check: a race
//	v := sums.Load(t, i)
//
// # Tensor maps
//
// A [TMADescriptor] is a tensor map that changes, field by field, as in grouped GEMMs, whose CTAs make the maps of the
// next product out of those of the last: in shared memory, from where a warp copies them to global memory, or there.
// Under Check it is known which fence of the tensormap proxy is missing before a copy, and which copy may not have read
// the map that is about to change. The example groupedGEMM does as CUTLASS.
//
// # Free and checked
//
// Without Check agents run on all cores, copies land when they are issued, and stores of bulk
// groups land when they are waited for; the race detector sees accesses by [Array].
//
// With Check one agent runs at a time, and every operation is a place where another may go
// on. The order comes from Config.Seed alone and repeats exactly. Copies land by
// Config.Schedule, as late as they may by default; shared memory holds poison until it is
// written; the rules of wgmma about registers and operands in use are checked. [Explore] runs
// many seeds, and shortens the schedule of a fault to the switches that matter.
//
// With Check, too, accesses of memory by [Array], copies and wgmma are judged by what orders them, whatever they
// find there ([RuleRace] and the rules after it). What orders them are the operations of this package, as PTX has it: a
// copy's end is known to who has waited for its phase or group, and to those that it tells. An access by
// [Array.Elements] or [Array.Bytes] is not seen, and memory that somebody has got in this way counts
// as written. Nor is it seen that agents wait for each other by a channel, a mutex or an atomic: what orders their
// other accesses then is a ThreadFence on both sides, which CUDA needs as well.
//
// # Bank conflicts
//
// With Config.Banks a launch counts, line by line, the wavefronts that accesses of shared memory take, by the rule that
// a GPU was measured to follow ([Banks]): what a padding or a swizzle is good for shows without one.
//
// # Faults
//
// Operations do not return errors. What a GPU would fault on, or PTX leaves undefined,
// ends the launch, and [Launch] returns a [*Fault] that names the kernel, the CTA, the
// agent, the operation, the line of the kernel's code and the [Rule]. So does a panic in the
// kernel. Nothing is left running, but for what [Launch] says. A deadlock is known the moment it
// comes about:
//
//	sm: deadlock in gemm, CTA (3,0,0): all 2 agents wait
//	  thread 0    at gemm.go:27 waits for empty[0] phase 5: 128 of 129 arrivals missing
//	    (last arrived: thread 0 at gemm.go:27)
//	  warpgroup 1 at gemm.go:41 waits for full[2] phase 4: 0 arrivals missing, 16 bytes missing
//	    (expected 16400 at gemm.go:30, copies brought 16384)
//
// That a copy has been waited for, a store committed, and another CTA's access ordered
// before its owner's exit is judged by what the program says, not by the moment at which
// things happened, so that every run of a wrong kernel tells. Some of these are stricter than
// an H100, which lets them pass: a __syncthreads, cluster.sync or grid.sync that threads which have
// ended did not come to, an exit with a load on its way, and a bulk store that was never
// committed. An agent that waits for something of Go, a channel say, or loops until memory
// changes, counts as one that goes on: nobody knows what it waits for. Under Check it keeps the
// turn: an agent that waits for a mutex which another holds across an operation stops both, and
// when the context ends, and a deferred Unlock lets all end, Launch says who had the turn.
//
// Sources: CUDA C++ Programming Guide; PTX ISA 9.1, sections 9.7.9.6 (shuffles), 9.7.9.25 to 9.7.9.28 (copies),
// 9.7.13 (barriers, fences and atomics), 9.7.14.5 (mma, ldmatrix, stmatrix), 9.7.14.6 (mma.sp) and 9.7.15 (wgmma);
// libcu++ (barrier, pipeline, memcpy_async).
package sm

// The files:
//
//	launch, block, start, agent        Config; what a CTA declares; which agents it starts, and what those are
//	cluster, runner, wait, queue, poll the CTAs that run together; their goroutines, which wait, or try in vain
//	deadlock, stop, fault              why a launch ends: nobody can go on, the context has ended, a fault
//	site, frames_*                     lines of code; the stack and the goroutine that an operation is called on
//	schedule, flight, switch, explore  under Check: who has the turn, copies under way, and the order that a fault takes
//	array, memory, atomic, matrix      accesses of shared and global memory; ldmatrix, stmatrix, mma.sync and mma.sp
//	barrier, mbar, pipeline            the operations of mbarriers, and what each of them is; cuda::pipeline
//	named, cluster_barrier             __syncthreads and barrier.sync; barrier.cluster and grid.sync
//	warp, shuffle, registers           what lanes do together; setmaxnreg
//	copy, bulk, memcpy, arrive_async   copies by the TMA, of tensors and bytes; cp.async, and what arrives behind it
//	tma_descriptor, mma                tensor maps that a kernel changes; wgmma
//	peer                               in either mode: what a CTA does to others' memory comes before they end
//	order, order_abroad                under Check: who knows what of whom, by vector clocks, in one cluster and others
//	order_shadow, _async, _layout      and by them accesses of memory, by copies and wgmma too, whose operands have the
//	                                   layout of what was loaded
//	order_phase, _descriptor, _report  phases of mbarriers, tensor maps; what is said of what is wrong
//	trace, banks, wavefronts           when it all was, and what shared memory took
//
// A copy is a Transfer of package tile, which lands in pieces, a copyOp as an agent has issued it, and under Check a
// flight as long as it is under way.
