// Package bench measures matrix products and says how far they are from what
// the machine can do. The command gemmbench and go test -bench share it.
//
// A [Variant] is a [Workload] (shapes, types, factors, seed, arithmetic, split of
// K, batch, epilogue) together with how to run it (ring depth, workers, callers, kernel, tile,
// prepacked or not). A [Runner] takes many of them:
//
//	           ┌ for each variant ┐   ┌───────── Count rounds ────────┐
//	operands → │ first call, check│ → │ peak v1 v2 v3 │ peak v2 v3 v1 │ → traces → Report
//	           │ warm-up          │   └───────────────────────────────┘
//	           └──────────────────┘
//
// # Time
//
// The rounds interleave: every round takes one sample of every variant and
// starts with another one, so a clock that drifts slows all variants alike. A
// sample repeats the call for at least MinTime and divides. Reported are the
// median, the smallest and the largest sample; the spread is (largest -
// smallest) / median. JSON, CSV and the benchmark format have all samples. A run whose
// context ends reports the rounds that are whole.
//
// # Depth
//
// A depth of 0 leaves the choice to the engine. Reports keep it apart from the
// depth that was chosen, which may be one that was measured as well: a table says
// auto(3), JSON and CSV have 0 as depth and 3 as depth_used, and names in the
// benchmark format have depth=auto. Where the engine had no ring that is auto(no ring), or 0 as
// depth_used.
//
// Where the same was measured with depth 1, the others are compared with it by the ratios of
// times within each round, whose load and clock both share: their median, its 99 % confidence
// interval, and the p of a test that neither is faster, both of golang.org/x/perf/benchmath and
// without an assumption on how ratios are distributed. Two depths are told apart if the
// interval excludes 1 and p is below 0.01: more rounds make the interval shorter, however
// busy the machine.
//
// Then a product of each depth is traced ([gemm.WithTrace]): a table draws what its workers
// did, a line each, and says what the ring hid; [Report.WriteTimelines] writes the same spans
// for ui.perfetto.dev, and they are regions of the execution trace that a [Runner] can write.
// Of nine products the fastest counts.
//
// # Epilogues
//
// Variants that differ in scales, bias and activation, or in anything else that is done with A, B and C,
// share those. Where the same was measured without an [Epilogue], the others are compared with it
// as depths are with depth 1: a ratio ("vs plain", vs_plain) of 0.97 is an epilogue that costs 3 %.
//
// # Callers and scaling
//
// Several callers are goroutines that multiply at once, as the requests of a server
// do: they share A, B and a packed B, and each has its own C. All begin a sample
// together and call until it is over. Its GFLOP/s are those of all calls over the
// time to the last end, and its seconds the mean time that a call takes its caller,
// waiting included.
//
// Where workers or callers vary, a result's scaling is the ratio of its GFLOP/s to
// those of the variant that is the same but for 1 worker and 1 caller; where that
// was not measured, to those with 1 worker and as many callers, or with as many
// workers and 1 caller.
//
// # Batches
//
// A batch is several products of one size, each with its own A, B and C of other values, in a call of
// [gemm.MultiplyBatch]. Its seconds are those of the call, its GFLOP/s those of all products. In each round the same
// products are also measured in as many calls of Multiply, one after the other: the ratio ("vs calls", vs_calls) of
// that time to the batch's is 1.25 where the one call takes a fifth less. Every product is verified, in both, and must
// have the same bits. Of a batch there are no statistics, and so no waits, and no depth that the engine chose, nor
// traces.
//
// # Peak
//
// The peak of a kernel and a number of workers is what the kernel's
// multiply-add reaches from registers alone, on that many locked threads at
// once, in the best of the milliseconds of a probe of 25: flops of all threads in a
// millisecond that they share. What else the machine does makes a millisecond slower,
// and nothing makes one faster, so the best of all probes counts. While no probe had its threads
// together for a millisecond more follow, and if none ever has, the report says so. Right
// after it each thread measures its clock by a chain of dependent one-cycle instructions, of
// which the fastest call counts: a peak is so many workers × flop/cycle × GHz. A
// processor's manual knows the second, which is less where a core's other thread is busy.
//
// There is a probe before every round and one after the last, for every
// kernel and worker count in the set, and a product's peak fraction is against
// the best of those. A fraction above 1.02 is a bug of the probe. Where the probes'
// threads, which always have work, did not get their time on a processor (getrusage), or
// the host of a virtual machine took some (/proc/stat), the report says so. A product so
// small that it runs on its caller alone is compared with the workers that were
// asked for, too, and one of several callers with the workers of all of them, as far
// as there are processors for them. In Hopper's arithmetic the loop is the sequence that a product
// takes: two multiplications, a conversion and an addition for two flops.
//
// # Waits
//
// The producer and consumer waits are [gemm.Stats]' sums over the workers,
// divided by workers × elapsed time. Products under 0.1 GFLOP are timed without
// statistics, and one more call of each caller per sample, outside the timing,
// yields them.
//
// # Verification
//
// The bound is componentwise: with u = 2^-24, or 2^-53 for float64, and γ = (block + K/block + 8)·u
// for native arithmetic, which sums K in blocks, and (K+8)·u for Hopper's,
//
//	|c - ref| ≤ γ·(|alpha|·|A||B| + |beta·C|), plus half an ulp of a 16-bit output
//
// where ref is computed in float64 from the same operands, or if those are float64, with twice
// its bits. A result's MaxError is the largest |c - ref| / bound: up to 1 passes. Small products
// are compared in full, with gonum where sums are float32. Of large ones more than 1,000 entries are
// compared, the corners and edges among them, and Freivalds' check covers the rest: with a
// vector x of random signs, C·x is compared with alpha·A·(B·x) + beta·C0·x, and
// the rows that differ most are recomputed as ref is and compared entry by
// entry. A wrong entry therefore shows as soon as it stands out of the rounding
// errors of one row, wherever it is, and correct entries never fail.
//
// What an [Epilogue] adds counts like beta·C. An activation f widens the bound by f's slope, at most 1.13,
// and by 4 units of float32's last place for f itself. C·x then says nothing, and four rows are
// recomputed in place of those that differ most.
//
// In Hopper's arithmetic entries are not compared within a bound but computed again, step by step as the tensor core
// does, by the rule in integers of package internal/hopper, and must have the same bits (but for activations other
// than ReLU and GELUTanh): the sample, and all entries of the rows that differ most from A·(B·x). MaxError is then 0,
// or infinite (in JSON the largest float64). No bound on what truncation does to C·x is needed for that: it could not
// be below what happens to right rows, and once the worst rows are found right, every other row is as close to the
// reference as a right one. float32 operands count as rounded to tf32. A step of e4m3 or e5m2 sums 32 products and
// keeps 13 bits, so right rows stray farther from A·(B·x) than those of the other types, and a wrong entry that is
// not recomputed must be farther off to stand out.
//
// Every caller's C is checked. It starts as NaN when beta is 0, so a product that
// reads it, or leaves a part of it out, fails too. The bits of C are compared as
// well: depth, workers, callers, tile and prepacking must not change them, nor the
// kernel in Hopper's arithmetic, and neither must a later call.
package bench

// The files:
//
//	workload, epilogue                                what is to be measured
//	run, case, caller, operand, cold, parallel        who measures it, round by round
//	peak, probe, machine, load                        what the machine can do, and what of it the process got
//	reference, sum, exact, verify                     what C must be
//	result, versus, scaling, reading, trace           what was measured, and what it says
//	encode, table                                     reports as text
//	chart, svg, svg_draw, svg_label, svg_style        a report as a plot
