package gemm

import (
	"context"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/ended"
	"example.com/leafhopper/internal/plan"
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

// lie makes v the matrix that its memory is as it lies, if it is to be read so: the columns that it keeps, or a panel.
func (v *view) lie() {
	switch {
	case !v.packed:
	case v.keeps():
		v.packed, v.trans, v.stride = false, true, v.rows
	case plan.Lies(v.kernel, v.elem, v.rows, v.cols):
		v.packed, v.stride = false, v.kernel.NR
	}
}

// hold gives v memory of n bytes for [stage of K][stored panel] and what is spread, or for the columns of B, and
// returns those.
func (v *view) hold(n int) []byte {
	v.ptr, v.len = unsafe.Pointer(unsafe.SliceData(tile.HeapSlots(n+v.spreads()))), n/v.elem.Size()
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
	if v.keeps() {
		columns, size, deep := *v, b.elem.Size(), fillBytes/plan.LineBytes // elements, each on a line of its own
		if columns.lie(); b.trans {
			deep = fillBytes / size
		}
		return ended.Walk(ctx, b.rows, b.cols, deep, 1, func(k0, n, col, _ int) {
			line := size
			if b.trans {
				n, line = 1, n*size
			}
			asm.CopyRows(columns.at(k0, col), size, b.at(k0, col), b.pitch(), n, line)
		})
	}
	store, deep, most := v.kernel.StoreB(b.elem, b.trans), min(v.stride, b.rows), fillBytes
	if v.kernel.Arithmetic == asm.Hopper {
		most /= 16 // for exponents are found, too
	}
	width := max(1, most/(deep*b.elem.Size()*v.kernel.NR)) * v.kernel.NR
	err := ended.Walk(ctx, b.rows, b.cols, deep, width, func(k0, n, col, cols int) {
		store(v.panel(k0, col), b.at(k0, col), b.pitch(), cols, n)
	})
	if err == nil {
		err = v.spread(ctx)
	}
	return err
}

// spreads returns the bytes of the few columns that v has behind a panel of pairs, too, which is mostly padding: where
// A is tall they are rows by the transpose of A.
func (v *view) spreads() int {
	k := v.kernel
	if v.rows < plan.TallK || v.cols > plan.FewColumns || k.Arithmetic != asm.Native || k.KPack == 1 ||
		k.Narrow(v.elem) || v.keeps() {
		return 0
	}
	return plan.CeilDiv(v.rows, 2) * v.cols * k.Word
}

// spread copies the columns from the panel, if there are to be any.
func (v *view) spread(ctx context.Context) error {
	if v.spreads() == 0 {
		return nil
	}
	pairs, word, pitch := plan.CeilDiv(v.rows, 2), v.kernel.Word, v.kernel.NR*v.kernel.Word
	to := unsafe.Add(v.ptr, v.len*v.elem.Size())
	return ended.Walk(ctx, pairs, v.cols, fillBytes/plan.LineBytes, 1, func(k0, n, col, _ int) {
		asm.CopyRows(unsafe.Add(to, (col*pairs+k0)*word), word, unsafe.Add(v.ptr, k0*pitch+col*word), pitch, n, word)
	})
}

// unpack makes v a matrix, of few columns, if it has a form that is one.
func (v *view) unpack() bool {
	switch k := v.kernel; {
	case !v.packed:
	case v.spreads() > 0:
		v.ptr, v.trans, v.stride = unsafe.Add(v.ptr, v.len*v.elem.Size()), true, plan.RoundUp(v.rows, 2)
		v.len = v.cols * v.stride
	case v.cols <= k.NR && (k.Narrow(v.elem) || k.Unpacked(v.elem) != nil):
		v.stride = k.NR
	default:
		return false
	}
	v.packed = false
	return true
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
