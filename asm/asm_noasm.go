//go:build !amd64 || purego

package asm

// assembled says that this build has none.
const assembled = false

const hasAVX2, hasAVX512 = false, false

// No kernel has functions in assembly.
var avx512BF16, avx512, avx2, amx, hopper512, hopper256 functions
