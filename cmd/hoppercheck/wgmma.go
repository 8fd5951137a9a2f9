package main

import (
	"encoding/binary"
	"fmt"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// instructions maps the types of a file to the instruction.
var instructions = map[uint32]wgmma.Op{
	golden.MMABF16:      {Kind: wgmma.BF16F32},
	golden.MMAF16:       {Kind: wgmma.F16F32},
	golden.MMATF32:      {Kind: wgmma.TF32F32},
	golden.MMAE4M3:      {Kind: wgmma.E4M3F32},
	golden.MMAE5M2:      {Kind: wgmma.E5M2F32},
	golden.MMAE4M3xE5M2: {Kind: wgmma.E4M3E5M2F32},
	golden.MMAF16Acc:    {Kind: wgmma.F16F16},
	golden.MMAE4M3F16:   {Kind: wgmma.E4M3F16},
	golden.MMAE5M2F16:   {Kind: wgmma.E5M2F16},
	golden.MMAS8:        {Kind: wgmma.S8S32},
	golden.MMAU8:        {Kind: wgmma.U8S32},
	golden.MMAS8U8:      {Kind: wgmma.S8U8S32},
	golden.MMAS8Sat:     {Kind: wgmma.S8S32, Saturate: true},
}

// An instruction is one recorded tile with its operation.
type instruction struct {
	op   wgmma.Op
	tile *golden.MMA
}

func parseInstructions(data []byte) ([]instruction, error) {
	m, err := golden.ParseMMAs(data)
	if err != nil {
		return nil, err
	}
	op, ok := instructions[m.Type]
	if !ok {
		return nil, fmt.Errorf("no instruction for type %d", m.Type)
	}
	op.N = golden.MMAColumns
	list := make([]instruction, len(m.Tiles))
	for i := range list {
		list[i] = instruction{op, &m.Tiles[i]}
	}
	return list, nil
}

// replayInstruction executes a tile with A in shared memory and in registers.
func replayInstruction(in *instruction) (string, error) {
	shared, err := tile.NewShared(4 << 10)
	if err != nil {
		return "", err
	}
	// K-major without swizzle: core matrices of 8 rows by 16 bytes.
	a := wgmma.Descriptor{Start: 0, LBO: 128, SBO: 256}
	b := wgmma.Descriptor{Start: 2 << 10, LBO: 128, SBO: 256}
	fragment := wgmma.NewFragment(in.op.Kind)
	size := in.op.Kind.ElementSize()
	for k := range golden.MMARowBytes / size {
		at := k * size
		for i := range in.tile.A {
			copy(shared.Bytes()[a.Address(wgmma.KMajorLayout, size, i, k):], in.tile.A[i][at:at+size])
			var u [4]byte
			copy(u[:], in.tile.A[i][at:at+size])
			fragment.SetBits(i, k, binary.LittleEndian.Uint32(u[:]))
		}
		for j := range in.tile.B {
			copy(shared.Bytes()[b.Address(wgmma.KMajorLayout, size, j, k):], in.tile.B[j][at:at+size])
		}
	}
	for _, operand := range []wgmma.Operand{a, fragment} {
		d, err := wgmma.NewAccumulator(in.op.Kind.AccumulatorType(), in.op.N)
		if err != nil {
			return "", err
		}
		for i := range in.tile.C {
			for j, u := range in.tile.C[i] {
				d.SetBits(i, j, u)
			}
		}
		if err := execute(shared, in.op, d, operand, b); err != nil {
			return fmt.Sprintf("%v: %v", in.op, err), nil
		}
		for i := range in.tile.D {
			for j, want := range in.tile.D[i] {
				if got := d.Bits(i, j); got != want {
					return fmt.Sprintf("%v with C %#x: D(%d, %d) is %#x, the GPU's %#x",
						in.op, in.tile.C[i][j], i, j, got, want), nil
				}
			}
		}
	}
	return "", nil
}

// execute runs one instruction to its end.
func execute(shared *tile.Shared, op wgmma.Op, d *wgmma.Accumulator, a wgmma.Operand, b wgmma.Descriptor) error {
	w := wgmma.NewWarpgroup(shared)
	w.Fence()
	if err := w.MMA(op, d, a, b); err != nil {
		return err
	}
	w.CommitGroup()
	return w.WaitGroup(0)
}

// replayDescriptor multiplies what two descriptors address.
func replayDescriptor(c *golden.DescriptorCase) (string, error) {
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
	if err := execute(shared, op, d, a, b); err != nil {
		return fmt.Sprintf("A %+v, B %+v: %v", c.A, c.B, err), nil
	}
	for i, want := range c.D {
		if got := d.At(i/c.N, i%c.N); got != float64(want) {
			return fmt.Sprintf("A %+v, B %+v: D(%d, %d) is %v, the GPU's %d", c.A, c.B, i/c.N, i%c.N, got, want), nil
		}
	}
	return "", nil
}
