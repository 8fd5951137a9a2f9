package gemm

import (
	"context"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
	"example.com/leafhopper/internal/spin"
	"example.com/leafhopper/tile"
)

// panelsFor returns the view of rows x cols elements of type t in panels of k, without memory.
func panelsFor(k *asm.Kernel, t asm.Type, rows, cols int) view {
	return view{rows: rows, cols: cols, stride: plan.StageElements(k, t), elem: t, packed: true, kernel: k}
}

// What of a B with few columns Pack keeps as it is: panels of 24 or 32 columns would be mostly padding, and products of
// few elements are dot products. From here on that makes products by two and four columns 1.8 to 19 times as fast for
// one and two rows, 0.8 to 3.6 for four and eight, 0.7 to 1.4 for 16 and 64 (AVX-512, AMX, AVX2; Emerald Rapids, Zen 5;
// gemmbench compare -prepacked true -trans NT -size 1x2x8192,...,64x4x30000 -workers 1 -count 3 -min-time 1ms).
const (
	keptCols = 8  // columns, at most
	keptEach = 16 // blocks of K for each of them, at least
)

// keeps reports whether v has no panels but the columns of B, one after the other.
func (v *view) keeps() bool {
	return v.cols == 1 || v.cols <= keptCols && v.kernel.Arithmetic == asm.Native &&
		v.rows >= keptEach*v.cols*v.elem.Block()
}

// asColumns makes v the matrix of the columns that it keeps, if it does.
func (v *view) asColumns() {
	if v.packed && v.keeps() {
		v.packed, v.trans, v.stride = false, true, v.rows
	}
}

// hold gives v memory of n bytes for [stage of K][stored panel], or for the columns of B, and returns it.
func (v *view) hold(n int) []byte {
	v.ptr, v.len = unsafe.Pointer(unsafe.SliceData(tile.HeapSlots(n))), n/v.elem.Size()
	return v.memory()
}

// fillBytes are those of B that are packed in a call, which cannot be preempted.
const fillBytes = 256 << 10

// fill packs b to v, or says why ctx, which may be nil, has ended before or meanwhile.
func (v *view) fill(ctx context.Context, b *view) error {
	if err := ended.Err(ctx); err != nil {
		return err
	}
	if len(v.hold(int(v.wants()))) == 0 {
		return nil // no elements, however many rows or columns
	}
	var t spin.Turn
	t.Begin()
	size, keeps, columns := b.elem.Size(), v.keeps(), *v
	columns.asColumns()
	store, deep, most := v.kernel.StoreB(b.elem, b.trans), v.stride, fillBytes
	switch {
	case keeps && b.trans:
		deep = fillBytes / size
	case keeps:
		deep = fillBytes / plan.LineBytes // elements, each on a line of its own
	case v.kernel.Arithmetic == asm.Hopper:
		most /= 16 // for exponents are found, too
	}
	for k0 := 0; k0 < b.rows; k0 += deep {
		n := min(deep, b.rows-k0)
		width := max(1, most/(n*size*v.kernel.NR)) * v.kernel.NR
		if keeps {
			width = 1
		}
		for col := 0; col < b.cols; col += width {
			switch from := b.at(k0, col); {
			case !keeps:
				store(v.panel(k0, col), from, b.pitch(), min(width, b.cols-col), n)
			case b.trans:
				asm.CopyRows(columns.at(k0, col), 0, from, 0, 1, n*size)
			default:
				asm.CopyRows(columns.at(k0, col), size, from, b.pitch(), n, size)
			}
			t.Look()
			if err := ended.Err(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// wants returns the bytes of all panels. It cannot overflow: an element, of which B has them all, takes 16 KB at most.
func (v *view) wants() int64 {
	if v.keeps() {
		return int64(v.rows) * int64(v.cols*v.elem.Size())
	}
	strip := int64(v.rows/v.stride) * int64(v.kernel.StoredB(v.elem, v.stride))
	if rest := v.rows % v.stride; rest > 0 {
		strip += int64(v.kernel.StoredB(v.elem, rest))
	}
	return int64(plan.CeilDiv(v.cols, v.kernel.NR)) * strip
}

// panel returns the panel of column col in the stage of element k0 of K. If the panel is narrow, k0 may begin a block
// in it. A small product notices every division.
func (v *view) panel(k0, col int) unsafe.Pointer {
	k, n := v.kernel, 0
	if k0 > 0 {
		whole := k0 / v.stride
		n = whole*plan.CeilDiv(v.cols, k.NR)*k.StoredB(v.elem, v.stride) + (k0-whole*v.stride)*k.NR*v.elem.Size()
	}
	if col > 0 {
		n += col / k.NR * v.panelPitch(k0)
	}
	return unsafe.Add(v.ptr, n)
}

// panelPitch returns the bytes from a panel of the stage of element k0 of K to the next.
func (v *view) panelPitch(k0 int) int {
	return v.kernel.StoredB(v.elem, min(v.stride, v.rows-k0&^(v.stride-1)))
}
