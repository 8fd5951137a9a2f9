package wgmma

import (
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

// A scratch is what a multiplication by a kernel works in: operands as they lie
// in shared memory, integers with their zeros, and as bf16, the panels of A and B,
// what a row of a sparse A meets of one, tiles of sums, and what accumulators in f16
// were before.
type scratch struct{ dense, zeros, wide, a, b, met, sums, before []byte }

func sized(mem *[]byte, n int) []byte {
	if cap(*mem) < n {
		*mem = tile.HeapSlots(n)
	}
	return (*mem)[:n]
}

// A packed is the operands of a chain as panels.
type packed struct {
	words          int // of K of A
	a, b           unsafe.Pointer
	panelA, panelB int // bytes
}

// pack makes the panels of a chain for k.
func (w *Warpgroup) pack(k *asm.Kernel, chain []*instruction) packed {
	op, kind := chain[0].op, &kinds[chain[0].op.Kind]
	typeA, typeB := op.Kind.kernelTypes()
	depthB := len(chain) * op.Shape().K
	depthA := depthB
	if op.Sparse && !op.Kind.Integer() {
		depthA /= 2
	}
	p := packed{words: k.Words(typeA, depthA)}
	p.panelA, p.panelB = k.PanelA(p.words), k.PanelB(k.Words(typeB, depthB))
	p.a = unsafe.Pointer(&sized(&w.scratch.a, (M+k.MR-1)/k.MR*p.panelA)[0])
	p.b = unsafe.Pointer(&sized(&w.scratch.b, (op.N+k.NR-1)/k.NR*p.panelB)[0])

	o := w.gather(chain, operandA)
	if op.Kind.Integer() {
		if op.Sparse {
			o = w.spread(o, chain)
		}
		o = w.widen(o, kind.ints.SignedA)
	}
	k.PackA(typeA, o.major == KMajorLayout)(p.a, unsafe.Pointer(&o.bytes[0]), o.pitch, M, depthA)
	o = w.gather(chain, operandB)
	if op.Kind.Integer() {
		o = w.widen(o, kind.ints.SignedB)
	}
	k.PackB(typeB, o.major == KMajorLayout)(p.b, unsafe.Pointer(&o.bytes[0]), o.pitch, op.N, depthB)
	return p
}

// multiplyFloats executes a chain with a kernel of Hopper's arithmetic.
func (w *Warpgroup) multiplyFloats(k *asm.Kernel, chain []*instruction) {
	op, d := chain[0].op, chain[0].d
	if op.Sparse {
		for i := range chain {
			w.multiplySparse(k, chain[i:i+1])
		}
		return
	}
	p := w.pack(k, chain)
	mul, from := k.Mul, unsafe.Pointer(&d.elem[0])
	if d.typ == F16 {
		// A kernel may have to begin anew.
		before := sized(&w.scratch.before, 4*len(d.elem))
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

// multiplySparse executes an instruction, a chain of one, with a sparse A with a kernel
// of Hopper's arithmetic. Each row meets another B, and is one of a tile whose others
// count for nothing.
func (w *Warpgroup) multiplySparse(k *asm.Kernel, one []*instruction) {
	in := one[0]
	op, d := in.op, in.d
	p := w.pack(k, one)
	met := unsafe.Pointer(&sized(&w.scratch.met, k.PanelB(p.words))[0])
	sums := unsafe.Slice((*uint32)(unsafe.Pointer(&sized(&w.scratch.sums, 4*k.MR*k.NR)[0])), k.MR*k.NR)
	mul := k.Mul
	if d.typ == F16 {
		mul = k.MulF16
	}
	for j := 0; j < op.N; j += k.NR {
		b := unsafe.Add(p.b, j/k.NR*p.panelB)
		for i := range M {
			first := i / k.MR * k.MR
			src := unsafe.Pointer(&d.elem[first*d.pitch+j])
			if op.Overwrite {
				src = nil
			}
			k.SelectB(met, b, 2*p.words, in.selected[i][:p.words])
			mul(p.words, 1, unsafe.Add(p.a, first/k.MR*p.panelA), met, src, 4*d.pitch, unsafe.Pointer(&sums[0]), 4*k.NR)
			copy(d.elem[i*d.pitch+j:][:k.NR], sums[(i-first)*k.NR:])
		}
	}
}
