//go:build amd64 && !purego

#include "textflag.h"

// upper selects the upper halves of 32 dwords that lie in two registers.
DATA upper<>+0(SB)/8, $0x0007000500030001
DATA upper<>+8(SB)/8, $0x000f000d000b0009
DATA upper<>+16(SB)/8, $0x0017001500130011
DATA upper<>+24(SB)/8, $0x001f001d001b0019
DATA upper<>+32(SB)/8, $0x0027002500230021
DATA upper<>+40(SB)/8, $0x002f002d002b0029
DATA upper<>+48(SB)/8, $0x0037003500330031
DATA upper<>+56(SB)/8, $0x003f003d003b0039
GLOBL upper<>(SB), RODATA|NOPTR, $64

// ROUND512 leaves in the upper half of each dword of r the BF16 nearest to the
// float32 in x. Z29 holds 1, Z30 0x7fff and Z31 the quiet bit in each dword.
#define ROUND512(x, r, nan) \
	VCMPPS $3, x, x, nan   \
	VPSRLD $16, x, r       \
	VPANDD Z29, r, r       \
	VPADDD Z30, r, r       \
	VPADDD x, r, r         \
	VPORD  Z31, x, nan, r

// func encodeAVX512(dst *BF16, src *float32, n int)
TEXT ·encodeAVX512(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), CX
	VMOVDQU64    upper<>(SB), Z28
	MOVL         $1, AX
	VPBROADCASTD AX, Z29
	MOVL         $0x7fff, AX
	VPBROADCASTD AX, Z30
	MOVL         $0x00400000, AX
	VPBROADCASTD AX, Z31
	SUBQ         $64, CX
	JLT          tail64

	PCALIGN $64

loop64:
	VMOVUPS   (SI), Z0
	VMOVUPS   64(SI), Z1
	VMOVUPS   128(SI), Z2
	VMOVUPS   192(SI), Z3
	ROUND512(Z0, Z4, K1)
	ROUND512(Z1, Z5, K2)
	ROUND512(Z2, Z6, K3)
	ROUND512(Z3, Z7, K4)
	VPERMT2W  Z5, Z28, Z4
	VPERMT2W  Z7, Z28, Z6
	VMOVDQU64 Z4, (DI)
	VMOVDQU64 Z6, 64(DI)
	ADDQ      $256, SI
	ADDQ      $128, DI
	SUBQ      $64, CX
	JGE       loop64

tail64:
	ADDQ      $32, CX
	JLT       tail32
	VMOVUPS   (SI), Z0
	VMOVUPS   64(SI), Z1
	ROUND512(Z0, Z4, K1)
	ROUND512(Z1, Z5, K2)
	VPERMT2W  Z5, Z28, Z4
	VMOVDQU64 Z4, (DI)
	ADDQ      $128, SI
	ADDQ      $64, DI
	SUBQ      $32, CX

tail32:
	// CX+32 elements are left, 0 to 31: masks for the result and for the
	// two registers it comes from.
	ADDQ      $32, CX
	JEQ       done
	MOVL      $1, AX
	SHLL      CX, AX
	DECL      AX
	KMOVD     AX, K5
	KMOVW     AX, K6
	SHRL      $16, AX
	KMOVW     AX, K7
	VMOVUPS.Z (SI), K6, Z0
	VMOVUPS.Z 64(SI), K7, Z1
	ROUND512(Z0, Z4, K1)
	ROUND512(Z1, Z5, K2)
	VPERMT2W  Z5, Z28, Z4
	VMOVDQU16 Z4, K5, (DI)

done:
	VZEROUPPER
	RET

// func decodeAVX512(dst *float32, src *BF16, n int)
TEXT ·decodeAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $64, CX
	JLT  tail

	PCALIGN $64

loop:
	VPMOVZXWD (SI), Z0
	VPMOVZXWD 32(SI), Z1
	VPMOVZXWD 64(SI), Z2
	VPMOVZXWD 96(SI), Z3
	VPSLLD    $16, Z0, Z0
	VPSLLD    $16, Z1, Z1
	VPSLLD    $16, Z2, Z2
	VPSLLD    $16, Z3, Z3
	VMOVUPS   Z0, (DI)
	VMOVUPS   Z1, 64(DI)
	VMOVUPS   Z2, 128(DI)
	VMOVUPS   Z3, 192(DI)
	ADDQ      $128, SI
	ADDQ      $256, DI
	SUBQ      $64, CX
	JGE       loop

