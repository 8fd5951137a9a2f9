package gemm

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"example.com/leafhopper/asm"
)

// view is a Matrix without its type parameter: what the engine works on.
// rows and cols are those of the view, after transposition.
type view struct {
	ptr                     unsafe.Pointer
	rows, cols, stride, len int
	trans                   bool
	elem                    asm.Type
	packed                  bool        // ptr is panels, stride the elements of K in a stage of them, a power of two
	kernel                  *asm.Kernel // of a Packed that is not zero
}

// transpose makes v the view of the transpose.
func (v *view) transpose() {
	v.rows, v.cols = v.cols, v.rows
	v.trans = !v.trans
}

// swap exchanges v and w, word by word: a copy in vectors would wait for words that have just been written.
func (v *view) swap(w *view) {
	v.ptr, w.ptr = w.ptr, v.ptr
	v.rows, w.rows = w.rows, v.rows
	v.cols, w.cols = w.cols, v.cols
	v.stride, w.stride = w.stride, v.stride
	v.len, w.len = w.len, v.len
	v.trans, w.trans = w.trans, v.trans
	v.elem, w.elem = w.elem, v.elem
	v.packed, w.packed = w.packed, v.packed
	v.kernel, w.kernel = w.kernel, v.kernel
}

// row makes v, which has one row, what lies in memory: a row if its elements are neighbours.
func (v *view) row() {
	if v.trans && v.stride == 1 {
		v.trans, v.stride = false, v.cols
	}
}

// stored returns the rows and columns as they lie in memory.
func (v *view) stored() (rows, cols int) {
	if v.trans {
		return v.cols, v.rows
	}
	return v.rows, v.cols
}

// at returns the address of element (i, j), which may be one past an edge.
func (v *view) at(i, j int) unsafe.Pointer {
	if v.trans {
		i, j = j, i
	}
	return unsafe.Add(v.ptr, (i*v.stride+j)*v.elem.Size())
}

// memory returns the bytes from the first element to the last, or of all panels.
func (v *view) memory() []byte { return unsafe.Slice((*byte)(v.ptr), v.len*v.elem.Size()) }

// pitch returns the bytes from one row of memory to the next.
func (v *view) pitch() int { return v.stride * v.elem.Size() }

// extent is a part of memory, from an address to the one after the last.
type extent struct{ begin, end uintptr }

func (e extent) meets(f extent) bool { return e.begin < f.end && f.begin < e.end }

// with returns what reaches over e and f, which is f if e is nowhere.
func (e extent) with(f extent) extent { return extent{min(e.begin, f.begin), max(e.end, f.end)} }

var nowhere = extent{begin: math.MaxUint}

// extent returns where a view that is checked lies.
func (v *view) extent() extent {
	begin := uintptr(v.ptr)
	return extent{begin, begin + uintptr(v.len*v.elem.Size())}
}

// check reports why v cannot be used as the operand name. If it can, v.len becomes what
// v spans of its memory, which is none if v has no elements.
func (v *view) check(name string) error {
	rows, cols := v.stored()
	switch {
	case v.packed && name != "B":
		return fmt.Errorf("gemm: %s is packed; only B may be", name)
	case v.packed: // nobody else has its memory
		return nil
	case rows|cols < 0:
		return fmt.Errorf("gemm: %s has negative size %dx%d", name, v.rows, v.cols)
	case v.stride < cols && rows > 0:
		return fmt.Errorf("gemm: %s has stride %d, less than its %d stored columns", name, v.stride, cols)
	case min(rows, cols) == 0:
		v.ptr, v.len = nil, 0
		return nil
	}
	// (rows-1)*stride + cols <= len, without overflow.
	hi, lo := bits.Mul64(uint64(rows-1), uint64(v.stride))
	if cols > v.len || hi != 0 || lo > uint64(v.len-cols) {
		return fmt.Errorf("gemm: %s is %dx%d with stride %d but its Data holds only %d elements, not %.0f", name,
			v.rows, v.cols, v.stride, v.len, float64(rows-1)*float64(v.stride)+float64(cols))
	}
	v.len = int(lo) + cols
	if rows == 1 {
		v.stride = max(cols, min(v.stride, mostStride))
	}
	return nil
}

// mostStride is in bytes an int: the stride of a single row may be anything.
const mostStride = math.MaxInt / 16

// overlaps reports whether v and w, which are checked, share memory. Interleaved views,
// such as the left and right half of one wider matrix, span common addresses without
// sharing elements; those are told apart when both have the same row pitch.
func (v *view) overlaps(w *view) bool {
	return v.extent().meets(w.extent()) && v.beside(w) < 0
}

// beside returns how many bytes after the columns of w, in rows of the same pitch, those of v begin, whose
// extent meets that of w; less than 0 if they share some, or have another pitch.
func (v *view) beside(w *view) int {
	_, cols := v.stored()
	_, others := w.stored()
	p, width := v.pitch(), others*w.elem.Size()
	after := int(uintptr(v.ptr)-uintptr(w.ptr)) % p
	if after < 0 {
		after += p
	}
	if w.pitch() != p || after+cols*v.elem.Size() > p {
		return -1
	}
	return after - width
}

func is8Bit(t asm.Type) bool { return t == asm.E4M3 || t == asm.E5M2 }

// forward returns p + n, or nil if p is nil.
func forward(p unsafe.Pointer, n int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, n)
}
