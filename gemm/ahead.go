package gemm

import (
	"unsafe"

	"example.com/leafhopper/asm"
)

// A copy from memory waits for memory, while a multiplication leaves it idle.
// So the microkernels, as they multiply one stage, bring closer what the copies
// of a later one will read: each call its share.

// feed is what the calls that multiply a stage share out among themselves.
type feed struct {
	a, b           asm.Ahead
	rowsA, rowsB   int // of a call's share
	callsA, callsB int
}

// feed returns what the copies of item will read, for so many calls.
func (r *ring) feed(item, calls int) (f feed) {
	if item >= r.items() {
		return f
	}
	row, col, step := r.tile(item)
	k0, k := r.depthOf(step)
	f.a = box(&r.a, !r.a.trans, row, min(r.m-row, r.bm*r.ctas), k0, k)
	if !r.bare() {
		f.b = r.reads(col, col+r.colsOf(col), k0, k)
	}
	chunksA, chunksB := f.a.Rows*f.a.Chunks, f.b.Rows*f.b.Chunks
	f.callsA = max(1, calls*chunksA/(chunksA+chunksB))
	f.callsB = max(1, calls-f.callsA)
	f.rowsA, f.rowsB = ceilDiv(f.a.Rows, f.callsA), ceilDiv(f.b.Rows, f.callsB)
	return f
}

// share returns the share of a call.
func (f *feed) share(call int) asm.Ahead {
	next, n := f.a, f.rowsA
	if call >= f.callsA {
		next, n, call = f.b, f.rowsB, call-f.callsA
	}
	first := call * n
	if first >= next.Rows {
		return asm.Ahead{}
	}
	next.Base = unsafe.Add(next.Base, first*next.Pitch)
	next.Rows = min(n, next.Rows-first)
	return next
}

// box returns the memory of n rows of v, or columns, from one on, and k elements
// of K from k0 on, which are contiguous or not.
func box(v *view, kContiguous bool, row, n, k0, k int) asm.Ahead {
	size := v.elem.Size()
	if !kContiguous {
		row, n, k0, k = k0, k, row, n
	}
	return asm.Ahead{
		Base:   unsafe.Add(v.ptr, (row*v.stride+k0)*size),
		Pitch:  v.stride * size,
		Rows:   n,
		Chunks: ceilDiv(k*size, asm.AheadChunk),
	}
}

// line returns n bytes that lie one after the other, cut into rows that calls
// can share.
func line(at unsafe.Pointer, n int) asm.Ahead {
	const row = 4 << 10
	return asm.Ahead{Base: at, Pitch: row, Rows: ceilDiv(n, row), Chunks: row / asm.AheadChunk}
}

// reads returns what packing the columns from .. to-1 of n elements of K from k0
// on will read, or multiplying them if they are packed.
func (p *product) reads(from, to, k0, n int) asm.Ahead {
	if p.b.packed {
		return line(p.packed.at(k0, from), ceilDiv(to-from, p.kernel.NR)*p.packed.panel(n))
	}
	return box(&p.b, p.b.trans, from, to-from, k0, n)
}

// feedOf shares memory of B out among calls.
func feedOf(b asm.Ahead, calls int) feed {
	return feed{b: b, callsB: calls, rowsB: ceilDiv(b.Rows, calls)}
}
