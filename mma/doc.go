// Package mma is mma.sync, the matrix instruction of one warp (PTX ISA 9.1, section 9.7.14.5), as a Hopper GPU computes
// it, bit for bit: which instructions there are ([Op]), where the elements of their operands lie in registers
// ([Fragment]), and what they make of them ([Warp.MMA]); and mma.sp, the same with a sparse A ([Warp.MMASparse]). The
// recordings of an H200 are replayed by the tests. In a kernel a warp of package sm executes both, on what ldmatrix has
// loaded.
//
// One instruction computes D = A·B + C, all in registers. Of bf16 in m16n8k16 lane l has the elements of two rows of A,
// of one column of B, at k = 2(l%4), the next, and eight further, and of two rows of D:
//
//	                        B, K × 8
//	                        ┌──────────┐
//	                        │          │ column l/4
//	 A, 16 × K              └──────────┘
//	┌───────────────────┐   ┌──────────┐
//	│ row l/4           │   │          │ registers 0 and 1 of D, columns 2(l%4) and the next
//	├───────────────────┤   ├──────────┤
//	│ row l/4 + 8       │   │          │ registers 2 and 3, the same columns
//	└───────────────────┘   └──────────┘
//
// D may be the C of the next instruction. Two D in f16, side by side, are also A of m16n8k16, register by register; so
// are two in f32, of which every two elements in one row have been rounded into one register.
//
// # Instructions
//
//	A, B               C, D        shapes
//	bf16               f32         m16n8k8, m16n8k16
//	f16                f32, f16    m16n8k8, m16n8k16
//	tf32               f32         m16n8k4, m16n8k8
//	e4m3, e5m2         f32, f16    m16n8k16, m16n8k32
//	s8, u8             s32         m8n8k16, m16n8k16, m16n8k32
//	b1                 s32         m8n8k128, m16n8k128, m16n8k256
//	f64                f64         m8n8k4, m16n8k4, m16n8k8, m16n8k16
//
// and with a sparse A, of which half is stored (mma.sp, section 9.7.14.6; [Metadata] says which half, [Compress] makes
// both), each with one to four selectors ([Op.Selectors]):
//
//	bf16               f32         m16n8k16, m16n8k32
//	f16                f32, f16    m16n8k16, m16n8k32
//	tf32               f32         m16n8k8, m16n8k16
//	e4m3, e5m2         f32         m16n8k64
//	s8, u8             s32         m16n8k32, m16n8k64
//
// Types of A and B that share a line may be mixed; bits have two products ([BitOp]). What is not here: f16 in m8n8k4,
// which is for older GPUs, types of 4 bits, and rounding of f64 but to nearest even.
//
// # Arithmetic
//
// Of bf16, f16 and tf32 every element of D is one fused sum, by the rule of wgmma with F = 25 (package wgmma has it),
// however long K is. Of integers the sum is exact, and wraps, or is clamped if Saturate is set. The kernels of package
// asm with Hopper's arithmetic compute it; where none runs, plain Go does. Of bits the ones among the xor, or the and,
// of A's and B's are added to C, which wraps.
//
// Floats of 8 bits have no such instruction: the compiler makes two of f16. The first sums the products whose k/2 is
// even, the second adds to that those whose k/2 is odd, both by the rule of f16, with D's type. C is added last, and
// that sum rounded to nearest even. So the bits are not those of wgmma, which keeps fewer.
//
// With a sparse A all this is so of what is stored and what that meets of B; k counts what is stored.
//
// Of f64 an element is a chain of fused multiply-adds, k ascending, each rounded to nearest even. Of several NaNs that
// of B counts before the sum's, and that before A's; it is made quiet. The NaN of infinities is 0xfff8000000000000.
package mma

// The files, each before those that it uses:
//
//	mma         Warp, and how registers become rows of operands
//	arithmetic  elements of 8, of 64 and of one bit
//	product     all others, by assembly or in plain Go
//	sparse      Metadata, and what a sparse A meets of B
//	fragment    which elements a lane has
//	op          types, shapes, and which there are
