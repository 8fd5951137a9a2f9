package asm

import "unsafe"

// A Store is how [Kernel.Strip] stores its tiles: as they are in the caches, or as the bits say.
type Store int

const (
	// StorePast is for a dst that is larger than the caches and read by nobody soon: if the kernel can, and the lines
	// of dst are whole, it stores them past the caches, which saves reading them first. src must not be dst.
	StorePast Store = 1 << iota
	// StoreBF16 and StoreF16 round each sum once more, to nearest even, if [Kernel.Stores] has them. A C of 16 bits
	// then needs no accumulators, and no second look at them. VDPBF16PS and TDPBF16PS leave no subnormal sum, so for
	// these VCVTNE2PS2BF16, which makes zeros of such, is exact, unless src is added.
	StoreBF16
	StoreF16
)

// PastLine is what dst and ldd must be multiples of, in bytes, to be stored past the caches.
const PastLine = 64

// Strip is Mul for all places of A and all ways to store. If lda is 0, A is in panels. Otherwise it lies in rows, see
// [Kernel.InRows]: row i of tile p starts at a + (p·MR + i)·lda and is words long, which spares small products the
// packing of A.
func (k *Kernel) Strip(words, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int, to Store) {
	if to != 0 {
		if to &= k.stores; (uintptr(dst)|uintptr(ldd))%PastLine != 0 {
			to &^= StorePast
		}
	}
	switch {
	case lda != 0:
		k.rows(words, m, a, b, src, lds, dst, ldd, lda, to)
	case to != 0:
		k.strip(words, m, a, b, src, lds, dst, ldd, to)
	default:
		k.Mul(words, m, a, b, src, lds, dst, ldd)
	}
}

// InRows reports whether Strip reads an A of type t in rows, along which K runs: the elements of A must be what the
// kernel multiplies, words or pairs.
func (k *Kernel) InRows(t Type) bool { return k.rows != nil && t == k.wordType() }

// RowsAlign returns what a and lda of rows should be multiples of, in bytes, to be read at full speed. AMX reads rows
// of 64 bytes for a tile, at half the speed if they are not whole lines of the cache.
func (k *Kernel) RowsAlign() uintptr {
	if k.step == amxStep {
		return 64
	}
	return 1
}

// Stores returns how Strip stores sums as elements of t: 0, as they are, also if it cannot.
func (k *Kernel) Stores(t Type) Store {
	switch t {
	case BF16:
		return k.stores & StoreBF16
	case F16:
		return k.stores & StoreF16
	}
	return 0
}

// A rowsFunc is Strip for A in rows and sums as they are.
type rowsFunc func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int)

// rowsGeneric is the twin of the kernels of kern that read A in rows; mul is the kernel's Mul or Ref.
func rowsGeneric(kern *Kernel, mul KernelFunc, t Type) rowsFunc {
	return func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
		panels := make([]uint64, m*kern.PanelA(k)/8+1)
		to := unsafe.Pointer(unsafe.SliceData(panels))
		kern.PackA(t, true)(to, a, lda, m*kern.MR, k*kern.KPack)
		mul(k, m, to, b, src, lds, dst, ldd)
	}
}

// rounders are the strip kernels whose dst is of one type of 16 bits.
type rounders struct {
	mul  KernelFunc
	rows rowsFunc
}

// roundGeneric is the twin of the kernels of kern that round to t; mul and rows are those that do not.
func roundGeneric(kern *Kernel, mul KernelFunc, rows rowsFunc, t Type) rounders {
	round := func(m, lds int, dst unsafe.Pointer, ldd int, multiply func(sums unsafe.Pointer, pitch int)) {
		sums, pitch := make([]float32, m*kern.MR*kern.NR), kern.NR*4
		at := unsafe.Pointer(unsafe.SliceData(sums))
		multiply(at, pitch)
		for i, x := range sums {
			if kern.KPack == 2 && !endsBlock(lds) {
				sums[i] = flushInput(x)
			}
		}
		roundRowsGeneric(t, dst, ldd, at, pitch, m*kern.MR, kern.NR)
	}
	return rounders{
		mul: func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
			round(m, lds, dst, ldd, func(sums unsafe.Pointer, pitch int) { mul(k, m, a, b, src, lds, sums, pitch) })
		},
		rows: func(k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int) {
			round(m, lds, dst, ldd, func(sums unsafe.Pointer, pitch int) {
				rows(k, m, a, b, src, lds, sums, pitch, lda)
			})
		},
	}
}
