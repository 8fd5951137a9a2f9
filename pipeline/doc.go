// Package pipeline is the warp-specialised pipeline of a Hopper kernel, on the
// cores of a CPU: a ring of stages through which producers feed consumers
// without a lock.
//
// # Ring
//
// A [Ring] of depth stages (QSIZE) keeps two barriers for every stage. The full
// one completes when the producer has posted the bytes that it expects and the
// copies have brought them all; the empty one, when every consumer has let go.
// Below, the ring of depth 4 at a moment when the producer is at item 6 and a
// consumer at item 3:
//
//	                 consumer                              producer
//	                     │                                     │
//	    ┌────────────┬───▼────────┬────────────┬────────────┐  │
//	    │  stage 2   │  stage 3   │  stage 0   │  stage 1   │  │
//	    │  item 2    │  item 3    │  item 4    │  item 5    │  │ item 6, back
//	    │            │            │            │            │  │ in stage 2
//	    │  being     │  full,     │  full,     │  copies    │  │
//	    │  released  │  is read   │  waits     │  under way │  │
//	    ├────────────┼────────────┼────────────┼────────────┤  │
//	    │ full   ✓   │ full   ✓   │ full   ✓   │ full   tx>0│  │
//	    │ empty  1/2 │ empty  0/2 │ empty  0/2 │ empty  0/2 │  │
//	    └───▲────────┴────────────┴────────────┴────────────┘  │
//	        └───────────── waits for empty 2/2 ────────────────┘
//
//	producer  wait empty → ArriveExpectTx on full → copies do CompleteTx on full
//	consumer  wait full  → read                   → Arrive on empty
//
// The ring owns the barriers and not the memory of the stages.
//
// # State
//
// A role's place is a [PipelineState]. Item j lies in stage j mod depth, and is
// the filling number j/depth of that stage: a consumer waits there for parity
// (j/depth) mod 2 of the full barrier, a producer for the opposite parity of the
// empty one, which lets the first filling pass on fresh barriers.
//
//	item             0  1  2  3  4  5  6  7  8     (depth 3)
//	stage            0  1  2  0  1  2  0  1  2
//	consumer parity  0  0  0  1  1  1  0  0  0
//	producer parity  1  1  1  0  0  0  1  1  1
//
// # Roles
//
// [Run] executes roles written as on the GPU, one goroutine to a role: a producer
// loops over acquire, expect and copy, a consumer over wait, compute and release.
// An error, a panic or the end of a context stops the ring, so that every wait
// on the ring returns, and Run returns when all roles have.
//
// Of roles that hang, the end of the context says why: Run's error, an [Interrupted], has
// for each role the wait that it was in, the stage and the phase, and what was missing
// there.
//
//	pipeline: context deadline exceeded
//	  role 0, main.producer: ProducerAcquire at main.go:27 for item 7:
//	    empty barrier of stage 1, CTA 0, phase 1: 2 of 2 arrivals missing, 0 bytes missing
//	  role 1, main.consumer: ConsumerWait at main.go:41 for item 4:
//	    full barrier of stage 1, CTA 0, phase 1: 0 of 1 arrivals missing, 16 bytes missing
//
// # Who arrives
//
// In a cluster the CTAs share a ring. Each has a full barrier of its own in a
// stage. A copy that the whole cluster needs is made once and completes the bytes of each
// full barrier, see [Ring.Multicast], where every CTA's producer has expected them. One
// empty barrier counts the consumers of all, as a stage must be empty in all before a
// copy for all is made; where copies go to some, an empty barrier for each CTA counts the
// consumers of those that it copies to. What a [RingConfig] says serves
//
//	                                  Producers  Consumers             PerCTA
//	NewRing; a Grid, whose slabs are
//	the consumers                     1          of the cluster        false
//	cuda::pipeline                    producers  consumers             false
//	CUTLASS's PipelineTmaAsync        1          of the multicast set  true
//	all threads arrive at both and
//	wait by their tokens              all        all                   false
//
// A producer thread that has copied itself arrives with [Ring.ProducerExpect] of no bytes;
// a warpgroup arrives 128 times at once, and a thread that quits drops, at the barriers
// themselves, [Ring.Full] and [Ring.Empty]. In the last form consumers arrive at every
// empty barrier before they begin, so that phase 0 empties the stages for the first time
// and producers wait for the phases of a [ConsumerStart]. A grid has one empty barrier:
// one worker issues a stage for all CTAs, and would have to look at each.
//
// # Grids and slabs
//
// Roles as goroutines are what one wants to read, and not what keeps a CPU busy: a
// producer that shares cores with its consumers is starved by them or starves
// them, and a consumer that goes to sleep is missing when its slot is full. A
// [Grid] therefore cuts the work of the same ring into pieces, the copy jobs and
// the slabs of every item, which any number of workers claim; whoever waits for
// a slot helps to fill it. Where nothing is copied there is no ring: [Slabs] wait
// for nothing and are over as soon as the last is done. Both are a [Task]: a lone
// worker runs inline on its caller, and a [Crew] lends further workers and keeps
// them awake for a moment between calls.
//
//	Crew     lends helpers, goroutines that live while calls follow each other closely
//	bell     the one word at which the helpers of a call look; each of them sits on a seat
//	team     what Grid and Slabs have in common: workers, what is left to do, how it ended
//	hand     a goroutine as a worker: of a call the caller is worker 0, the helper on seat i worker i + 1
//	worker   a hand of a Grid
//	member   a role of a Run
//
// # Costs
//
// Measured on one Zen 5 machine (docs/findings/waking.md): handing over between goroutines of one P costs
// 0.2 µs, between two spinning cores 0.1 µs, but waking a goroutine whose P has
// gone to sleep 75 to 100 µs. So no worker parks before [SpinFor] has gone by, and a
// slot should hold at least 100 µs of work. A stop is noticed within about a
// millisecond by those who have parked, and after the current piece by the others.
//
// Sources: PTX ISA 9.1, section 9.7.13.15 (mbarrier), and CUTLASS 3, whose
// PipelineState and PipelineTmaAsync have the same meaning.
package pipeline

// The files:
//
//	ring, state, wait                    the ring, a role's place in it and where it waits
//	run, interrupted                     roles as goroutines, and why they hang
//	grid, worker, slabs                  pieces that any number of workers claim
//	team, hand                           what every task and every worker has
//	crew, bell, helper                   who lends workers, and how they are called
//	trace                                what workers did
