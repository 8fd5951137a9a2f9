package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
)

// A product of few elements and a deep K is a few dot products. A block of K is one chain of additions, each of which
// waits for the one before, so kernels sum as many blocks as asm.Lanes side by side.
const (
	dotGroup = 256 // blocks that are summed before their sums are added to those before

	dotChains = plan.DotMost * asm.Lanes * 8             // bytes of the sums of blocks side by side
	dotAside  = 2 * (plan.DotMost + plan.DotStep) * 1024 // and of what kernels put side by side
	dotPiece  = 16                                       // words that they read of a vector at a time
)

// vectors returns n vectors of v, along whose rows in memory K lies or not.
func (v *view) vectors(n int, kContiguous bool) asm.Vectors {
	size, pitch, block := v.elem.Size(), v.pitch(), v.elem.Block()
	if kContiguous {
		return asm.Vectors{At: v.ptr, N: n, Apart: pitch, Step: size, Block: block * size}
	}
	return asm.Vectors{At: v.ptr, N: n, Apart: size, Step: pitch, Block: block * pitch}
}

// alone copies n elements of every vector of v, of one block, to mem, where they lie side by side and what comes after
// them may be read, and returns what is left of mem.
func alone(v *asm.Vectors, n, size int, mem []byte) []byte {
	pitch, at := plan.RoundUp(n*size, max(plan.LineBytes, dotPiece*size)), unsafe.Pointer(unsafe.SliceData(mem))
	clear(mem[:v.N*pitch])
	for i := range v.N {
		to, from := unsafe.Add(at, i*pitch), unsafe.Add(v.At, i*v.Apart)
		switch {
		case v.Step == size:
			copy(unsafe.Slice((*byte)(to), n*size), unsafe.Slice((*byte)(from), n*size))
		case size == 2:
			gather(unsafe.Slice((*uint16)(to), n), from, v.Step)
		case size == 4:
			gather(unsafe.Slice((*uint32)(to), n), from, v.Step)
		default:
			gather(unsafe.Slice((*uint64)(to), n), from, v.Step)
		}
	}
	*v = asm.Vectors{At: at, N: v.N, Apart: pitch, Step: size}
	return mem[v.N*pitch:]
}

// gather sets to to elements that lie step bytes apart from at on.
func gather[T uint16 | uint32 | uint64](to []T, at unsafe.Pointer, step int) {
	for i := range to {
		to[i] = *(*T)(unsafe.Add(at, i*step))
	}
}

// dotSums writes the sums of n blocks of K from first on to sums, those of a block, m x n, after those of the one
// before.
func (in *slab) dotSums(first, n int, sums unsafe.Pointer) {
	lanes, deep, each, size := in.Kernel.Lanes(in.Elem), in.Elem.Block(), in.Elem.Size(), in.M*in.N
	s := scratches.Get().(*scratch)
	word, chains := in.Kernel.Word, s.at()
	allA, allB := in.a.vectors(in.M, !in.a.trans), in.b.vectors(in.N, in.b.trans)
	whole := in.K / deep
	if max(allA.Step-allA.N*allA.Apart, allB.Step-allB.N*allB.Apart) > 0 {
		whole = (in.K - 1) / deep // what comes after the last element need not be there
	}
	for end := first + n; first < end; {
		a, b := allA, allB
		a.At, b.At = unsafe.Add(a.At, first*a.Block), unsafe.Add(b.At, first*b.Block)
		blocks, depth := min(asm.Lanes, end-first, whole-first), deep
		if blocks == 0 { // the last is shorter
			blocks, depth = 1, in.K-whole*deep
			alone(&b, depth, each, alone(&a, depth, each, s.mem[dotChains+dotAside:]))
		}
		clear(s.mem[:size*asm.Lanes*word])
		lanes(in.Words(depth), blocks, a, b, chains, unsafe.Add(chains, dotChains))
		if in.Kernel.Sum == asm.F64 {
			byBlocks[float64](sums, chains, size, blocks)
		} else {
			byBlocks[float32](sums, chains, size, blocks)
		}
		in.turn.Did(plan.FlopsOf(in.M, in.N, blocks*depth))
		sums, first = unsafe.Add(sums, blocks*size*word), first+blocks
	}
	scratches.Put(s)
}

// byBlocks writes chains, for each of so many times size sums the lanes of some blocks, to sums, block by block.
func byBlocks[F float32 | float64](sums, chains unsafe.Pointer, size, blocks int) {
	to := unsafe.Slice((*F)(sums), blocks*size)
	for e := range size {
		for l, x := range unsafe.Slice((*F)(chains), size*asm.Lanes)[e*asm.Lanes:][:blocks] {
			to[l*size+e] = x
		}
	}
}

// runDots computes the product.
func (in *slab) runDots() {
	s := scratches.Get().(*scratch)
	sums, size, blocks := s.at(), in.M*in.N, in.Blocks()
	for first := 0; first < blocks; first += dotGroup {
		n, before := min(dotGroup, blocks-first), min(first, 1)
		in.dotSums(first, n, unsafe.Add(sums, before*size*in.Kernel.Word))
		asm.AddUp(in.Kernel.Sum, sums, size, before+n)
	}
	in.epilogue(lines{sums, in.N * in.Kernel.Word}, 0, 0, in.M, in.N)
	scratches.Put(s)
}
