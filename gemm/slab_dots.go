package gemm

import (
	"unsafe"
)

// A product of few elements and a deep K is a few dot products. A block of K is one chain of additions, each of which
// waits for the one before, so as many blocks as a panel of B has columns are summed side by side, each in a lane of its
// own. The packer of B, which takes the blocks for columns that lie along K, puts their elements beside each other:
//
//	memory   block 0, block 1, block 2, ...       panel   element 0 of every block
//	                                                      element 1 of every block, ...
const (
	dotMost   = 8 // most elements of C, half as many of pairs
	dotBlocks = 8 // fewest blocks of K
	dotStep   = 4 // most elements from one of a vector to the next
	// Steps of K between two times that vectors are packed, for one element of C: meanwhile comes closer what is packed next, in the
	// time that packing it would wait for memory.
	dotSteps = 48
	dotShare = 128 << 10 // fewest bytes of A and B that are worth a worker
	dotRange = 64 << 10  // the same of what one takes at a time
)

// A lined is the vectors of dot products, rows of A or columns of B.
type lined struct {
	at          unsafe.Pointer
	n           int
	apart       int // bytes from one to the next
	step        int // elements from one of a vector to the next
	kContiguous bool
}

func (p *product) linedA() lined { return lineUp(&p.a, p.m, !p.a.trans) }
func (p *product) linedB() lined { return lineUp(&p.b, p.n, p.b.trans) }

// lineUp returns n vectors of v, along whose rows in memory K lies or not.
func lineUp(v *view, n int, kContiguous bool) lined {
	if kContiguous {
		return lined{v.ptr, n, v.pitch(), 1, true}
	}
	return lined{v.ptr, n, v.elem.Size(), v.stride, v.stride == 1}
}

// ahead returns what is to be brought closer for vector i of blocks from one on beside the elements from k0 on of those before: as
// many bytes as those are, and so in the end all.
func (v *lined) ahead(in *slab, block, i, k0 int) uintptr {
	size := in.a.elem.Size()
	apart, step := v.apart, v.step
	if !v.kContiguous {
		apart = in.kernel.NR * in.a.elem.Block() * size
	}
	return uintptr(v.at) + uintptr(i*apart+(block*in.a.elem.Block()*step+in.kernel.NR*k0)*size)
}

// dotPanel packs n elements, from k0 on, of so many blocks from one on to dst. It returns the bytes between the steps of a
// vector, those between vectors, and those of all.
func (p *product) dotPanel(dst unsafe.Pointer, v *lined, block, blocks, k0, n int) (step, apart, size int) {
	k, elem := p.kernel, p.a.elem
	pack := k.PackB(elem, true)
	along := v.step * elem.Size()
	from := unsafe.Add(v.at, (block*elem.Block()+k0)*along)
	row := k.NR * 4
	if !v.kContiguous {
		n = (n-1)*v.step + v.n
		pack(dst, from, elem.Block()*along, blocks, n)
		return v.step * row, row, n * row
	}
	apart = k.PanelB(p.words(n))
	for i := range v.n {
		pack(unsafe.Add(dst, i*apart), unsafe.Add(from, i*v.apart), elem.Block()*along, blocks, n)
	}
	return row, apart, v.n * apart
}

// dotSums writes the sums of n blocks of K from first on to sums, those of a block, m x n, after those of the one before.
func (in *slab) dotSums(first, n int, sums unsafe.Pointer) {
	k, elem := in.kernel, in.a.elem
	lanes, row, deep := k.Lanes(elem), k.NR*4, elem.Block()
	a, b := in.linedA(), in.linedB()
	s := scratches.Get().(*scratch)
	chains := s.at()
	panels := unsafe.Add(chains, dotMost*maxNR*4)
	size := in.m * in.n
	most := max(16, dotSteps/size&^15) * k.KPack
	for end := first + n; first < end; {
		blocks, depth := min(k.NR, end-first), deep
		if whole := in.k / deep; first+blocks > whole { // the last is shorter
			if blocks--; blocks == 0 {
				blocks, depth = 1, in.k-whole*deep
			}
		}
		clear(unsafe.Slice((*byte)(chains), size*row))
		for k0 := 0; k0 < depth; k0 += most {
			d := min(most, depth-k0)
			stepA, apartA, sizeA := in.dotPanel(panels, &a, first, blocks, k0, d)
			panelB := unsafe.Add(panels, sizeA)
			stepB, apartB, _ := in.dotPanel(panelB, &b, first, blocks, k0, d)
			for i := range in.m {
				for j := range in.n {
					lanes(in.words(d), unsafe.Add(panels, i*apartA), stepA, unsafe.Add(panelB, j*apartB), stepB, unsafe.Add(chains, (i*in.n+j)*row),
						a.ahead(in, first+blocks, i, k0), b.ahead(in, first+blocks, j, k0))
				}
			}
		}
		of := unsafe.Slice((*float32)(chains), size*k.NR)
		to := unsafe.Slice((*float32)(sums), blocks*size)
		for e := range size {
			for l, x := range of[e*k.NR:][:blocks] {
				to[l*size+e] = x
			}
		}
		in.turn.Did(flopsOf(in.m, in.n, blocks*depth))
		sums, first = unsafe.Add(sums, blocks*size*4), first+blocks
	}
	scratches.Put(s)
}

// dotGroup is how many panels of blocks are summed before their sums are added to those before.
const dotGroup = 8

// runDots computes the product.
func (in *slab) runDots() {
	s := scratches.Get().(*scratch)
	sums, size, blocks := s.at(), in.m*in.n, ceilDiv(in.k, in.a.elem.Block())
	for first := 0; first < blocks; first += dotGroup * in.kernel.NR {
		n, before := min(dotGroup*in.kernel.NR, blocks-first), min(first, 1)
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
