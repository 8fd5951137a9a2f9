//go:build amd64 && !purego

#include "textflag.h"

// func combine(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int, alpha, beta float32)
//
//	DI dst   R8 ldd   SI acc   R9 lda   BX rows left   DX cols·4   CX offset in a row   Y0 alpha   Y1 beta
TEXT ·combine(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R8
	MOVQ acc+16(FP), SI
	MOVQ lda+24(FP), R9
	MOVQ rows+32(FP), BX
	MOVQ cols+40(FP), DX
	VBROADCASTSS alpha+48(FP), Y0
	VBROADCASTSS beta+52(FP), Y1
	SHLQ $2, DX
	VXORPS X2, X2, X2
	// A NaN is not equal to zero, and not below or above it either.
	VUCOMISS X2, X1
	JNE both
	JPS both

scale:
	XORQ CX, CX

scaleloop:
	VMULPS (SI)(CX*1), Y0, Y3
	VMOVUPS Y3, (DI)(CX*1)
	ADDQ $32, CX
	CMPQ CX, DX
	JLT scaleloop
	ADDQ R8, DI
	ADDQ R9, SI
	DECQ BX
	JNZ scale
	VZEROUPPER
	RET

both:
	// Rows of C lie on pages of their own, where the hardware prefetches nothing. The line in which a row begins before it came with
	// the panel before.
	LEAQ (DI)(R8*8), R10
	PREFETCHT0 63(R10)
	PREFETCHT0 127(R10)
	XORQ CX, CX

bothloop:
	VMULPS (SI)(CX*1), Y0, Y3
	VMULPS (DI)(CX*1), Y1, Y4
	VADDPS Y4, Y3, Y3
	VMOVUPS Y3, (DI)(CX*1)
	ADDQ $32, CX
	CMPQ CX, DX
	JLT bothloop
	ADDQ R8, DI
	ADDQ R9, SI
	DECQ BX
	JNZ both
	VZEROUPPER
	RET

// func add(dst unsafe.Pointer, ldd int, acc unsafe.Pointer, lda, rows, cols int)
//
//	DI dst   R8 ldd   SI acc   R9 lda   BX rows left   DX cols·4   CX offset in a row   R10 the last with four vectors after it
TEXT ·add(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R8
	MOVQ acc+16(FP), SI
	MOVQ lda+24(FP), R9
	MOVQ rows+32(FP), BX
	MOVQ cols+40(FP), DX
	SHLQ $2, DX
	LEAQ -128(DX), R10

sums:
	XORQ CX, CX
	CMPQ CX, R10
	JGT sum

foursums:
	VMOVUPS (SI)(CX*1), Y0
	VMOVUPS 32(SI)(CX*1), Y1
	VMOVUPS 64(SI)(CX*1), Y2
	VMOVUPS 96(SI)(CX*1), Y3
	VADDPS (DI)(CX*1), Y0, Y0
	VADDPS 32(DI)(CX*1), Y1, Y1
	VADDPS 64(DI)(CX*1), Y2, Y2
	VADDPS 96(DI)(CX*1), Y3, Y3
	VMOVUPS Y0, (DI)(CX*1)
	VMOVUPS Y1, 32(DI)(CX*1)
	VMOVUPS Y2, 64(DI)(CX*1)
	VMOVUPS Y3, 96(DI)(CX*1)
	ADDQ $128, CX
	CMPQ CX, R10
	JLE foursums
	CMPQ CX, DX
	JGE summed

sum:
	VMOVUPS (SI)(CX*1), Y0
	VADDPS (DI)(CX*1), Y0, Y0
	VMOVUPS Y0, (DI)(CX*1)
	ADDQ $32, CX
	CMPQ CX, DX
	JLT sum

summed:
	ADDQ R8, DI
	ADDQ R9, SI
	DECQ BX
	JNZ sums
	VZEROUPPER
	RET

// func copyRows(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int)
//
//	DI dst   R8 ldd   SI src   R9 lds   BX rows left   DX n   CX offset in a row   R10, R11 rows to prefetch
TEXT ·copyRows(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ ldd+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ lds+24(FP), R9
	MOVQ rows+32(FP), BX
	MOVQ n+40(FP), DX

row:
	// Both ends of the row, which may lie in two lines.
	LEAQ (DI)(R8*8), R10
	LEAQ (SI)(R9*8), R11
	PREFETCHT0 (R10)
	PREFETCHT0 -1(R10)(DX*1)
	PREFETCHT0 (R11)
	PREFETCHT0 -1(R11)(DX*1)
	XORQ CX, CX

rowloop:
	VMOVDQU (SI)(CX*1), X0
	VMOVDQU X0, (DI)(CX*1)
	ADDQ $16, CX
	CMPQ CX, DX
	JLT rowloop
	ADDQ R8, DI
	ADDQ R9, SI
	DECQ BX
	JNZ row
	RET
