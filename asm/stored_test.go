package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestStoreB packs stored panels, to which the packer of panels must do what it does to the source, with both at the end of their
// memory.
func TestStoreB(t *testing.T) {
	forKernels(t, func(t *testing.T, kern *Kernel) {
		for typ := range Type(numTypes) {
			if !kern.Accepts(typ) {
				continue
			}
			t.Run(fmt.Sprint(typ), func(t *testing.T) {
				const maxN, maxK = 80, 40
				src := newGuarded(t, (maxN+5)*(maxK+5)*4)
				dst := newGuarded(t, kern.StoredB(typ, maxK)*((maxN+kern.NR-1)/kern.NR))
				r := rand.New(rand.NewPCG(3, uint64(typ)))
				for range 200 {
					n, k, kContiguous := 1+r.IntN(maxN), 1+r.IntN(maxK), r.IntN(2) == 0
					lines, length := k, n
					if kContiguous {
						lines, length = n, k
					}
					stride := (length + r.IntN(5)) * typ.Size()
					from := src.last((lines-1)*stride + length*typ.Size())
					for i := range unsafe.Slice((*byte)(from), (lines-1)*stride+length*typ.Size()) {
						*(*byte)(unsafe.Add(from, i)) = byte(r.Uint32())
					}
					panels := (n + kern.NR - 1) / kern.NR
					size := kern.StoredB(typ, k)
					to := dst.last(panels * size)
					for i := range dst.mem {
						dst.mem[i] = 0xaa
					}
					kern.StoreB(typ, kContiguous)(to, from, stride, n, k)
					want := panelsOf(kern, typ, kContiguous, from, stride, n, k)
					got := slices.Clone(unsafe.Slice((*byte)(to), panels*size))
					if kern.Narrow(typ) {
						if size*2 != kern.PanelB(k) {
							t.Fatalf("%d bytes, half of %d", size, kern.PanelB(k))
						}
						got = nil
						for j := range panels {
							got = append(got, panelsOf(kern, typ, false, unsafe.Add(to, j*size), kern.NR*typ.Size(), kern.NR, k)...)
						}
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%d columns of %d elements, kContiguous %v, stride %d: not the panels of PackB", n, k, kContiguous, stride)
					}
				}
			})
		}
	})
}

// panelsOf returns what PackB makes of a source.
func panelsOf(kern *Kernel, t Type, kContiguous bool, src unsafe.Pointer, stride, n, k int) []byte {
	panels := make([]byte, kern.PanelB(kern.Words(t, k))*((n+kern.NR-1)/kern.NR))
	kern.PackB(t, kContiguous)(unsafe.Pointer(unsafe.SliceData(panels)), src, stride, n, k)
	return panels
}
