package wgmma

import (
	"fmt"

	"example.com/leafhopper/tile"
)

// A Descriptor says where in shared memory an operand lies and how (PTX
// 9.7.15.5.1.2.2, matrix descriptor). Addresses and offsets are in bytes and
// multiples of 16; the hardware's form, [Descriptor.Encode], counts units of 16:
//
//	63 62 61   52 51  49 48 46 45          32 31 30 29          16 15 14 13           0
//	┌────┬───────┬──────┬─────┬──────────────┬─────┬──────────────┬─────┬──────────────┐
//	│swz │   0   │ base │  0  │   SBO / 16   │  0  │   LBO / 16   │  0  │  Start / 16  │
//	└────┴───────┴──────┴─────┴──────────────┴─────┴──────────────┴─────┴──────────────┘
//
// What LBO and SBO step over depends on the layout; see [Descriptor.Offset].
type Descriptor struct {
	Start int // address in shared memory
	LBO   int // leading dimension byte offset
	SBO   int // stride dimension byte offset

	// BaseOffset, 0 to 7, is the 128-byte line at which the swizzle pattern
	// begins, modulo 8: 0 if it begins at a multiple of its period of 1024, 512
	// or 256 bytes.
	BaseOffset int
	// Swizzle is the mode with which the operand was written. (A descriptor
	// numbers the modes in the reverse order of a tensor map; Encode and
	// DecodeDescriptor translate.)
	Swizzle tile.Swizzle
}

const (
	unit        = 16  // of addresses and offsets
	swizzleLine = 128 // bytes; within one, chunks of a unit change places
	fieldBits   = 14
	fieldMax    = 1<<fieldBits - 1
	window      = unit << fieldBits // bytes that a descriptor can address
	maxBase     = 7
	lboShift    = 16
	sboShift    = 32
	baseShift   = 49
	modeShift   = 62
	descriptor  = fieldMax | fieldMax<<lboShift | fieldMax<<sboShift | maxBase<<baseShift | 3<<modeShift
)

// KMajor returns the descriptor of a K-major operand that lies in swizzled rows
// of a whole span, as a TMA load with this swizzle writes a box whose inner
// dimension is K. start is a multiple of the period of the pattern; use
// [Descriptor.Advance] for the further steps of K in a row. It panics without a
// swizzle: LBO and SBO then depend on how the boxes lie, as LBO does where an
// instruction takes more of K than a row has (see [Descriptor.Offset]).
func KMajor(start int, s tile.Swizzle) Descriptor {
	checkSwizzled("KMajor", s)
	return Descriptor{Start: start, SBO: 8 * s.Span(), LBO: unit, Swizzle: s}
}

// MNMajor returns the descriptor of an MN-major operand, as TMA loads with this
// swizzle write boxes whose inner dimension is M or N, a whole span wide. Boxes
// for successive spans of M or N begin block bytes apart. A step of 16 in K is
// 16 spans further. It panics without a swizzle, as KMajor does.
func MNMajor(start int, s tile.Swizzle, block int) Descriptor {
	checkSwizzled("MNMajor", s)
	return Descriptor{Start: start, SBO: 8 * s.Span(), LBO: block, Swizzle: s}
}

func checkSwizzled(name string, s tile.Swizzle) {
	if s.Span() == 0 {
		panic(fmt.Sprintf("wgmma: %s: swizzle mode %v, must be 32B, 64B or 128B", name, s))
	}
}

// Advance returns d with its start moved by bytes, the way the steps of K are
// taken: 32 bytes for a K-major operand.
func (d Descriptor) Advance(bytes int) Descriptor {
	d.Start += bytes
	return d
}

