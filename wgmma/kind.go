package wgmma

import (
	"fmt"

	"example.com/leafhopper/internal/hopper"
)

// A Kind is the types of an instruction: those of A and B, then the one of the
// accumulators C and D. A single input type stands for both.
type Kind uint8

// The kinds of wgmma.mma_async on compute capability 9.0, and of wgmma.mma_async.sp
// except for B1S32, whose product of bits is their and, and which counts those that are 1.
const (
	BF16F32 Kind = iota
	F16F32
	F16F16
	TF32F32
	E4M3F32
	E4M3E5M2F32
	E5M2E4M3F32
	E5M2F32
	E4M3F16
	E4M3E5M2F16
	E5M2E4M3F16
	E5M2F16
	S8S32
	S8U8S32
	U8S8S32
	U8S32
	B1S32
)

// RowBytes is what a row of A takes in one instruction of every kind: 32, as does a
// column of B unless A is sparse.
const RowBytes = len(hopper.Row{})

// M is the number of rows of A and of the accumulator in every kind.
const M = 64

// maxN is the largest number of columns of B and of the accumulator in every kind.
const maxN = 256

var kinds = [...]struct {
	name string
	spec hopper.Spec
	ints hopper.IntSpec
}{
	BF16F32:     {name: "f32.bf16.bf16", spec: hopper.SpecOf(hopper.BF16, hopper.BF16, hopper.F32)},
	F16F32:      {name: "f32.f16.f16", spec: hopper.SpecOf(hopper.F16, hopper.F16, hopper.F32)},
	F16F16:      {name: "f16.f16.f16", spec: hopper.SpecOf(hopper.F16, hopper.F16, hopper.F16)},
	TF32F32:     {name: "f32.tf32.tf32", spec: hopper.SpecOf(hopper.TF32, hopper.TF32, hopper.F32)},
	E4M3F32:     {name: "f32.e4m3.e4m3", spec: hopper.SpecOf(hopper.E4M3, hopper.E4M3, hopper.F32)},
	E4M3E5M2F32: {name: "f32.e4m3.e5m2", spec: hopper.SpecOf(hopper.E4M3, hopper.E5M2, hopper.F32)},
	E5M2E4M3F32: {name: "f32.e5m2.e4m3", spec: hopper.SpecOf(hopper.E5M2, hopper.E4M3, hopper.F32)},
	E5M2F32:     {name: "f32.e5m2.e5m2", spec: hopper.SpecOf(hopper.E5M2, hopper.E5M2, hopper.F32)},
	E4M3F16:     {name: "f16.e4m3.e4m3", spec: hopper.SpecOf(hopper.E4M3, hopper.E4M3, hopper.F16)},
	E4M3E5M2F16: {name: "f16.e4m3.e5m2", spec: hopper.SpecOf(hopper.E4M3, hopper.E5M2, hopper.F16)},
	E5M2E4M3F16: {name: "f16.e5m2.e4m3", spec: hopper.SpecOf(hopper.E5M2, hopper.E4M3, hopper.F16)},
	E5M2F16:     {name: "f16.e5m2.e5m2", spec: hopper.SpecOf(hopper.E5M2, hopper.E5M2, hopper.F16)},
	S8S32:       {name: "s32.s8.s8", ints: hopper.IntSpec{SignedA: true, SignedB: true}},
	S8U8S32:     {name: "s32.s8.u8", ints: hopper.IntSpec{SignedA: true}},
	U8S8S32:     {name: "s32.u8.s8", ints: hopper.IntSpec{SignedB: true}},
	U8S32:       {name: "s32.u8.u8"},
	B1S32:       {name: "s32.b1.b1.and.popc", ints: hopper.IntSpec{Bits: hopper.And}},
}

// Valid reports whether k is one of the constants.
func (k Kind) Valid() bool { return int(k) < len(kinds) }

// Integer reports whether k multiplies integers, of 8 bits or of one.
func (k Kind) Integer() bool { return k >= S8S32 && k.Valid() }

// check panics if k is not valid.
func (k Kind) check() {
	if !k.Valid() {
		panic(fmt.Sprintf("wgmma: %v is not a kind of wgmma.mma_async", k))
	}
}

// ElementSize returns the bytes of an element of A and of B, 1, 2 or 4; of B1S32 the
// one of eight elements, which nothing else tells apart. It panics if k is not valid.
func (k Kind) ElementSize() int {
	k.check()
	if k.Integer() {
		return 1
	}
	return kinds[k].spec.A.Size()
}

// K returns how many products one instruction adds to each accumulator, 32
// bytes of them: 32, 16 or 8, or 256 bits. That is its K, or half of it if A is sparse. It
// panics if k is not valid.
func (k Kind) K() int {
	if k == B1S32 {
		return 8 * RowBytes
	}
	return RowBytes / k.ElementSize()
}

