// Package asm holds the microkernels that multiply packed panels and the packers that make the panels, one set per
// instruction set, each beside its plain-Go twin. Functions and kernels here take unsafe pointers unchecked; programs
// use them through package gemm, which checks its arguments.
//
// # Panels
//
// A panel is a row of 32-bit words. R rows of A (or columns of B) travel together, one word of each per step of K:
//
//	             i = 0   1   2        R-1
//	           ┌───┬───┬───┬─ ─ ─ ─┬─────┐
//	kd = 0     │ w │ w │ w │       │  w  │   word (kd, i) lies at byte (kd·R + i)·4
//	           ├───┼───┼───┼─ ─ ─ ─┼─────┤
//	kd = 1     │   │   │   │       │     │
//	           └───┴───┴───┴─ ─ ─ ─┴─────┘
//
// R is MR for A and NR for B. What a word holds depends on the kernel:
//
//	KPack = 2   the bf16 elements 2kd (low half) and 2kd+1 (high half) of row i; an odd K ends with a zero element
//	KPack = 1   one float32; bf16 and f16 elements are widened when they are packed, which is exact
//
// Rows beyond the edge of the matrix are zero, so a kernel sees only whole tiles. Because a word is a word,
// transposing a K-contiguous source is the same routine for pairs of bf16 and for float32. Only A for AMX lies
// otherwise: in tiles of 16 rows by 16 words, row after row. The kernels of float64 have words of 64 bits, one each,
// and tiles of half as many columns, which are as many vectors.
//
// # Kernels
//
// A kernel multiplies a strip of m panels of A by one panel of B, tile by tile; the accumulators stay in registers for
// the whole depth:
//
//	             ┌─ NR ─┐
//	             │ B    │ k words
//	             └──────┘
//	┌ A 0 ┐ MR   ┌──────┐
//	├─────┤      ├──────┤    dst tile p = src tile p + A panel p · B
//	│ A 1 │      │      │
//	└─────┘ k    └──────┘
//
// It adds in the order of K, a block of it ([Type.Block]) from zero, and the sums of blocks in their order: that is
// all that the bits of a result depend on. The register tiles are chosen so that there are enough independent
// accumulators to hide the latency of the multiply-add (latency × rate: 12 for VDPBF16PS on Zen 5, 8 to 10 for FMA)
// while broadcasts and loads of B stay under the two loads a cycle that a core issues.
//
// [Kernel.Mul] wants both operands packed, by [Kernel.PackA] and [Kernel.PackB]. Where packing costs too much of a
// product, or a tile does too much, a kernel has other functions, which all give the bits of Mul:
//
//	              A        B        for
//	Strip         rows     panel    products whose A need not be packed; it also rounds to 16 bits
//	MulPack       panels   panel    large products: it packs the next panel of B meanwhile
//	Sweep         panels   rows     few rows by AMX: it packs the next piece of B meanwhile
//	Edge          either   panel    part of a tile, in part of its time
//	Stream        panel    rows     few rows: B is read once, where it lies
//	StreamPanels  panel    panels   few rows by a packed B
//	Unpacked      rows     rows     floats that are small or thin, in tiles as small as the matrices are; or a vector
//	Lanes         rows     rows     few elements by a long K, blocks of it in the lanes of vectors
//
// [Combine], [Scale], [Activate] and [RoundRows] are passes over finished sums.
//
// # Files
//
// Functions come in families. A family has a file here and one of the same name in gen, the program that writes the
// assembly, or some:
//
//	NAME.go         the contract, what an exported function checks, and the twin in Go, which says what is computed
//	NAME_amd64.go   how large arguments become short calls of assembly, and which function takes which
//	NAME_test.go    every kernel that has them against the twin, bit for bit
//	gen/NAME.go     writes zz_NAME_amd64.s, and its declarations, zz_NAME_amd64.go
//
// The families are strip (its tests kernel, rows, past, round), mulpack, sweep, edge, stream, unpacked (gen: vector,
// too), lanes, pack, stored (panels that are kept), fp8 (gen: widen, stream8), epilogue and activate; what amx and
// hopper have of their own is called like these. And:
//
//	which kernels there are, with what functions    registry.go, asm_amd64.go
//	what a kernel must do, and what it may have     kernel.go
//	which is chosen where, and why                  dispatch.go
//	what is the arithmetic of a kernel              ref_float.go, ref_bf16.go, amx.go, hopper.go and
//	                                                hopper_exact.go
//	how far and how wide a stream kernel reads      stream_sets_amd64.go
//	how assembly is written                         gen/emit.go, and kernel.go the loop over K, form.go elements,
//	                                                masked.go edges, transpose.go, encode.go and amxencode.go
//	                                                instructions in bytes
//
// # Choice
//
// [Select] picks by what a core is good at, not by the flag alone; [Kernel.Why] says the reason. The rules are in
// dispatch.go. LEAFHOPPER_KERNEL=name pins a kernel for the whole process, and GODEBUG=cpu.avx2=off, with any
// feature's name in lower case, has it do without the kernels that need the feature, as golang.org/x/sys/cpu does.
//
// On one core of a Granite Rapids amx does 2,300 to 2,800 GFLOP/s in strips of 512 rows, 256 words deep, of the 3,200
// to 3,800 that TDPBF16PS does from registers alone, by the clock. Operands do not come as fast.
//
// # Arithmetic
//
// The f32 and f64 kernels use fused multiply-add with round to nearest even and full subnormals; the portable ones
// round the product first, because not every architecture fuses. VDPBF16PS has arithmetic of its own, which gobf16
// models. TDPBF16PS has another, which sums blocks of 32 products; goamx gave every bit that an Emerald Rapids gave.
// Where a processor has AVX-512 but no AMX, tests emulate the instructions of AMX, so that its kernels are tested there
// too.
//
// Kernels whose Arithmetic is [Hopper] have the arithmetic of Hopper's tensor core instead: the bits of wgmma, and of
// cuBLAS where it does not split K, on every processor. [SelectArithmetic] finds them. A step of theirs sums the
// products of KStep elements, so K is cut into stages at multiples of it. Their panels have a header and exponents
// beside the values, so [Kernel.PanelA] and [Kernel.PanelB] say how large one is. F32 is rounded to tf32 while it is
// packed, as cuBLAS does, and fp8 has kernels too. MulF16 rounds to f16 after each step, as wgmma does with
// accumulators in f16.
//
// # Assembly
//
// Build tag purego leaves the assembly out. A function is called ROLE HOW SET WHAT xSIZE, of which some leave out
// some:
//
//	pack   Across   512   BF16   x32      packs from rows across K, with AVX-512, bf16, panels of 32 columns
//	stream Along    256   Words  x4       multiplies 4 rows of A by rows of B along K, with AVX2, float32
//	ROLE   HOW      SET   WHAT   SIZE
//
//	ROLE  mul, rows (A in rows), lanes, mulPack, edge, unpacked, vector, stream, pack, sweep, peak; of Hopper's
//	      arithmetic scan, exponents, tame, wide; on rows widen, apply, combine, add, copy, round
//	HOW   Along, Across (K runs along the rows of the source, or across them), Panels, Short, Far, Past, Round, Hopper
//	SET   512 (AVX-512), 256 (AVX2), AMX
//	WHAT  B holds: Pairs (of bf16), Words (float32), Doubles (float64), BF16, F16 (widened), Tiles (multiplied as AMX
//	      does), Pairs8 and Words8 (of fp8); or A, B, a panel's side; or the 16 or 8 bits of an element
//	SIZE  rows of A (stream), vectors of columns (edge, unpacked), width of a panel, and how much of it or how many
//	      (pack)
//
// To add a kernel: write what it does in the file of its family in gen and add it to the table there, run go generate,
// and name the function in the functions of its kernel in asm_amd64.go, whose roles kernel.go explains; a family of its
// own is a line in gen/main.go. TestStale proves that the files are what the generator writes, and TestNames that names
// follow the grammar.
package asm

//go:generate go run ./gen
