package mma

import (
	"fmt"
	"slices"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/hopper"
)

// A Type is the type of the elements of an operand. Its zero value is none.
type Type uint8

// The types. A TF32 is an f32 word whose low 13 bits do not count, a B1 is a bit.
const (
	BF16 Type = 1 + iota
	F16
	TF32
	E4M3
	E5M2
	S8
	U8
	B1
	F64
	F32 // of C and D alone
	S32 // likewise
)

var types = [...]struct {
	name   string
	width  int           // in bits
	format hopper.Format // of what is multiplied as it is, and of its sums
	kernel asm.Type
}{
	BF16: {"bf16", 16, hopper.BF16, asm.BF16},
	F16:  {"f16", 16, hopper.F16, asm.F16},
	TF32: {"tf32", 32, hopper.TF32, asm.F32},
	E4M3: {name: "e4m3", width: 8},
	E5M2: {name: "e5m2", width: 8},
	S8:   {name: "s8", width: 8},
	U8:   {name: "u8", width: 8},
	B1:   {name: "b1", width: 1},
	F64:  {name: "f64", width: 64},
	F32:  {name: "f32", width: 32, format: hopper.F32},
	S32:  {name: "s32", width: 32},
}

// String returns the type as PTX writes it.
func (t Type) String() string {
	if t == 0 || int(t) >= len(types) {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return types[t].name
}

// A Shape is the sizes of A, M by K, B, K by N, and D, M by N.
type Shape uint8

// The shapes.
const (
	M16N8K16 Shape = iota
	M16N8K4
	M16N8K8
	M16N8K32
	M16N8K64
	M8N8K4
	M8N8K16
	M8N8K128
	M16N8K128
	M16N8K256
)

var shapes = [...]struct {
	name string
	m, k int
}{
	M16N8K16:  {"m16n8k16", 16, 16},
	M16N8K4:   {"m16n8k4", 16, 4},
	M16N8K8:   {"m16n8k8", 16, 8},
	M16N8K32:  {"m16n8k32", 16, 32},
	M16N8K64:  {"m16n8k64", 16, 64},
	M8N8K4:    {"m8n8k4", 8, 4},
	M8N8K16:   {"m8n8k16", 8, 16},
	M8N8K128:  {"m8n8k128", 8, 128},
	M16N8K128: {"m16n8k128", 16, 128},
	M16N8K256: {"m16n8k256", 16, 256},
}

// N is the number of columns of B and D in every shape.
const N = 8

// M returns the number of rows of A and D, 16 or 8. Like K it panics if s is none of the constants.
func (s Shape) M() int { return shapes[s].m }

// K returns how many products an instruction adds to each element of D.
func (s Shape) K() int { return shapes[s].k }

// String returns the shape as PTX writes it.
func (s Shape) String() string {
	if int(s) >= len(shapes) {
		return fmt.Sprintf("Shape(%d)", uint8(s))
	}
	return shapes[s].name
}

// A BitOp is the product of two bits; those that are 1 are counted. Its zero value is none.
type BitOp uint8

// The products of bits.
const (
	AndPopc = BitOp(hopper.And)
	XorPopc = BitOp(hopper.Xor)
)

// String returns the operation as PTX writes it.
func (op BitOp) String() string {
	switch op {
	case AndPopc:
		return "and.popc"
	case XorPopc:
		return "xor.popc"
	}
	return fmt.Sprintf("BitOp(%d)", uint8(op))
}

// An Op is the instruction without its operands. A has rows and B columns side by side (.row.col), the only layouts
// that these shapes have.
type Op struct {
	Shape Shape
	A, B  Type
	D     Type // and of C
	// BitOp is .xor.popc or .and.popc. For B1, and for nothing else.
	BitOp BitOp
	// Saturate is .satfinite: the sum is clamped to s32 and does not wrap. For S8 and U8 only.
	Saturate bool
	// Sparse is .sp: of A only half the elements are stored, which K counts twice. MMASparse sets it.
	Sparse bool
	// Ordered is .sp::ordered_metadata: of two places of a chunk the first is the smaller. For a sparse A only.
	Ordered bool
}

const (
	denseName   = "mma.sync.aligned."
	sparseName  = "mma.sp.sync.aligned."
	orderedName = "mma.sp::ordered_metadata.sync.aligned."
)

// String returns the instruction as PTX writes it, without mma.sync.aligned if A is not sparse.
func (op Op) String() string {
	name := ""
	switch {
	case op.Ordered:
		name = orderedName
	case op.Sparse:
		name = sparseName
	}
	sat := ""
	if op.Saturate {
		sat = ".satfinite"
	}
	popc := ""
	if op.BitOp != 0 {
		popc = "." + op.BitOp.String()
	}
	return fmt.Sprintf("%s%v.row.col%s.%v.%v.%v.%v%s", name, op.Shape, sat, op.D, op.A, op.B, op.D, popc)
}

// A family is what is multiplied with each other: any two types of in, with any sum and in any shape.
type family struct {
	in, sums []Type
	shapes   []Shape
}

var (
	families = []family{
		{[]Type{BF16}, []Type{F32}, []Shape{M16N8K8, M16N8K16}},
		{[]Type{F16}, []Type{F32, F16}, []Shape{M16N8K8, M16N8K16}},
		{[]Type{TF32}, []Type{F32}, []Shape{M16N8K4, M16N8K8}},
		{[]Type{E4M3, E5M2}, []Type{F32, F16}, []Shape{M16N8K16, M16N8K32}},
		{[]Type{S8, U8}, []Type{S32}, []Shape{M8N8K16, M16N8K16, M16N8K32}},
		{[]Type{B1}, []Type{S32}, []Shape{M8N8K128, M16N8K128, M16N8K256}},
		{[]Type{F64}, []Type{F64}, []Shape{M8N8K4, M16N8K4, M16N8K8, M16N8K16}},
	}
	sparseFamilies = []family{
		{[]Type{BF16}, []Type{F32}, []Shape{M16N8K16, M16N8K32}},
		{[]Type{F16}, []Type{F32, F16}, []Shape{M16N8K16, M16N8K32}},
		{[]Type{TF32}, []Type{F32}, []Shape{M16N8K8, M16N8K16}},
		{[]Type{E4M3, E5M2}, []Type{F32}, []Shape{M16N8K64}},
		{[]Type{S8, U8}, []Type{S32}, []Shape{M16N8K32, M16N8K64}},
	}
)

// Validate reports what of op no instruction of compute capability 9.0 has (PTX 9.7.14.5.14 and, of a sparse A,
// 9.7.14.6.3).
func (op Op) Validate() error {
	all, with := families, ""
	if op.Sparse {
		all, with = sparseFamilies, " with a sparse A"
	}
	for i := range all {
		f := &all[i]
		if !slices.Contains(f.in, op.A) || !slices.Contains(f.in, op.B) {
			continue
		}
		switch {
		case !slices.Contains(f.sums, op.D):
			return fmt.Errorf("mma: %v: D is %v, sums of %v times %v%s are %v", op, op.D, op.A, op.B, with, list(f.sums))
		case !slices.Contains(f.shapes, op.Shape):
			return fmt.Errorf("mma: %v: the shapes of %v times %v%s are %v", op, op.A, op.B, with, list(f.shapes))
		case op.Saturate && (op.D != S32 || op.A == B1):
			return fmt.Errorf("mma: %v: .satfinite exists only for s8 and u8", op)
		case op.A == B1 && op.BitOp != AndPopc && op.BitOp != XorPopc:
			return fmt.Errorf("mma: %v: products of b1 are %v or %v", op, XorPopc, AndPopc)
		case op.A != B1 && op.BitOp != 0:
			return fmt.Errorf("mma: %v: %v exists only for b1", op, op.BitOp)
		case op.Ordered && !op.Sparse:
			return fmt.Errorf("mma: %v: ordered metadata exist only for a sparse A", op)
		}
		return nil
	}
	return fmt.Errorf("mma: %v: nothing multiplies %v by %v%s", op, op.A, op.B, with)
}

// list writes names as a choice.
func list[T fmt.Stringer](all []T) string {
	var names []string
	for _, x := range all {
		names = append(names, x.String())
	}
	return strings.Join(names, " or ")
}

// Parse returns the instruction that PTX writes so, such as m16n8k16.row.col.f32.bf16.bf16.f32, with or without
// mma.sync.aligned before it, or with mma.sp.sync.aligned or mma.sp::ordered_metadata.sync.aligned.
func Parse(text string) (Op, error) {
	var op Op
	rest, dense := strings.CutPrefix(text, denseName)
	if dense {
		text = rest
	} else {
		rest, op.Ordered = strings.CutPrefix(rest, orderedName)
		rest, op.Sparse = strings.CutPrefix(rest, sparseName)
		op.Sparse = op.Sparse || op.Ordered
	}
	for _, bits := range [...]BitOp{AndPopc, XorPopc} {
		if before, ok := strings.CutSuffix(rest, "."+bits.String()); ok {
			rest, op.BitOp = before, bits
		}
	}
	words := strings.Split(rest, ".")
	op.Saturate = len(words) == 8 && words[3] == "satfinite"
	if op.Saturate {
		words = slices.Delete(words, 3, 4)
	}
	if len(words) != 7 {
		return Op{}, fmt.Errorf("mma: %q is no instruction: want a shape, row.col, perhaps satfinite, four types, "+
			"and of b1 xor.popc or and.popc", text)
	}
	for s := range shapes {
		if shapes[s].name == words[0] {
			op.Shape = Shape(s)
		}
	}
	for t := range types {
		for i, x := range []*Type{&op.D, &op.A, &op.B} {
			if types[t].name == words[3+i] {
				*x = Type(t)
			}
		}
	}
	if got := op.String(); got != text {
		return Op{}, fmt.Errorf("mma: %q is none of the instructions here; the nearest is %s", text, got)
	}
	return op, op.Validate()
}
