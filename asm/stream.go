package asm

import "unsafe"

// A StreamFunc multiplies m rows of A, 1 to [Kernel.StreamRows], by n columns of B that it reads where they lie, once:
//
//	for i < m and j < n    sum = row i of A · column j of B, k elements long
//	                       dst(i, j) = add ? dst(i, j) + sum : sum
//
// where sums of blocks of K, see [Type.Block], are added in order to those before. It is for products with so few
// rows of A that to pack B would take longer than to multiply it; the bits are those of [Kernel.Mul] on packed
// panels, wherever the columns are cut, and K between blocks.
//
// a is panels of A of ceil(k/KPack) words, rounded up to a multiple of KStep, as [Kernel.PackA] makes them; rows
// beyond m are not used. b is element (0, 0) of B, and stride the bytes between the rows in which B lies in memory:
// rows of K, n elements long, or with kContiguous columns of B, k elements long. Nothing outside these k × n elements
// is read. The rows of dst are ldd bytes apart, and nothing else of it is written. k, m and n are at least 1.
//
// A call may be as large as one likes: it is made of short calls of assembly. It reads fastest what is long in
// memory: the rows that it reads should be 1 KB or more where they are rows of K, and 4 KB or more where they are
// columns of B.
type StreamFunc func(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool)

// canStream reports whether this process may call the functions that kernels have for few rows by a B of type t.
func canStream(t Type) bool { return !t.is8() || hasVBMI }

// Stream returns the kernel's StreamFunc for B of type t, or nil if it has none, or if it takes AVX512-VBMI, which is
// not here. With kContiguous the rows of B's memory are its columns; see [Kernel.PackB] and [Kernel.StreamRows].
func (k *Kernel) Stream(t Type, kContiguous bool) StreamFunc {
	if !k.Accepts(t) || !canStream(t) {
		return nil
	}
	return k.stream[t].by[packSlot(kContiguous)]
}

// StreamRows returns the most rows of A that Stream multiplies, whether it runs here or not, or 0 if the kernel has no
// StreamFunc for B of type t: those of a panel, along K of two of some types, and 8 for AMX, whose StreamFunc takes no
// tiles.
func (k *Kernel) StreamRows(t Type, kContiguous bool) int {
	if !k.Accepts(t) {
		return 0
	}
	return k.stream[t].rows[packSlot(kContiguous)]
}

// A PanelsFunc multiplies m rows of A, 1 to MR, as a [StreamFunc] does, by n columns of B in stored panels, see
// [Kernel.StoreB], which lie pitch bytes apart. k is their depth in words, and that of the panel of A, of one block
// of K.
type PanelsFunc func(k, m, n int, a, b unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int, add bool)

// StreamPanels returns the kernel's PanelsFunc for operands of type t, or nil as [Kernel.Stream] does.
func (k *Kernel) StreamPanels(t Type) PanelsFunc {
	if !k.Accepts(t) || !canStream(t) {
		return nil
	}
	return k.stream[t].panels
}

// StreamWidth returns how many columns the PanelsFunc for operands of type t reads at a time for m rows of A, up to
// MR: a multiple of NR. What is left of a call's columns it reads a panel at a time, which takes longer.
func (k *Kernel) StreamWidth(t Type, m int) int {
	if k.stream[t].width == nil {
		return k.NR
	}
	return k.stream[t].width(m)
}

// panelsGeneric is the twin of the PanelsFunc of kern for operands of type t, whose Mul or Ref is mul.
func panelsGeneric(kern *Kernel, mul KernelFunc, t Type) PanelsFunc {
	return func(k, m, n int, a, b unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int, add bool) {
		for j := 0; j < n; j += kern.NR {
			panel := unsafe.Add(b, j/kern.NR*pitch)
			if kern.Narrow(t) {
				wide := unsafe.Pointer(unsafe.SliceData(make([]float32, k*kern.NR)))
				packGeneric(t, kern.KPack, kern.NR, false, wide, panel, kern.NR*t.Size(), kern.NR, k*kern.KPack)
				panel = wide
			}
			tilesGeneric(kern, mul, k, m, min(kern.NR, n-j), a, panel, unsafe.Add(dst, j*kern.Word), ldd, add)
		}
	}
}

// streamGeneric is the twin of the stream kernels of kern: it packs B panel by panel and multiplies with mul, which
// is the kernel's Mul or Ref.
func streamGeneric(kern *Kernel, mul KernelFunc, t Type, kContiguous bool) StreamFunc {
	return func(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool) {
		panel := make([]byte, kern.PanelB(kern.Words(t, min(k, t.Block()))))
		across, along := t.Size(), stride // bytes between columns and between elements of K
		if kContiguous {
			across, along = along, across
		}
		for k0 := 0; k0 < k; k0 += t.Block() {
			n0 := min(t.Block(), k-k0)
			deep := kern.Words(t, n0)
			for j := 0; j < n; j += kern.NR {
				here := min(kern.NR, n-j)
				packGeneric(t, kern.KPack, kern.NR, kContiguous,
					unsafe.Pointer(unsafe.SliceData(panel)), unsafe.Add(b, j*across+k0*along), stride, here, n0)
				clear(panel[kern.PanelB((n0+kern.KPack-1)/kern.KPack):kern.PanelB(deep)])
				for i := 0; i < m; i += kern.MR {
					at := unsafe.Add(a, i/kern.MR*kern.PanelA(kern.Words(t, k))+kern.PanelA(k0/kern.KPack))
					tilesGeneric(kern, mul, deep, min(m-i, kern.MR), here, at,
						unsafe.Pointer(unsafe.SliceData(panel)), unsafe.Add(dst, i*ldd+j*kern.Word), ldd, add)
				}
			}
			add = true
		}
	}
}

// tilesGeneric multiplies m rows of a panel of A by the first n columns of one of B, k words deep, and stores the
// sums, or adds them.
func tilesGeneric(kern *Kernel, mul KernelFunc, k, m, n int, a, b, dst unsafe.Pointer, ldd int, add bool) {
	row := kern.NR * kern.Word
	acc := unsafe.Pointer(unsafe.SliceData(make([]float64, (kern.MR*row+7)/8)))
	mul(k, 1, a, b, nil, 0, acc, row)
	switch {
	case !add:
		copyRowsGeneric(dst, ldd, acc, row, m, n*kern.Word)
	case kern.Sum == F64:
		combineGeneric[float64](dst, ldd, acc, row, m, n, 1, 1)
	default:
		combineGeneric[float32](dst, ldd, acc, row, m, n, 1, 1)
	}
}
