// Package hopper is the arithmetic of the tensor core of compute capability 9.0
// (Hopper), bit for bit: what one wgmma instruction does to one element of the
// accumulator, and the same for whole tiles.
//
// # The rule
//
// D = A·B + C is, for every element, one fused sum of L products and C. It
// reproduces every record of an H200 without exception:
//
//  1. An operand is decoded as ±m·2^e without normalizing subnormals: their
//     significand m is below 1 and e is the exponent of the smallest normal
//     number. A product is exact, has the exponent ea+eb and is not normalized
//     either, so its significand may reach 4.
//  2. E is the largest exponent among the nonzero products and a nonzero C.
//     Every term is truncated toward zero to a multiple of 2^(E-F). The sum of
//     the truncated terms is exact.
//  3. The sum is rounded to the output. A zero is +0, of a sum that rounds to
//     nothing, that cancels, or whose terms are all -0; overflow gives infinity.
//     A NaN anywhere, 0·∞, or infinities of both signs give the canonical NaN,
//     0x7fffffff (0x7fff in f16); otherwise an infinity wins.
//
// With F = 25 and bf16 the terms of one sum, most significant bit left, look
// like this:
//
//	                    2^E                     2^(E-25)
//	                     │                          │
//	ea+eb = E        x x.xxxxxxxxxxxxxx00000000000  │
//	ea+eb = E-20                       x x.xxxxxxxxx│xxxxx    cut off
//	C, e = E-3           0  0x.xxxxxxxxxxxxxxxxxxxxx│xx
//	                 ───────────────────────────────┤
//	sum            x xxx.xxxxxxxxxxxxxxxxxxxxxxxxxxx│         exact, then rounded
//
// The kinds differ in:
//
//	A, B                L   F    output
//	bf16, f16          16  25    f32, truncated
//	tf32                8  25    f32, truncated
//	e4m3, e5m2         32  13    f32, truncated to 13 fraction bits
//	f16                16  25    f16, to nearest even
//	e4m3, e5m2         32  13    f16, to nearest even
//
// A longer K is a chain of such steps: D of one is C of the next. Summation in
// f32, in whatever order, gives other bits.
//
// # Two implementations
//
// [Spec.Step] is the rule in integers, written to be read. [Spec.Multiply] is
// the rule for tiles in float64, and much faster: float64 holds every product
// and C exactly, so a term scaled by 2^(F-E) and converted to an integer, which
// truncates toward zero, is the term in units of 2^(E-F). Its operands are
// [Panel], decoded once for all the rows or columns they meet.
//
// Integer products are plain ([IntSpec]): the exact sum, wrapped or clamped.
//
// Beside the tensor core are the layout of its operands in registers ([Place]) and
// tanh.approx ([TanhApprox]).
package hopper

// The files:
//
//	format                   how numbers of each type are decoded
//	step                     Spec, and the rule in integers
//	panel, select, multiply  the rule for tiles; what a sparse A selects
//	integer                  the same for integers
//	fragment, tanh           what is not arithmetic of the tensor core
