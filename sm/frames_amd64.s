//go:build amd64 && !purego

#include "textflag.h"

// func frames(pcs *stack) (id uintptr)
//
// A frame pointer points at the caller's, and the return address lies above that. The
// pointers rise; what does not is none of Go's, and ends the walk as the zero of a
// goroutine's first function does.
TEXT ·frames(SB), NOSPLIT, $0-16
	MOVQ pcs+0(FP), DI
	MOVQ BP, SI
	XORQ CX, CX

next:
	MOVQ 8(SI), AX
	MOVQ AX, (DI)(CX*8)
	INCQ CX
	CMPQ CX, $8
	JEQ  done
	MOVQ (SI), DX
	CMPQ DX, SI
	JLS  rest
	MOVQ DX, SI
	JMP  next

rest:
	MOVQ $0, (DI)(CX*8)
	INCQ CX
	CMPQ CX, $8
	JNE  rest

done:
	MOVQ (TLS), AX
	MOVQ AX, id+8(FP)
	RET