// Validate reports a field that a descriptor cannot hold.
func (d Descriptor) Validate() error {
	for _, f := range []struct {
		name string
		v    int
	}{{"start address", d.Start}, {"leading dimension byte offset", d.LBO}, {"stride dimension byte offset", d.SBO}} {
		if f.v < 0 || f.v >= window || f.v%unit != 0 {
			return fmt.Errorf("wgmma: descriptor: %s %d, must be a multiple of %d from 0 to %d "+
				"(%d bits in units of %d bytes)", f.name, f.v, unit, window-unit, fieldBits, unit)
		}
	}
	if d.BaseOffset < 0 || d.BaseOffset > maxBase {
		return fmt.Errorf("wgmma: descriptor: base offset %d, must be 0 to %d", d.BaseOffset, maxBase)
	}
	if d.Swizzle > tile.Swizzle128B {
		return fmt.Errorf("wgmma: descriptor: swizzle mode %v, must be none, 32B, 64B or 128B", d.Swizzle)
	}
	return nil
}

// Encode returns the 64-bit matrix descriptor.
func (d Descriptor) Encode() (uint64, error) {
	if err := d.Validate(); err != nil {
		return 0, err
	}
	mode := -uint64(d.Swizzle) & 3 // the other way round, and none stays 0
	return uint64(d.Start/unit) | uint64(d.LBO/unit)<<lboShift | uint64(d.SBO/unit)<<sboShift |
		uint64(d.BaseOffset)<<baseShift | mode<<modeShift, nil
}

// DecodeDescriptor is the inverse of Encode. It reports an error if one of the
// bits is set that must be zero.
func DecodeDescriptor(w uint64) (Descriptor, error) {
	if extra := w &^ uint64(descriptor); extra != 0 {
		return Descriptor{}, fmt.Errorf("wgmma: descriptor %#016x: bits %#x are set, "+
			"bits 14-15, 30-31, 46-48 and 52-61 must be 0", w, extra)
	}
	return Descriptor{
		Start:      int(w&fieldMax) * unit,
		LBO:        int(w>>lboShift&fieldMax) * unit,
		SBO:        int(w>>sboShift&fieldMax) * unit,
		BaseOffset: int(w >> baseShift & maxBase),
		Swizzle:    tile.Swizzle(-(w >> modeShift) & 3),
	}, nil
}

// Major says which index of an operand walks through memory first.
type Major bool

// KMajorLayout has neighbours in K side by side, MNMajorLayout neighbours in M
// (of A) or in N (of B): a transposed operand.
const (
	KMajorLayout  Major = false
	MNMajorLayout Major = true
)

// Offset returns how far from Start the element (r, k) lies before swizzling: r
// is a row of A or a column of B, size the bytes of an element, S the span of
// the swizzle, T = 16/size.
//
//	K-major   no swizzle  (r/8)·SBO + (r%8)·16 + (k/T)·LBO + (k%T)·size
//	          swizzled    (r/8)·SBO + (r%8)·S + (k·size/S)·LBO + k·size%S
//	MN-major  no swizzle  (r/T)·SBO + (k/8)·LBO + (k%8)·16 + (r%T)·size
//	          swizzled    (r·size/S)·LBO + (k/8)·SBO + (k%8)·S + r·size%S
//
// The LBO of a swizzled K-major operand counts only where a row is longer than the
// span: for the B of a sparse A, whose columns have 64 bytes, with a swizzle of 32.
func (d Descriptor) Offset(major Major, size, r, k int) int {
	s := d.Swizzle.Span()
	along, across := k*size, r
	if major == MNMajorLayout {
		along, across = r*size, k
	}
	switch {
	case major == KMajorLayout && s == 0:
		return r/8*d.SBO + r%8*unit + along/unit*d.LBO + along%unit
	case major == KMajorLayout:
		return r/8*d.SBO + r%8*s + along/s*d.LBO + along%s
	case s == 0:
		return along/unit*d.SBO + across/8*d.LBO + across%8*unit + along%unit
	}
	return along/s*d.LBO + across/8*d.SBO + across%8*s + along%s
}

// Address returns the address of the first byte of the element (r, k): Start
// plus Offset, swizzled. The line number that selects the XOR is counted from
// the line BaseOffset.
func (d Descriptor) Address(major Major, size, r, k int) int {
	a := d.Start + d.Offset(major, size, r, k)
	line := a - swizzleLine*d.BaseOffset
	return a ^ line ^ d.Swizzle.Apply(line)
}
