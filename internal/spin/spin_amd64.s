//go:build amd64 && !purego

#include "textflag.h"

// func procyield(n int)
TEXT ·procyield(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX

again:
	PAUSE
	DECQ CX
	JNZ  again
	RET
