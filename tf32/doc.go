// Package tf32 rounds float32 numbers to TensorFloat-32, the 19-bit format of
// tensor cores: the sign and the 8 exponent bits of a float32, and 10 of its 23
// fraction bits.
//
//	  31 30      23 22      13 12           0
//	| s| exponent | fraction |   dropped     |
//
// A tf32 number is kept in a float32 word. What happens to the dropped bits
// depends on who drops them: a tensor copy with a TFloat32 map (and PTX
// cvt.rn.tf32.f32) rounds to nearest, ties to even, as [Round] does, and so do
// cuBLAS and package gemm before they multiply; wgmma ignores them, as [Truncate]
// does. Multiplying words that were not rounded
// therefore loses about a bit of accuracy, and always toward zero.
package tf32