tail:
	ADDQ $48, CX
	JLT  tail16

loop16:
	VPMOVZXWD (SI), Z0
	VPSLLD    $16, Z0, Z0
	VMOVUPS   Z0, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JGE       loop16

tail16:
	ADDQ        $16, CX
	JEQ         done
	MOVL        $1, AX
	SHLL        CX, AX
	DECL        AX
	KMOVW       AX, K1
	VPMOVZXWD.Z (SI), K1, Z0
	VPSLLD      $16, Z0, Z0
	VMOVUPS     Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// ROUND256 leaves in the upper half of each dword of r the BF16 nearest to the
// float32 in x, unless that is a NaN. Y13 holds 1 and Y14 0x7fff in each dword.
#define ROUND256(x, r) \
	VPSRLD $16, x, r   \
	VPAND  Y13, r, r   \
	VPADDD Y14, r, r   \
	VPADDD x, r, r

// QUIET256 corrects r where x is a NaN. Y15 holds the quiet bit in each dword; x
// and nan are overwritten.
#define QUIET256(x, r, nan) \
	VCMPPS    $3, x, x, nan \
	VPOR      Y15, x, x     \
	VBLENDVPS nan, x, r, r

// func encodeAVX2(dst *BF16, src *float32, n int)
TEXT ·encodeAVX2(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVL         $1, AX
	VMOVD        AX, X13
	VPBROADCASTD X13, Y13
	MOVL         $0x7fff, AX
	VMOVD        AX, X14
	VPBROADCASTD X14, Y14
	MOVL         $0x00400000, AX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15
	SUBQ         $32, CX
	JLT          tail

	PCALIGN $64

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	ROUND256(Y0, Y4)
	ROUND256(Y1, Y5)
	ROUND256(Y2, Y6)
	ROUND256(Y3, Y7)

	// One comparison finds a NaN in either of two registers. Most data has
	// none, and without masked operations the correction costs a quarter of
	// the loop.
	VCMPPS    $3, Y0, Y1, Y8
	VCMPPS    $3, Y2, Y3, Y9
	VORPS     Y9, Y8, Y8
	VMOVMSKPS Y8, AX
	TESTL     AX, AX
	JNE       nan

pack:
	VPSRLD    $16, Y4, Y4
	VPSRLD    $16, Y5, Y5
	VPSRLD    $16, Y6, Y6
	VPSRLD    $16, Y7, Y7
	VPACKUSDW Y5, Y4, Y4
	VPACKUSDW Y7, Y6, Y6
	VPERMQ    $0xd8, Y4, Y4 // the pack works on each 128-bit half by itself
	VPERMQ    $0xd8, Y6, Y6
	VMOVDQU   Y4, (DI)
	VMOVDQU   Y6, 32(DI)
	ADDQ      $128, SI
	ADDQ      $64, DI
	SUBQ      $32, CX
	JGE       loop

tail:
	ADDQ      $16, CX
	JLT       done
	VMOVUPS   (SI), Y0
	VMOVUPS   32(SI), Y1
	ROUND256(Y0, Y4)
	ROUND256(Y1, Y5)
	QUIET256(Y0, Y4, Y8)
	QUIET256(Y1, Y5, Y8)
	VPSRLD    $16, Y4, Y4
	VPSRLD    $16, Y5, Y5
	VPACKUSDW Y5, Y4, Y4
	VPERMQ    $0xd8, Y4, Y4
	VMOVDQU   Y4, (DI)

done:
	VZEROUPPER
	RET

nan:
	QUIET256(Y0, Y4, Y8)
	QUIET256(Y1, Y5, Y8)
	QUIET256(Y2, Y6, Y8)
	QUIET256(Y3, Y7, Y8)
	JMP pack

// func decodeAVX2(dst *float32, src *BF16, n int)
TEXT ·decodeAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $16, CX
	JLT  done

	PCALIGN $64

loop:
	VPMOVZXWD (SI), Y0
	VPMOVZXWD 16(SI), Y1
	VPSLLD    $16, Y0, Y0
	VPSLLD    $16, Y1, Y1
	VMOVDQU   Y0, (DI)
	VMOVDQU   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JGE       loop

done:
	VZEROUPPER
	RET
