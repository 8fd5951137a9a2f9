package asm

import "unsafe"

// SweepK is the elements of K of a [Sweep], and SweepN the columns of one piece of it.
const (
	SweepK = 64
	SweepN = 64
)

// SweepRoom is the bytes of the panels of two pieces.
const SweepRoom = 2 * SweepN * SweepK * 2

// A Sweep is a product of a few panels of A by many columns of a B that lies in rows of K: each piece of SweepN
// columns is packed while the piece before is multiplied, SweepK elements deep. What is packed is small enough for
// the first cache, and the rows are as many as its TLB has pages for, so that rows which lie pages apart come as fast
// as memory gives them.
//
// A is panels of M rows, SweepK elements deep, as [Kernel.PackA] makes them, and B element (0, 0) of B, whose rows
// are Stride bytes apart. N is a multiple of SweepN. The accumulators of each NR columns are a strip, tile after tile
// of MR x NR, and strips are Strip bytes apart; rows of a last panel that is not whole may stay as they are. With
// First they are taken for zeros. The sums are those of [Kernel.Mul].
type Sweep struct {
	A      unsafe.Pointer
	M      int // rows of A
	B      unsafe.Pointer
	Stride int // bytes between rows of B
	N      int // columns of B
	Acc    unsafe.Pointer
	Strip  int            // bytes between strips of accumulators
	First  bool           // the accumulators are zeros
	Room   unsafe.Pointer // SweepRoom bytes for panels, a multiple of 64
	Next   unsafe.Pointer // the B of the call to come, whose first piece is packed last; or nil

	ready bool // the first piece is packed,
	half  int  // to this half of the room
}

// Sweeps reports whether the kernel sweeps over columns of a B of type t.
func (k *Kernel) Sweeps(t Type) bool { return t == BF16 && k.sweep != nil }

// Sweep does what s says, for a kernel of which Sweeps is true. The same Sweep is for the next call, if Next was its B.
//
// The assembly cannot be preempted, so keep a call under about 100 µs.
func (k *Kernel) Sweep(s *Sweep) { k.sweep(s) }

// sweepGeneric is the twin of the Sweep of kern, whose Mul or Ref is mul.
func sweepGeneric(kern *Kernel, mul KernelFunc) func(s *Sweep) {
	const words = SweepK / 2
	panel, row := kern.PanelB(words), kern.NR*4
	pack := func(to, from unsafe.Pointer, stride int) {
		for j := 0; j < SweepN; j += kern.NR {
			packGeneric(BF16, kern.KPack, kern.NR, false,
				unsafe.Add(to, j/kern.NR*panel), unsafe.Add(from, j*2), stride, kern.NR, SweepK)
		}
	}
	return func(s *Sweep) {
		for j := 0; j < s.N; j += SweepN {
			room := unsafe.Add(s.Room, s.half)
			if !s.ready {
				pack(room, unsafe.Add(s.B, j*2), s.Stride)
			}
			next := s.Next
			if j+SweepN < s.N {
				next = unsafe.Add(s.B, (j+SweepN)*2)
			}
			s.half = SweepRoom/2 - s.half
			if s.ready = next != nil; s.ready {
				pack(unsafe.Add(s.Room, s.half), next, s.Stride)
			}
			for i := 0; i < SweepN; i += kern.NR {
				acc := unsafe.Add(s.Acc, (j+i)/kern.NR*s.Strip)
				src := acc
				if s.First {
					src = nil
				}
				mul(words, (s.M+kern.MR-1)/kern.MR, s.A, unsafe.Add(room, i/kern.NR*panel), src, row, acc, row)
			}
		}
	}
}
