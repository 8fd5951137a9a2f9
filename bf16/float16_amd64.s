//go:build amd64 && !purego

#include "textflag.h"

// The immediate 0 of VCVTPS2PH asks for round to nearest even whatever MXCSR
// says; the conversion to half precision also ignores MXCSR's flush to zero.
// Both directions make NaNs quiet and keep the payload that fits, as
// x448/float16 does.

// func encodeFloat16AVX512(dst *float16.Float16, src *float32, n int)
TEXT ·encodeFloat16AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $64, CX
	JLT  tail

	PCALIGN $64

loop:
	VMOVUPS   (SI), Z0
	VMOVUPS   64(SI), Z1
	VMOVUPS   128(SI), Z2
	VMOVUPS   192(SI), Z3
	VCVTPS2PH $0, Z0, Y0
	VCVTPS2PH $0, Z1, Y1
	VCVTPS2PH $0, Z2, Y2
	VCVTPS2PH $0, Z3, Y3
	VMOVDQU   Y0, (DI)
	VMOVDQU   Y1, 32(DI)
	VMOVDQU   Y2, 64(DI)
	VMOVDQU   Y3, 96(DI)
	ADDQ      $256, SI
	ADDQ      $128, DI
	SUBQ      $64, CX
	JGE       loop

tail:
	ADDQ $48, CX
	JLT  tail16

loop16:
	VMOVUPS   (SI), Z0
	VCVTPS2PH $0, Z0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JGE       loop16

tail16:
	ADDQ      $16, CX
	JEQ       done
	MOVL      $1, AX
	SHLL      CX, AX
	DECL      AX
	KMOVW     AX, K1
	VMOVUPS.Z (SI), K1, Z0
	VCVTPS2PH $0, Z0, Y0
	VMOVDQU16 Y0, K1, (DI)

done:
	VZEROUPPER
	RET

// func decodeFloat16AVX512(dst *float32, src *float16.Float16, n int)
TEXT ·decodeFloat16AVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $64, CX
	JLT  tail

	PCALIGN $64

loop:
	VCVTPH2PS (SI), Z0
	VCVTPH2PS 32(SI), Z1
	VCVTPH2PS 64(SI), Z2
	VCVTPH2PS 96(SI), Z3
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
	VCVTPH2PS (SI), Z0
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
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	VMOVUPS     Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// func encodeFloat16F16C(dst *float16.Float16, src *float32, n int)
TEXT ·encodeFloat16F16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $16, CX
	JLT  done

	PCALIGN $64

loop:
	VMOVUPS   (SI), Y0
	VMOVUPS   32(SI), Y1
	VCVTPS2PH $0, Y0, X0
	VCVTPS2PH $0, Y1, X1
	VMOVDQU   X0, (DI)
	VMOVDQU   X1, 16(DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JGE       loop

done:
	VZEROUPPER
	RET

// func decodeFloat16F16C(dst *float32, src *float16.Float16, n int)
TEXT ·decodeFloat16F16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SUBQ $16, CX
	JLT  done

	PCALIGN $64

loop:
	VCVTPH2PS (SI), Y0
	VCVTPH2PS 16(SI), Y1
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JGE       loop

done:
	VZEROUPPER
	RET
