package asm

import (
	"testing"
	"unsafe"
)

// TestTwoNaNs multiplies one NaN by another: whichever way a kernel takes, it keeps the one that Mul does. The
// processor keeps that of the operand which comes first in an instruction. Of AMX no twin in vectors knows which that
// is.
func TestTwoNaNs(t *testing.T) {
	forKernels(t, func(t *testing.T, k *Kernel) {
		if k.step == amxStep {
			t.Skip("tiles and vectors have an order each")
		}
		const words, at, nanA, nanB = 24, 5, 0x7ff9, 0xfffa // the upper bits of a float64 or float32, or bf16
		for typ := range Type(numTypes) {
			if !k.Accepts(typ) || typ == F16 { // whose payloads are elsewhere
				continue
			}
			size, depth := typ.Size(), words*k.KPack
			a, across, along := make([]byte, k.MR*depth*size), make([]byte, depth*k.NR*size),
				make([]byte, k.NR*depth*size)
			put := func(b []byte, i int, bits uint16) {
				if typ.is8() {
					b[i] = uint8(bits>>8) | 0x7f // E4M3 has no other NaN
					return
				}
				*(*uint16)(unsafe.Pointer(&b[(i+1)*size-2])) = bits
			}
			for i := range k.MR {
				put(a, i*depth+at, nanA)
			}
			for j := range k.NR {
				put(across, at*k.NR+j, nanB)
				put(along, j*depth+at, nanB)
			}
			first := func(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
			panelA, panelB, stored := aligned(k.PanelA(words)), aligned(k.PanelB(words)), aligned(k.StoredB(typ, depth))
			k.PackA(typ, true)(panelA, first(a), depth*size, k.MR, depth)
			k.PackB(typ, false)(panelB, first(across), k.NR*size, k.NR, depth)
			k.StoreB(typ, false)(stored, first(across), k.NR*size, k.NR, depth)
			want, pitch := make([]byte, k.MR*k.NR*k.Word), k.NR*k.Word
			k.Mul(words, 1, panelA, panelB, nil, 0, unsafe.Pointer(&want[0]), pitch)
			check := func(way string, m, n int, f func(dst unsafe.Pointer)) {
				t.Helper()
				got := make([]byte, len(want))
				f(unsafe.Pointer(&got[0]))
				for i := range m {
					got, want := got[i*pitch:][:n*k.Word], want[i*pitch:][:n*k.Word]
					if at := mismatch(got, want); at >= 0 {
						j := at / k.Word
						t.Fatalf("%v, %s, %d rows: element %d, %d is %#x, Mul says %#x", typ, way, m, i, j,
							got[j*k.Word:][:k.Word], want[j*k.Word:][:k.Word])
					}
				}
			}
			for m := 1; m <= k.MR; m++ {
				if f := k.Stream(typ, false); f != nil {
					check("rows of K", m, k.NR, func(dst unsafe.Pointer) {
						f(depth, m, k.NR, panelA, first(across), k.NR*size, dst, pitch, false)
					})
				}
				if f := k.Stream(typ, true); f != nil {
					check("rows along K", m, k.NR, func(dst unsafe.Pointer) {
						f(depth, m, k.NR, panelA, first(along), depth*size, dst, pitch, false)
					})
				}
				if f := k.StreamPanels(typ); f != nil {
					check("panels", m, k.NR, func(dst unsafe.Pointer) {
						f(words, m, k.NR, panelA, stored, 0, dst, pitch, false)
					})
				}
				if f := k.Edge(); f != nil {
					check("edge", m, k.NR, func(dst unsafe.Pointer) {
						f(m, k.NR, words, panelA, k.Word, k.Word*k.MR, k.PanelA(words), panelB, nil, 0, dst, pitch)
					})
				}
			}
			if f := rowsOf(k, typ); f != nil {
				check("A in rows", k.MR, k.NR, func(dst unsafe.Pointer) {
					f(words, 1, first(a), panelB, nil, 0, dst, pitch, depth*size)
				})
			}
		}
	})
}
