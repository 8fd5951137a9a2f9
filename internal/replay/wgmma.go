package replay

import (
	"encoding/binary"
	"fmt"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// instructions maps the types of multiplications to the instruction.
var instructions = map[uint32]wgmma.Op{
	golden.WGMMABF16:         {Kind: wgmma.BF16F32},
	golden.WGMMAF16:          {Kind: wgmma.F16F32},
	golden.WGMMATF32:         {Kind: wgmma.TF32F32},
	golden.WGMMAE4M3:         {Kind: wgmma.E4M3F32},
	golden.WGMMAE5M2:         {Kind: wgmma.E5M2F32},
	golden.WGMMAE4M3xE5M2:    {Kind: wgmma.E4M3E5M2F32},
	golden.WGMMAE5M2xE4M3:    {Kind: wgmma.E5M2E4M3F32},
	golden.WGMMAF16Acc:       {Kind: wgmma.F16F16},
	golden.WGMMAE4M3F16:      {Kind: wgmma.E4M3F16},
	golden.WGMMAE5M2F16:      {Kind: wgmma.E5M2F16},
	golden.WGMMAE4M3xE5M2F16: {Kind: wgmma.E4M3E5M2F16},
	golden.WGMMAE5M2xE4M3F16: {Kind: wgmma.E5M2E4M3F16},
	golden.WGMMAS8:           {Kind: wgmma.S8S32},
	golden.WGMMAU8:           {Kind: wgmma.U8S32},
	golden.WGMMAS8U8:         {Kind: wgmma.S8U8S32},
	golden.WGMMAU8S8:         {Kind: wgmma.U8S8S32},
	golden.WGMMAS8Sat:        {Kind: wgmma.S8S32, Saturate: true},
	golden.WGMMAB1:           {Kind: wgmma.B1S32},
}

// instruction returns the instruction of a type of multiplications.
func instruction(typ uint32, s golden.Scale) (wgmma.Op, error) {
	op, ok := instructions[typ]
	if !ok {
		return op, fmt.Errorf("no instruction for type %d", typ)
	}
	op.N, op.Overwrite, op.NegateA, op.NegateB = golden.WGMMAColumns, s.Overwrite, s.NegateA, s.NegateB
	return op, nil
}

// scales says how op scales its operands.
func scales(op wgmma.Op) (text string) {
	for _, s := range []struct {
		set  bool
		text string
	}{{op.Overwrite, ", scale-d 0"}, {op.NegateA, ", imm-scale-a -1"}, {op.NegateB, ", imm-scale-b -1"}} {
		if s.set {
			text += s.text
		}
	}
	return text
}

// issue is an instruction of a warpgroup on d.
type issue func(w *wgmma.Warpgroup, op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor) error

func dense(w *wgmma.Warpgroup, op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor) error {
	return w.MMA(op, d, a, b)
}

// sparse returns an instruction with metadata.
func sparse(meta wgmma.Metadata, selector int) issue {
	return func(w *wgmma.Warpgroup, op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor) error {
		return w.MMASparse(op, d, a, b, &meta, selector)
	}
}

// WGMMA executes a recorded instruction with A in shared memory and in registers, and says how D differs from the
// GPU's, or "".
func WGMMA(m *golden.WGMMA) (string, error) {
	op, err := instruction(m.Type, m.Scale)
	if err != nil {
		return "", err
	}
	return multiply(op, &tiles{rowsOf(m.A[:]), rowsOf(m.B[:]), 0, 0, &m.C, &m.D}, dense)
}

// SparseWGMMA is WGMMA for a sparse instruction, with the swizzles that were recorded.
func SparseWGMMA(m *golden.SparseWGMMA) (string, error) {
	op, err := instruction(m.Type, m.Scale)
	if err != nil {
		return "", err
	}
	op.Sparse, op.Saturate = true, op.Saturate || m.Saturate
	t := tiles{rowsOf(m.A[:]), rowsOf(m.B[:]), m.SwizzleA, m.SwizzleB, &m.C, &m.D}
	return multiply(op, &t, sparse(m.Meta, m.Selector))
}

// tiles are those of an instruction: rows of A, columns of B, and the swizzles of their descriptors.
type tiles struct {
	a, b               [][]byte
	swizzleA, swizzleB uint32
	c, d               *[golden.WGMMARows][golden.WGMMAColumns]uint32
}

func rowsOf[T [golden.WGMMARowBytes]byte | [golden.SparseRowBytes]byte](rows []T) [][]byte {
	list := make([][]byte, len(rows))
	for i := range rows {
		switch row := any(&rows[i]).(type) {
		case *[golden.WGMMARowBytes]byte:
			list[i] = row[:]
		case *[golden.SparseRowBytes]byte:
			list[i] = row[:]
		}
	}
	return list
}

func multiply(op wgmma.Op, t *tiles, mma issue) (string, error) {
	shared, err := tile.NewShared(16 << 10)
	if err != nil {
		return "", err
	}
	size := op.Kind.ElementSize()
	put := func(start int, swizzle uint32, rows [][]byte) wgmma.Descriptor {
		// Core matrices of 8 rows by 16 bytes, one column of them after the other, or swizzled rows of a span, that
		// the next columns of a longer row are behind.
		d := wgmma.Descriptor{Start: start, LBO: 16 * len(rows), SBO: 128, Swizzle: tile.Swizzle(-swizzle & 3)}
		if span := d.Swizzle.Span(); span > 0 {
			d.LBO, d.SBO = span*len(rows), 8*span
		}
		for r, row := range rows {
			for at := 0; at < len(row); at += size {
				copy(shared.Bytes()[d.Address(wgmma.KMajorLayout, size, r, at/size):], row[at:at+size])
			}
		}
		return d
	}
	a, b := put(0, t.swizzleA, t.a), put(8<<10, t.swizzleB, t.b)
	fragment := wgmma.NewFragment(op.Kind)
	for i, row := range t.a {
		for at := 0; at < len(row); at += size {
			var u [4]byte
			copy(u[:], row[at:at+size])
			fragment.SetBits(i, at/size, binary.LittleEndian.Uint32(u[:]))
		}
	}
	for _, operand := range []wgmma.Operand{a, fragment} {
		d, err := wgmma.NewAccumulator(op.Kind.AccumulatorType(), op.N)
		if err != nil {
			return "", err
		}
		for i := range t.c {
			for j, u := range t.c[i] {
				d.SetBits(i, j, u)
			}
		}
		if err := execute(shared, op, d, operand, b, mma); err != nil {
			return fmt.Sprintf("%v: %v", op, err), nil
		}
		for i := range t.d {
			for j, want := range t.d[i] {
				if got := d.Bits(i, j); got != want {
					return fmt.Sprintf("%v%s with C %#x: D(%d, %d) is %#x, the GPU's %#x",
						op, scales(op), t.c[i][j], i, j, got, want), nil
				}
			}
		}
	}
	return "", nil
}

// execute runs one instruction to its end.
func execute(
	shared *tile.Shared, op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor, mma issue,
) error {
	w := wgmma.NewWarpgroup(shared)
	w.Fence()
	if err := mma(w, op, d, a, b); err != nil {
		return err
	}
	w.CommitGroup()
	return w.WaitGroup(0)
}

// Descriptor multiplies what two recorded descriptors address, and says how D differs from the GPU's, or "".
func Descriptor(c *golden.DescriptorCase) (string, error) {
	shared, err := tile.NewShared(tile.MaxBoxBytes)
	if err != nil {
		return "", err
	}
	memory := shared.Bytes()
	for i := range len(memory) / 2 {
		binary.LittleEndian.PutUint16(memory[2*i:], bf16.FromFloat32(float32(c.Element(uint32(i)))).Bits())
	}
	d, err := wgmma.NewAccumulator(wgmma.F32, c.N)
	if err != nil {
		return "", err
	}
	op := wgmma.Op{Kind: wgmma.BF16F32, N: c.N, Overwrite: true, TransposeA: c.A.MNMajor, TransposeB: c.B.MNMajor}
	a, err := wgmma.DecodeDescriptor(c.A.Word())
	if err != nil {
		return fmt.Sprintf("A %+v: %v", c.A, err), nil
	}
	b, err := wgmma.DecodeDescriptor(c.B.Word())
	if err != nil {
		return fmt.Sprintf("B %+v: %v", c.B, err), nil
	}
	mma := dense
	if c.Sparse {
		mma = sparse(c.Metadata(), c.Selector)
	}
	if err := execute(shared, op, d, a, b, mma); err != nil {
		return fmt.Sprintf("A %+v, B %+v: %v", c.A, c.B, err), nil
	}
	for i, want := range c.D {
		if got := d.At(i/c.N, i%c.N); got != float64(want) {
			return fmt.Sprintf("A %+v, B %+v: D(%d, %d) is %v, the GPU's %d", c.A, c.B, i/c.N, i%c.N, got, want), nil
		}
	}
	return "", nil
}
