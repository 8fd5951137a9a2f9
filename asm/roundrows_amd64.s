//go:build amd64 && !purego

#include "textflag.h"

// firstEight is masks of dwords: the eight that begin n dwords before its middle have the first n.
DATA ·firstEight<>+0(SB)/8, $-1
DATA ·firstEight<>+8(SB)/8, $-1
DATA ·firstEight<>+16(SB)/8, $-1
DATA ·firstEight<>+24(SB)/8, $-1
GLOBL ·firstEight<>(SB), RODATA|NOPTR, $64

// ONES sets the constants of NEAR: Y13 is 1, Y14 0x7fff and Y15 the quiet bit in each dword.
#define ONES \
	VPCMPEQD Y13, Y13, Y13 \
	VPSRLD   $17, Y13, Y14 \
	VPSRLD   $31, Y13, Y13 \
	VPSLLD   $22, Y13, Y15

// NEAR leaves in each dword of x the bf16 nearest to the float32 there. A NaN keeps its upper half and becomes quiet.
#define NEAR(x, r, nan) \
	VCMPPS    $3, x, x, nan    \
	VPSRLD    $16, x, r        \
	VPAND     Y13, r, r        \
	VPADDD    Y14, r, r        \
	VPADDD    x, r, r          \
	VPOR      Y15, x, x        \
	VBLENDVPS nan, x, r, x     \
	VPSRLD    $16, x, x

// ROWS starts a function: DI dst, R8 ldd, SI src, R9 lds, BX rows left, DX n, R12 n a multiple of 32 elements, to be stored past the
// caches if R13 is not 0.
#define ROWS \
	MOVQ    dst+0(FP), DI   \
	MOVQ    ldd+8(FP), R8   \
	MOVQ    src+16(FP), SI  \
	MOVQ    lds+24(FP), R9  \
	MOVQ    rows+32(FP), BX \
	MOVQ    n+40(FP), DX    \
	MOVBLZX past+48(FP), R13

// ROW starts a row: CX elements behind. Both ends of a row to come, which may lie in two lines, are brought closer.
#define ROW \
	LEAQ        (DI)(R8*8), R10   \
	PREFETCHT0  (R10)             \
	PREFETCHT0  -1(R10)(DX*2)     \
	XORQ        CX, CX

// NEXT goes to the next row.
#define NEXT \
	ADDQ R8, DI \
	ADDQ R9, SI \
	DECQ BX

// FIRST loads the AX elements of a row of src, 1 to 7, that begin at CX to x, and nothing after them. It changes R11.
#define FIRST(x, mask) \
	LEAQ       ·firstEight<>+32(SB), R11 \
	NEGQ       AX                        \
	VMOVDQU    (R11)(AX*4), mask         \
	NEGQ       AX                        \
	VMASKMOVPS (SI)(CX*4), mask, x

// REST writes the AX elements, 1 to 7, that X0 begins with to R10. It changes X0.
#define REST(two, one, done) \
	TESTQ   $4, AX       \
	JZ      two          \
	VMOVQ   X0, (R10)    \
	VPSRLDQ $8, X0, X0   \
	ADDQ    $8, R10      \
two:                     \
	TESTQ   $2, AX       \
	JZ      one          \
	VMOVD   X0, (R10)    \
	VPSRLDQ $4, X0, X0   \
	ADDQ    $4, R10      \
one:                     \
	TESTQ   $1, AX       \
	JZ      done         \
	VPEXTRW $0, X0, (R10)

// func roundRowsBF16(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool)
TEXT ·roundRowsBF16(SB), NOSPLIT, $0-49
	ROWS
	ONES
	TESTL R13, R13
	JNZ   past

row:
	ROW

loop:
	LEAQ    16(CX), AX
	CMPQ    AX, DX
	JGT     eight
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS 32(SI)(CX*4), Y1
	NEAR(Y0, Y2, Y3)
	NEAR(Y1, Y4, Y5)
	VPACKUSDW Y1, Y0, Y0
	VPERMQ  $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)(CX*2)
	MOVQ    AX, CX
	JMP     loop

