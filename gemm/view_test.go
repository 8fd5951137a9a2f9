package gemm

import (
	"math"
	"testing"
	"unsafe"

	"example.com/leafhopper/asm"
)

// TestStrideOfRow has rows so wide that on a 32-bit system they take most of memory: a stride, which may be anything,
// is bounded, but not to less than the columns, of which an epilogue finds each by the stride.
func TestStrideOfRow(t *testing.T) {
	var first float32
	for _, cols := range []int{1, mostStride - 1, mostStride, mostStride + 5, math.MaxInt / 4} {
		for _, stride := range []int{cols, math.MaxInt} {
			v := view{ptr: unsafe.Pointer(&first), rows: 1, cols: cols, stride: stride, len: cols, elem: asm.F32}
			if err := v.check("C"); err != nil || v.stride < cols || v.pitch() < v.stride {
				t.Errorf("%d columns, stride %d: %d, %v", cols, stride, v.stride, err)
			}
		}
	}
}
