package sm_test

import (
	"unsafe"

	"example.com/leafhopper/bf16"
)

func bf16Bytes(x []bf16.BF16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}
