// Package fp8 implements the two 8-bit floating-point formats of the Open
// Compute Project (OFP8), E4M3 and E5M2, and their conversions to and from
// float32, one value at a time or slice by slice.
//
//	           7 6       3 2   0                   7 6         2 1 0
//	E4M3     | s|  exp    | fr  |        E5M2    | s|   exp     | fr|
//
//	bias               7                                  15
//	largest          448  (s.1111.110)                 57344  (s.11110.11)
//	smallest normal  2**-6                             2**-14
//	smallest         2**-9                             2**-16
//	infinity         none                              s.11111.00
//	NaN              s.1111.111 only                   s.11111.01, .10, .11
//
// E5M2 is the upper half of an IEEE half. E4M3 gives up the infinities, and all
// NaNs but one, for one more binade: its exponent 15 holds numbers up to 448.
//
// Widening is exact. Narrowing rounds to nearest, ties to even, and a value that
// rounds beyond the largest one overflows: [E5M2FromFloat32] makes an infinity of
// it, [E4M3FromFloat32], which has none, a NaN. The saturating forms return the
// largest value of that sign instead, for an infinite argument too (PTX
// cvt.rn.satfinite). NaN stays NaN in all of them and keeps its sign; that of an H100's
// instruction is always 0x7f.
//
// [E4M3FromBits] and [E5M2FromBits] make numbers of bytes without a copy.
//
// The slice functions need no memory beyond their operands. Decoding is one look
// into a table of 256.
//
// Sources: OCP 8-bit Floating Point Specification (OFP8), revision 1.0; PTX ISA
// 9.1, section 5.2.3 (alternate floating-point data formats).
package fp8
