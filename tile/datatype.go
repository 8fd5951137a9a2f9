package tile

import (
	"fmt"

	"example.com/leafhopper/internal/enum"
)

// DataType is the element type of a tensor map, numbered as the CUDA driver
// numbers CUtensorMapDataType.
type DataType uint8

// The element types of compute capability 9.0. Copies move every type bit for
// bit, the FTZ type included, except that the two TF32 types round each word to
// tf32 while loading. The driver has no type for int8 and fp8: they are Uint8.
const (
	Uint8 DataType = iota
	Uint16
	Uint32
	Int32
	Uint64
	Int64
	Float16
	Float32
	Float64
	BFloat16
	Float32FTZ
	TFloat32
	TFloat32FTZ
)

var dataTypes = [...]struct {
	name string
	size int
}{
	Uint8:       {"Uint8", 1},
	Uint16:      {"Uint16", 2},
	Uint32:      {"Uint32", 4},
	Int32:       {"Int32", 4},
	Uint64:      {"Uint64", 8},
	Int64:       {"Int64", 8},
	Float16:     {"Float16", 2},
	Float32:     {"Float32", 4},
	Float64:     {"Float64", 8},
	BFloat16:    {"BFloat16", 2},
	Float32FTZ:  {"Float32FTZ", 4},
	TFloat32:    {"TFloat32", 4},
	TFloat32FTZ: {"TFloat32FTZ", 4},
}

func (t DataType) valid() bool { return int(t) < len(dataTypes) }

// float reports whether t may be filled with NaN.
func (t DataType) float() bool { return t >= Float16 && t.valid() }

func (t DataType) tf32() bool { return t == TFloat32 || t == TFloat32FTZ }

// Size returns the bytes of one element, or 0 for a value that is no type.
func (t DataType) Size() int {
	if !t.valid() {
		return 0
	}
	return dataTypes[t].size
}

// String returns the name of the constant.
func (t DataType) String() string {
	if !t.valid() {
		return fmt.Sprintf("DataType(%d)", uint8(t))
	}
	return dataTypes[t].name
}

// Swizzle permutes the 16-byte chunks of a tile in shared memory so that a
// column of chunks falls into different banks. See the package comment.
type Swizzle uint8

// The swizzle modes of compute capability 9.0, numbered as CUtensorMapSwizzle.
// (Matrix descriptors of wgmma count the same modes the other way round.)
const (
	SwizzleNone Swizzle = iota
	Swizzle32B
	Swizzle64B
	Swizzle128B
)

func (s Swizzle) valid() bool { return s <= Swizzle128B }

// Span returns the bytes that one row of a swizzled tile occupies, 32, 64 or
// 128, and 0 for SwizzleNone, whose rows are as wide as the box.
func (s Swizzle) Span() int {
	if s == SwizzleNone || !s.valid() {
		return 0
	}
	return 16 << s
}

// mask selects the bits of the 128-byte line number that take part.
func (s Swizzle) mask() int {
	if !s.valid() {
		return 0
	}
	return 1<<s - 1
}

// Apply maps a byte address of a tile laid out row after row to the address
// where the copy puts that byte: addr ^ ((addr>>7 & m) << 4) with m = 1, 3, 7
// for 32B, 64B and 128B. The address is absolute in shared memory, so a tile
// that starts in the middle of the pattern continues it. Apply is its own
// inverse and moves no byte out of its span.
func (s Swizzle) Apply(addr int) int {
	return addr ^ (addr>>7&s.mask())<<4
}

// String returns the name of the constant.
func (s Swizzle) String() string {
	return enum.Name("Swizzle", []string{"SwizzleNone", "Swizzle32B", "Swizzle64B", "Swizzle128B"}, s)
}

// Fill says what a load writes for elements outside the tensor, numbered as
// CUtensorMapFloatOOBfill.
type Fill uint8

// FillZero writes zeros. FillNaN, for floating-point types only, repeats the
// 16-bit pattern 0x7FF7, which is a NaN in every type.
const (
	FillZero Fill = iota
	FillNaN
)

// String returns the name of the constant.
func (f Fill) String() string { return enum.Name("Fill", []string{"FillZero", "FillNaN"}, f) }

// Interleave is the layout of channel slices in global memory. Only
// InterleaveNone is implemented; NewTensorMap refuses the others.
type Interleave uint8

// The interleaved layouts, numbered as CUtensorMapInterleave.
const (
	InterleaveNone Interleave = iota
	Interleave16B
	Interleave32B
)

// String returns the name of the constant.
func (l Interleave) String() string {
	return enum.Name("Interleave", []string{"InterleaveNone", "Interleave16B", "Interleave32B"}, l)
}
