package wgmma

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// operandTypes are the kernels' names for the formats of operands.
var operandTypes = map[hopper.Format]asm.Type{
	hopper.BF16: asm.BF16, hopper.F16: asm.F16, hopper.TF32: asm.F32, hopper.E4M3: asm.E4M3, hopper.E5M2: asm.E5M2,
}

// chooseKernel returns the assembly that does the sums of a kind, or nil: for
// integers, for f16 accumulators, and where there is none, plain Go does.
func chooseKernel(k Kind) *asm.Kernel {
	spec := &kinds[k].spec
	if k.Integer() || spec.Acc != hopper.F32 {
		return nil
	}
	kernel, err := asm.SelectArithmetic(operandTypes[spec.A], asm.Hopper, "")
	if err != nil || kernel.ISA == "Go" {
		return nil
	}
	return kernel
}

// kernelMemory is what a multiplication by a kernel works in: the operands as
// panels, and D as tiles.
type kernelMemory struct{ a, b, d []byte }

func sized(mem []byte, n int) []byte {
	if cap(mem) < n {
		return tile.HeapSlots(n)
	}
	return mem[:n]
}

// multiplyKernel is multiply with kernel k.
func (w *Warpgroup) multiplyKernel(k *asm.Kernel, op Op, d []uint32) {
	spec := &kinds[op.Kind].spec
	a, b := w.a[:], w.b
	typeA, typeB := operandTypes[spec.A], operandTypes[spec.B]
	if op.NegateA {
		negate(a, typeA.Size())
	}
	if op.NegateB {
		negate(b, typeB.Size())
	}
	panels := (op.N + k.NR - 1) / k.NR
	m, pitch := &w.kernel, k.NR*4
	m.a = sized(m.a, (M+k.MR-1)/k.MR*k.PanelA(spec.L))
	m.b = sized(m.b, panels*k.PanelB(spec.L))
	m.d = sized(m.d, (M+k.MR-1)/k.MR*k.MR*pitch)
	pa, pb, tiles := unsafe.Pointer(&m.a[0]), unsafe.Pointer(&m.b[0]), unsafe.Pointer(&m.d[0])
	k.PackA(typeA, true)(pa, unsafe.Pointer(&a[0]), len(a[0]), M, spec.L)
	k.PackB(typeB, true)(pb, unsafe.Pointer(&b[0]), len(b[0]), op.N, spec.L)
	for j := 0; j < op.N; j += k.NR {
		n := min(k.NR, op.N-j)
		clear(m.d)
		rows := unsafe.Slice((*uint32)(tiles), M*k.NR)
		for i := range M {
			copy(rows[i*k.NR:][:n], d[i*op.N+j:])
		}
		k.Mul(spec.L, (M+k.MR-1)/k.MR, pa, unsafe.Add(pb, j/k.NR*k.PanelB(spec.L)), tiles, pitch, tiles, pitch)
		for i := range M {
			copy(d[i*op.N+j:][:n], rows[i*k.NR:])
		}
	}
}

// negate flips the signs of the elements, size bytes each.
func negate(rows []hopper.Row, size int) {
	for i := range rows {
		for j := size - 1; j < len(rows[i]); j += size {
			rows[i][j] ^= 0x80
		}
	}
}
