package asm

import "unsafe"

// A stored panel of B is what one keeps who multiplies it many times. It is a panel, unless the kernel widens the
// elements while it packs them: then it is the elements as they are, k rows of NR, rounded up to whole words of
// zeros, which takes half the memory or a quarter, and as much of the time where reading B is all that counts. A
// narrow panel is packed like any B whose rows of K lie NR elements apart.

// Narrow reports whether stored panels of type t hold elements and not words.
func (k *Kernel) Narrow(t Type) bool { return k.hopper == nil && t.Size()*k.KPack < k.Word }

// StoredB returns the bytes of a stored panel of B of type t, n elements of K deep.
func (k *Kernel) StoredB(t Type, n int) int {
	if k.Narrow(t) {
		return k.NR * roundUp(n, k.KPack) * t.Size()
	}
	return k.PanelB(k.Words(t, n))
}

// StoreB returns the packer of B into stored panels; see [Kernel.PackB].
func (k *Kernel) StoreB(t Type, kContiguous bool) PackFunc {
	if !k.Narrow(t) {
		return k.PackB(t, kContiguous)
	}
	if t.is8() {
		return storing[uint8](k, kContiguous)
	}
	return storing[uint16](k, kContiguous)
}

func storing[E uint8 | uint16](kern *Kernel, kContiguous bool) PackFunc {
	nr, size := kern.NR, int(unsafe.Sizeof(E(0)))
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		whole := roundUp(k, kern.KPack)
		for j := 0; j < r; j += nr {
			panel := unsafe.Slice((*E)(unsafe.Add(dst, j*whole*size)), whole*nr)
			clear(panel[k*nr:])
			if panel = panel[:k*nr]; kContiguous {
				storeColumns(panel, unsafe.Add(src, j*stride), stride, nr, min(nr, r-j))
			} else {
				storeRows(panel, unsafe.Add(src, j*size), stride, nr, min(nr, r-j))
			}
		}
	}
}

// RestoreB writes again, in a stored panel of B of type t, n elements of K deep, all that is not free once the
// elements are given: what the panel says of them, and the bits that no element of t has. That is what a kernel
// relies on. A panel that StoreB made stays as it was, and one from elsewhere that stays so can be multiplied like
// it, whatever its elements.
func (k *Kernel) RestoreB(t Type, panel unsafe.Pointer, n int) {
	if k.hopper == nil {
		// Nothing but elements, any of which will do, and zeros.
		if k.Narrow(t) {
			rows := k.NR * t.Size()
			clear(unsafe.Slice((*uint8)(unsafe.Add(panel, n*rows)), roundUp(n, k.KPack)*rows-n*rows))
		}
		return
	}
	depth := k.Words(t, n)
	p := k.hopper.panelAt(panel, sideB, depth)
	keep := uint64(keepBits(t)) * (1<<32 + 1)
	pairs := unsafe.Slice((*uint64)(p.values), depth*k.NR/2)
	for i := range pairs {
		pairs[i] &= keep
	}
	k.finish(p, t, sideB, depth)
}

// storeRows copies n of nr columns of a narrow panel from rows of K.
func storeRows[E uint8 | uint16](panel []E, src unsafe.Pointer, stride, nr, n int) {
	for i := 0; i < len(panel); i += nr {
		row := panel[i : i+nr]
		clear(row[copy(row, unsafe.Slice((*E)(unsafe.Add(src, i/nr*stride)), n)):])
	}
}

// storeColumns copies n of nr columns of a narrow panel from rows along K.
func storeColumns[E uint8 | uint16](panel []E, src unsafe.Pointer, stride, nr, n int) {
	if n < nr {
		clear(panel)
	}
	k := len(panel) / nr
	column := func(j int) []E { return unsafe.Slice((*E)(unsafe.Add(src, j*stride)), k) }
	j := 0
	for ; j+4 <= n; j += 4 { // four are twice as fast as one
		a, b, c, d := column(j), column(j+1), column(j+2), column(j+3)
		for i := range k {
			to := panel[i*nr+j:][:4]
			to[0], to[1], to[2], to[3] = a[i], b[i], c[i], d[i]
		}
	}
	for ; j < n; j++ {
		for i, v := range column(j) {
			panel[i*nr+j] = v
		}
	}
}
