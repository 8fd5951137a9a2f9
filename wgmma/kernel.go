package wgmma

import (
	"sync"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// operandTypes are the kernels' names for the formats of operands.
var operandTypes = [...]asm.Type{
	hopper.BF16: asm.BF16, hopper.F16: asm.F16, hopper.TF32: asm.F32, hopper.E4M3: asm.E4M3, hopper.E5M2: asm.E5M2,
}

// kernelTypes returns what a kernel takes the operands of a kind for. 8-bit
// integers become bf16 numbers, which hold them exactly.
func (k Kind) kernelTypes() (a, b asm.Type) {
	if k.Integer() {
		return asm.BF16, asm.BF16
	}
	return operandTypes[kinds[k].spec.A], operandTypes[kinds[k].spec.B]
}

// kernels are the assembly for each kind, nil where there is none: plain Go does
// those. Integers of 8 bits have a native kernel, because float32
// sums of the products of maxChain instructions are exact, in whatever order.
var kernels = func() (ks [len(kinds)]*asm.Kernel) {
	for kind := range Kind(len(kinds)) {
		arith := asm.Hopper
		if kind.Integer() {
			arith = asm.Native
		}
		typ, _ := kind.kernelTypes()
		k, err := asm.SelectArithmetic(typ, arith, "")
		if err == nil && k.ISA != "Go" && kind != B1S32 {
			ks[kind] = k
		}
	}
	return ks
}()

// pitch returns the distance of rows of accumulators of n columns: a kernel of
// Hopper's arithmetic multiplies whole tiles of them where they are.
func (t AccumulatorType) pitch(n int) int {
	if k := kernels[BF16F32]; t != S32 && k != nil {
		return (n + k.NR - 1) / k.NR * k.NR
	}
	return n
}

// kernelMemory is what a multiplication by a kernel works in: operands as they lie
// in shared memory, integers as bf16, the panels of A and B, tiles of sums of
// integers, and what accumulators in f16 were before.
type kernelMemory struct{ dense, wide, a, b, sums, before []byte }

// kernelMemories are of no warpgroup, because a grid has many that multiply little.
var kernelMemories = sync.Pool{New: func() any { return new(kernelMemory) }}

func sized(mem *[]byte, n int) []byte {
	if cap(*mem) < n {
		*mem = tile.HeapSlots(n)
	}
	return (*mem)[:n]
}

// A packed is the operands of a chain as panels.
type packed struct {
	words  int // of K
	a, b   unsafe.Pointer
	panelB int // bytes
}

// pack makes the panels of a chain for k.
func (w *Warpgroup) pack(k *asm.Kernel, chain []*instruction) packed {
	op, kind := chain[0].op, &kinds[chain[0].op.Kind]
	depth := len(chain) * op.Kind.K()
	typeA, typeB := op.Kind.kernelTypes()
	words := k.Words(typeA, depth)
	a := sized(&w.kernel.a, (M+k.MR-1)/k.MR*k.PanelA(words))
	b := sized(&w.kernel.b, (op.N+k.NR-1)/k.NR*k.PanelB(words))
	p := packed{words, unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), k.PanelB(words)}

	o := w.gather(chain, operandA)
	if op.Kind.Integer() {
		o = w.widen(o, kind.ints.SignedA)
	}
	k.PackA(typeA, o.major == KMajorLayout)(p.a, unsafe.Pointer(&o.bytes[0]), o.pitch, M, depth)
	o = w.gather(chain, operandB)
	if op.Kind.Integer() {
		o = w.widen(o, kind.ints.SignedB)
	}
	k.PackB(typeB, o.major == KMajorLayout)(p.b, unsafe.Pointer(&o.bytes[0]), o.pitch, op.N, depth)
	return p
}

// multiplyFloats executes a chain with a kernel of Hopper's arithmetic.
func (w *Warpgroup) multiplyFloats(k *asm.Kernel, chain []*instruction) {
	op, d := chain[0].op, chain[0].d
	p := w.pack(k, chain)
	mul, from := k.Mul, unsafe.Pointer(&d.elem[0])
	if d.typ == F16 {
		// A kernel may have to begin anew.
		before := sized(&w.kernel.before, 4*len(d.elem))
		from = unsafe.Pointer(&before[0])
		copy(unsafe.Slice((*uint32)(from), len(d.elem)), d.elem)
		mul = k.MulF16
	}
	for j := 0; j < op.N; j += k.NR {
		src := unsafe.Add(from, 4*j)
		if op.Overwrite {
			src = nil
		}
		b, dst := unsafe.Add(p.b, j/k.NR*p.panelB), unsafe.Pointer(&d.elem[j])
		mul(p.words, M/k.MR, p.a, b, src, 4*d.pitch, dst, 4*d.pitch)
	}
}
