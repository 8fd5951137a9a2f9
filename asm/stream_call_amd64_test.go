//go:build amd64 && !purego

package asm

import (
	"testing"
	"unsafe"
)

// TestStreamAddresses checks that the kernels for rows along K leave no address in a streamCall but those of
// operands: the garbage collector looks at them while a call is under way, and the end of one operand may be the
// start of memory that is free.
func TestStreamAddresses(t *testing.T) {
	for _, of := range []struct {
		kernel string
		typ    Type
		s      *streamKernel
	}{
		{"avx512bf16", BF16, &streamPairs}, {"avx512", F32, &streamWords}, {"avx512", BF16, &streamBF16},
		{"avx512", F16, &streamF16},
		{"avx2", F32, &stream256Words}, {"avx2", BF16, &stream256BF16}, {"avx2", F16, &stream256F16},
		{"goamx", BF16, &streamTiles},
		{"avx512f64", F64, &streamDoubles}, {"avx2f64", F64, &stream256Doubles},
	} {
		kern, err := Select(of.typ, of.kernel)
		if err != nil || kern.Stream(of.typ, true) == nil {
			t.Logf("%s does not run here", of.kernel)
			continue
		}
		for _, far := range []bool{false, true}[:fars(kern, of.typ, true)] {
			defer setFar(far)()
			testStreamAddresses(t, kern, of.typ, of.s)
		}
	}
}

func testStreamAddresses(t *testing.T, kern *Kernel, typ Type, s *streamKernel) {
	const blocks, most = 3, 100
	k := blocks * s.block / s.size
	for _, m := range []int{1, 2, 4, 16} {
		if m > kern.StreamRows(typ, true) {
			continue
		}
		if s.isVector(m, false) {
			continue
		}
		for _, n := range []int{1, 40, most} {
			a, b := make([]byte, 2*kern.PanelA(k/kern.KPack)), make([]byte, most*k*s.size)
			dst := make([]byte, m*most*kern.Word)
			at := func(s []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
			c := new(streamCall)
			c.apart = kern.PanelA(k / kern.KPack)
			s.blocks(c, blocks, m, n, at(a), at(b), k*s.size, at(dst), most*kern.Word, false)
			within := func(what string, p unsafe.Pointer, operands ...[]byte) {
				for _, s := range operands {
					if at := uintptr(p) - uintptr(at(s)); at < uintptr(len(s)) {
						return
					}
				}
				if p != nil {
					t.Errorf("%s, %v, %d rows, %d columns: %s is no address in an operand", kern.Name, typ, m, n, what)
				}
			}
			tile := unsafe.Slice((*byte)(unsafe.Pointer(&c.tile)), unsafe.Sizeof(c.tile))
			for _, slot := range c.slots {
				within("a", slot.a, a)
				for i := range slot.dst {
					within("src", slot.src[i], dst, tile)
					within("dst", slot.dst[i], dst, tile)
				}
				for _, row := range slot.rows {
					within("a row", row, b)
				}
			}
			within("b", c.b, b)
		}
	}
}
