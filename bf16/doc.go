// Package bf16 implements the bfloat16 floating-point format and its
// conversions to and from float32, one value at a time or slice by slice.
//
// A BF16 is the upper half of a float32: the same sign and exponent, and so the
// same range, with 7 of the 23 fraction bits.
//
//	            31 30      23 22          16 15                     0
//	float32    | s| exponent |   fraction   |    fraction, cont.     |
//	            15 14       7 6            0
//	BF16       | s| exponent |   fraction   |
//
// Widening is therefore exact and only moves bits: every BF16, NaN payloads
// included, is the float32 whose lower half is zero. Narrowing rounds to nearest,
// ties to even. The lower half is compared with 0x8000 by adding 0x7fff plus the
// lowest bit that is kept, and the carry does the rest: it moves on to the next
// exponent, from subnormal to normal and from the largest finite value to
// infinity, without a special case. Only a NaN must not be added to: it keeps
// its sign and the upper bits of its payload and becomes quiet, so a NaN whose
// payload sat in the lower half is still a NaN.
//
// # Slices
//
// [Encode] and [Decode] convert slices of BF16, [EncodeFloat16] and
// [DecodeFloat16] those of IEEE half precision as [float16.Float16]. On amd64
// they run AVX-512 (F, BW, VL) or AVX2 (with F16C for half precision) when the
// processor and the operating system have them; elsewhere, and under the build
// tag purego, they run Go. All give the same bits as the conversion of a single
// value: [FromFloat32], [BF16.Float32], [float16.Fromfloat32] and
// [float16.Float16.Float32]. The processor's own bfloat16 instructions
// (VCVTNEPS2BF16) are not used because they flush subnormals to zero.
//
// [FromBits] makes a slice of BF16 of another library's without a copy. Bytes, as
// files have them, become a []uint16 first: of any order by binary.Decode, or without
// a copy, where they are in the machine's order, as
//
//	unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/2)
//
// On amd64 these functions and package gemm take elements at odd addresses, too, as a
// file that is mapped may have them.
//
// None of them allocates, and none keeps its arguments.
package bf16