eight:
	MOVQ    DX, AX
	SUBQ    CX, AX
	JZ      next
	LEAQ    (DI)(CX*2), R10
	CMPQ    AX, $8
	JLT     rest
	VMOVUPS (SI)(CX*4), Y0
	NEAR(Y0, Y2, Y3)
	VEXTRACTI128 $1, Y0, X1
	VPACKUSDW X1, X0, X0
	VMOVDQU X0, (R10)
	ADDQ    $8, CX
	JMP     eight

rest:
	FIRST(Y0, Y1)
	NEAR(Y0, Y2, Y3)
	VEXTRACTI128 $1, Y0, X1
	VPACKUSDW X1, X0, X0
	REST(two, one, next)

next:
	NEXT
	JNZ row
	VZEROUPPER
	RET

past:
	XORQ CX, CX

pastloop:
	// A line at a time, which is on its way at once.
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS 32(SI)(CX*4), Y1
	VMOVUPS 64(SI)(CX*4), Y6
	VMOVUPS 96(SI)(CX*4), Y7
	NEAR(Y0, Y2, Y3)
	NEAR(Y1, Y4, Y5)
	NEAR(Y6, Y2, Y3)
	NEAR(Y7, Y4, Y5)
	VPACKUSDW Y1, Y0, Y0
	VPACKUSDW Y7, Y6, Y6
	VPERMQ   $0xd8, Y0, Y0
	VPERMQ   $0xd8, Y6, Y6
	VMOVNTDQ Y0, (DI)(CX*2)
	VMOVNTDQ Y6, 32(DI)(CX*2)
	ADDQ     $32, CX
	CMPQ     CX, DX
	JLT      pastloop
	NEXT
	JNZ      past
	VZEROUPPER
	RET

// func roundRowsF16(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, n int, past bool)
//
// The immediate 0 of VCVTPS2PH asks for round to nearest even whatever MXCSR says.
TEXT ·roundRowsF16(SB), NOSPLIT, $0-49
	ROWS
	TESTL R13, R13
	JNZ   past

row:
	ROW

loop:
	LEAQ      16(CX), AX
	CMPQ      AX, DX
	JGT       eight
	VMOVUPS   (SI)(CX*4), Y0
	VMOVUPS   32(SI)(CX*4), Y1
	VCVTPS2PH $0, Y0, (DI)(CX*2)
	VCVTPS2PH $0, Y1, 16(DI)(CX*2)
	MOVQ      AX, CX
	JMP       loop

eight:
	MOVQ      DX, AX
	SUBQ      CX, AX
	JZ        next
	LEAQ      (DI)(CX*2), R10
	CMPQ      AX, $8
	JLT       rest
	VMOVUPS   (SI)(CX*4), Y0
	VCVTPS2PH $0, Y0, (R10)
	ADDQ      $8, CX
	JMP       eight

rest:
	FIRST(Y0, Y1)
	VCVTPS2PH $0, Y0, X0
	REST(two, one, next)

next:
	NEXT
	JNZ row
	VZEROUPPER
	RET

past:
	XORQ CX, CX

pastloop:
	VMOVUPS     (SI)(CX*4), Y0
	VMOVUPS     32(SI)(CX*4), Y1
	VMOVUPS     64(SI)(CX*4), Y2
	VMOVUPS     96(SI)(CX*4), Y3
	VCVTPS2PH   $0, Y0, X0
	VCVTPS2PH   $0, Y1, X1
	VCVTPS2PH   $0, Y2, X2
	VCVTPS2PH   $0, Y3, X3
	VINSERTI128 $1, X1, Y0, Y0
	VINSERTI128 $1, X3, Y2, Y2
	VMOVNTDQ    Y0, (DI)(CX*2)
	VMOVNTDQ    Y2, 32(DI)(CX*2)
	ADDQ        $32, CX
	CMPQ        CX, DX
	JLT         pastloop
	NEXT
	JNZ         past
	VZEROUPPER
	RET

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	SFENCE
	RET