// AccumulatorType returns the type of C and D. It panics if k is not valid.
func (k Kind) AccumulatorType() AccumulatorType {
	k.check()
	switch {
	case k.Integer():
		return S32
	case kinds[k].spec.Acc == hopper.F16:
		return F16
	}
	return F32
}

// String returns the types as the instruction has them, D first, such as
// "f32.bf16.bf16".
func (k Kind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// A Shape is the size of one instruction.
type Shape struct{ M, N, K int }

// String returns the shape as PTX writes it, such as "m64n128k16".
func (s Shape) String() string { return fmt.Sprintf("m%dn%dk%d", s.M, s.N, s.K) }

// An Op is the instruction without its operands. Its zero value but for N is
// m64nNk16.f32.bf16.bf16, accumulating, with both operands K-major.
type Op struct {
	Kind Kind
	// N is the number of columns of B and D: a multiple of 8 from 8 to 256; for
	// integers 8, 16, 24, or a multiple of 16 from 32 to 256.
	N int

	// Overwrite is scale-d = 0: D = A·B. The old accumulators, NaNs among them,
	// do not count.
	Overwrite bool
	// NegateA and NegateB are imm-scale-a and imm-scale-b = -1: the operand
	// times -1, exactly. Floating point only.
	NegateA, NegateB bool
	// TransposeA and TransposeB are imm-trans-a and imm-trans-b = 1: the operand
	// is MN-major in shared memory. For 16-bit types only, and not for a
	// Fragment.
	TransposeA, TransposeB bool
	// Saturate is .satfinite: the sum is clamped to s32 and does not wrap. For
	// 8-bit integers only.
	Saturate bool
	// Sparse is .sp: of A only half the elements are stored, and K is twice as
	// long. MMASparse sets it.
	Sparse bool
}

// Shape returns the shape of op. It panics if the kind is not valid.
func (op Op) Shape() Shape { return Shape{M, op.N, op.Kind.K() * op.ColumnBytes() / RowBytes} }

// ColumnBytes returns what a column of B takes in one instruction: 32 bytes, or 64 if A is sparse.
func (op Op) ColumnBytes() int {
	if op.Sparse {
		return 2 * RowBytes
	}
	return RowBytes
}

// String returns the instruction as PTX writes it, without
// wgmma.mma_async.sync.aligned or wgmma.mma_async.sp.sync.aligned.
func (op Op) String() string {
	if !op.Kind.Valid() {
		return fmt.Sprintf("m%dn%d.%v", M, op.N, op.Kind)
	}
	s := op.Shape().String() + "." + op.Kind.String()
	if op.Saturate {
		s += ".satfinite"
	}
	return s
}

// Validate reports which rule of PTX 9.7.15 op breaks.
func (op Op) Validate() error {
	k := op.Kind
	if !k.Valid() {
		return fmt.Errorf("wgmma: %v is not a kind of wgmma.mma_async", k)
	}
	if err := checkN(k.Integer(), op.N, k); err != nil {
		return err
	}
	switch {
	case op.Sparse && k == B1S32:
		return fmt.Errorf("wgmma: %v: wgmma.mma_async.sp has no 1-bit types", op)
	case (op.TransposeA || op.TransposeB) && k.ElementSize() != 2:
		return fmt.Errorf("wgmma: %v: imm-trans-a/b exist only for 16-bit types, the elements of %v have %d bits",
			op, k, 8*RowBytes/k.K())
	case (op.NegateA || op.NegateB) && k.Integer():
		return fmt.Errorf("wgmma: %v: imm-scale-a/b exist only for floating-point types, %v is integer", op, k)
	case op.Saturate && !k.Integer():
		return fmt.Errorf("wgmma: %v: .satfinite exists only for integer types, %v is floating-point", op, k)
	case op.Saturate && k == B1S32:
		return fmt.Errorf("wgmma: %v: .satfinite exists only for 8-bit types, %v has 1 bit", op, k)
	}
	return nil
}

// checkN applies the rule for N of the floating-point or the integer kinds.
func checkN(integer bool, n int, what fmt.Stringer) error {
	if n < 8 || n > maxN || n%8 != 0 {
		return fmt.Errorf("wgmma: %v: N = %d, must be a multiple of 8 from 8 to 256", what, n)
	}
	if integer && n > 24 && n%16 != 0 {
		return fmt.Errorf("wgmma: %v: N = %d, must be 8, 16, 24, or a multiple of 16 from 32 to 256 for integer types",
			what, n)
	}
	return nil
}
