package wgmma

import (
	"encoding/binary"
	"unsafe"
)

// A dense is an operand of a chain, gathered.
type dense struct {
	bytes []byte
	pitch int   // bytes from one row to the next
	major Major // K-major rows are of K, MN-major ones of M or N
}

// An operandSide is A or B.
type operandSide bool

const (
	operandA operandSide = false
	operandB operandSide = true
)

// gather copies an operand of a chain, one instruction's beside the other's in K,
// negates it if asked to, and clears the bits that are ignored in tf32: kernels take
// them for a part of the number, and round.
func (w *Warpgroup) gather(chain []*instruction, side operandSide) dense {
	op, memory := chain[0].op, w.memory()
	rows, depth, major, minus := M, RowBytes, Major(op.TransposeA), op.NegateA
	if side == operandB {
		rows, depth, major, minus = op.N, op.ColumnBytes(), Major(op.TransposeB), op.NegateB
	}
	size := op.Kind.ElementSize()
	o := dense{sized(&w.scratch.dense, len(chain)*rows*depth), len(chain) * depth, major}
	step := depth
	if major == MNMajorLayout {
		o.pitch = rows * size
		step = depth / size * o.pitch
	}
	for i, in := range chain {
		switch to := o.bytes[i*step:]; {
		case side == operandB:
			in.b.gather(to, o.pitch, memory, major, size, rows, depth)
		case in.f == nil:
			in.a.gather(to, o.pitch, memory, major, size, rows, depth)
		default:
			in.f.gather(to, o.pitch)
		}
	}
	if minus {
		negate(o.bytes, size)
	}
	if op.Kind == TF32F32 {
		const keep = 0xffffe000
		pairs := unsafe.Slice((*uint64)(unsafe.Pointer(&o.bytes[0])), len(o.bytes)/8)
		for i := range pairs {
			pairs[i] &= keep<<32 | keep
		}
	}
	return o
}

// negate flips the signs of elements of size bytes.
func negate(bytes []byte, size int) {
	for i := size - 1; i < len(bytes); i += size {
		bytes[i] ^= 0x80
	}
}

// gather copies them into rows, pitch bytes apart. A register holds four
// neighbouring bytes of a row in every kind; those of a row are in four threads,
// two each.
func (r *registers) gather(dst []byte, pitch int) {
	for row := range M {
		to := dst[row*pitch:][:RowBytes]
		first, half := row/16*32+row%8*4, row%16/8
		for i := range 4 {
			reg := &r.reg[first+i]
			binary.LittleEndian.PutUint32(to[4*i:], reg[half])
			binary.LittleEndian.PutUint32(to[16+4*i:], reg[2+half])
		}
	}
}
