package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A product of few elements and a deep K is a few dot products. A block of K is one chain of additions, each of which
// waits for the one before, so kernels sum as many blocks as asm.Lanes side by side.
const (
	dotMost   = 8         // most elements of C, half as many of pairs
	dotBlocks = 8         // fewest blocks of K
	dotStep   = 4         // most elements from one of a vector to the next
	dotShare  = 128 << 10 // fewest bytes of A and B that are worth a worker
	dotRange  = 64 << 10  // the same of what one takes at a time
	dotGroup  = 256       // blocks that are summed before their sums are added to those before

	dotChains = dotMost * asm.Lanes * 4    // bytes of the sums of blocks side by side
	dotAside  = (dotMost + dotStep) * 1024 // and of a block of A and B, or of what is put side by side at a time
)

// vectors returns n vectors of v, along whose rows in memory K lies or not.
func (v *view) vectors(n int, kContiguous bool) asm.Vectors {
	size, pitch, block := v.elem.Size(), v.pitch(), v.elem.Block()
	if kContiguous {
		return asm.Vectors{At: v.ptr, N: n, Apart: pitch, Step: size, Block: block * size}
	}
	return asm.Vectors{At: v.ptr, N: n, Apart: size, Step: pitch, Block: block * pitch}
}

// short makes a copy of the n elements of vectors of v that are left of K, in mem, because kernels read some behind them, and
// returns what is left of mem.
func short(v *asm.Vectors, n, size int, mem []byte) []byte {
	lines, bytes, apart := 1, (n-1)*v.Step+v.N*size, v.Apart
	if v.Step == size {
		lines, bytes, v.Apart = v.N, n*size, v.Block
	}
	end := lines * v.Block
	clear(mem[:end])
	for i := range lines {
		copy(mem[i*v.Block:], unsafe.Slice((*byte)(unsafe.Add(v.At, i*apart)), bytes))
	}
	v.At = unsafe.Pointer(unsafe.SliceData(mem))
	return mem[end:]
}

// dotSums writes the sums of n blocks of K from first on to sums, those of a block, m x n, after those of the one before.
func (in *slab) dotSums(first, n int, sums unsafe.Pointer) {
	lanes, deep, size := in.kernel.Lanes(in.elem), in.elem.Block(), in.m*in.n
	s := scratches.Get().(*scratch)
	chains := unsafe.Slice((*float32)(s.at()), size*asm.Lanes)
	allA, allB := in.a.vectors(in.m, !in.a.trans), in.b.vectors(in.n, in.b.trans)
	whole := in.k / deep
	if max(allA.Step-allA.N*allA.Apart, allB.Step-allB.N*allB.Apart) > 0 {
		whole = (in.k - 1) / deep // what lies behind the last element need not be there
	}
	for end := first + n; first < end; {
		a, b := allA, allB
		a.At, b.At = unsafe.Add(a.At, first*a.Block), unsafe.Add(b.At, first*b.Block)
		blocks, depth := min(asm.Lanes, end-first, whole-first), deep
		if blocks == 0 { // the last is shorter
			blocks, depth = 1, in.k-whole*deep
			short(&b, depth, in.elem.Size(), short(&a, depth, in.elem.Size(), s.mem[dotChains+dotAside:]))
		}
		clear(chains)
		lanes(in.words(depth), blocks, a, b, unsafe.Pointer(&chains[0]), unsafe.Add(s.at(), dotChains))
		to := unsafe.Slice((*float32)(sums), blocks*size)
		for e := range size {
			for l, x := range chains[e*asm.Lanes:][:blocks] {
				to[l*size+e] = x
			}
		}
		in.turn.Did(flopsOf(in.m, in.n, blocks*depth))
		sums, first = unsafe.Add(sums, blocks*size*4), first+blocks
	}
	scratches.Put(s)
}

// runDots computes the product.
func (in *slab) runDots() {
	s := scratches.Get().(*scratch)
	sums, size, blocks := s.at(), in.m*in.n, ceilDiv(in.k, in.elem.Block())
	for first := 0; first < blocks; first += dotGroup {
		n, before := min(dotGroup, blocks-first), min(first, 1)
		in.dotSums(first, n, unsafe.Add(sums, before*size*4))
		addBlocks(sums, size, before+n)
	}
	in.storeWide(0, sums, in.n*4, in.m, in.n)
	scratches.Put(s)
}

// addBlocks adds to the first of so many times size sums the others, in order.
func addBlocks(sums unsafe.Pointer, size, n int) {
	of := unsafe.Slice((*float32)(sums), n*size)
	for e := range size {
		sum := of[e]
		for i := e + size; i < len(of); i += size {
			sum += of[i]
		}
		of[e] = sum
	}
}
