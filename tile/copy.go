package tile

import (
	"fmt"

	"example.com/leafhopper/barrier"
)

// Load copies the box at coord, innermost coordinate first, from the tensor
// into shared memory at offset, then completes the bytes of the whole box on
// bar, however much of it lay outside the tensor (PTX
// cp.async.bulk.tensor.tile.shared::cta.global.mbarrier::complete_tx::bytes).
// A nil bar is not signalled. Load returns when the copy is done; [Thread] has
// the asynchrony of the instruction.
//
// Elements outside the tensor become the fill of the map; coordinates may be
// negative or past the end. The TF32 types are rounded to tf32 on the way. In
// a swizzled box narrower than its span, the rest of each span is not written.
//
// Load reports an error, and neither writes nor signals, when coord has not
// one coordinate for each dimension, when the inner coordinate is not a
// multiple of 16 bytes (the hardware faults), when offset is not a multiple of
// 128, when the box does not fit dst, when m has no memory, or when bar cannot
// take the bytes: it is not alive, or their balance would leave its range.
//
// Through an im2col map (.im2col) the coordinates C, W, [H, [D,]] N are followed by
// the offsets of W, H and D, of 16, 8 or 5 bits in rank 3, 4 or 5 (of more the
// hardware takes the low ones, here it is an error). A start outside the bounding box
// is an error (the hardware faults).
func Load(dst *Shared, offset int, m *TensorMap, coord []int32, bar *barrier.Barrier) error {
	if err := checkLoad(dst, offset, m, coord); err != nil {
		return err
	}
	if err := checkBarrier("load", bar, m.BoxBytes()); err != nil {
		return err
	}
	m.load(dst.mem, offset, coord)
	if bar != nil {
		bar.CompleteTx(m.BoxBytes())
	}
	return nil
}

// Store copies a box from shared memory at offset to coord of the tensor (PTX
// cp.async.bulk.tensor.tile.global.shared::cta). Elements outside are dropped,
// but along dimension 0 the hardware clips in granules of 16 bytes: one whose
// first byte lies inside the tensor is written whole, into the padding behind
// the row. Only at the end of Config.Global is such a granule cut short.
//
// Store reports an error, and writes nothing, under the conditions of Load and
// when any coordinate is negative (the hardware faults). Through an im2col map
// (.im2col_no_offs) there are no offsets, and the bounding box must lie inside the
// tensor (the hardware faults).
//
// Stores through a map whose rows overlap, or whose padding is another row's
// data, write those bytes in no defined order.
func Store(m *TensorMap, coord []int32, src *Shared, offset int) error {
	if err := checkStoreTile(m, coord, src, offset); err != nil {
		return err
	}
	m.store(coord, src.mem, offset)
	return nil
}

func checkLoad(dst *Shared, offset int, m *TensorMap, coord []int32) error {
	if err := m.checkRead("load", coord); err != nil {
		return err
	}
	return dst.checkTile("load", "destination", m, offset)
}

func checkStoreTile(m *TensorMap, coord []int32, src *Shared, offset int) error {
	if err := m.checkWrite("store", coord); err != nil {
		return err
	}
	return src.checkTile("store", "source", m, offset)
}

// checkRead validates a copy from global memory.
func (m *TensorMap) checkRead(op string, coord []int32) error {
	if m == nil || !m.im2col {
		return m.check(op, coord)
	}
	n := m.rank - 2
	if len(coord) != m.rank+n {
		return fmt.Errorf("tile: %s: %d coordinates for an im2col map of rank %d, want %[3]d and %d offsets",
			op, len(coord), m.rank, n)
	}
	if err := m.checkOffsets(op, coord[m.rank:]); err != nil {
		return err
	}
	return m.check(op, coord[:m.rank])
}

// check validates what loads and stores have in common.
func (m *TensorMap) check(op string, coord []int32) error {
	switch {
	case m == nil:
		return fmt.Errorf("tile: %s: tensor map is nil", op)
	case m.global == nil:
		return fmt.Errorf("tile: %s: tensor map has no global memory", op)
	case m.wide >= 0:
		return fmt.Errorf("tile: %s: dimension %d of the map has %d elements, over 2^31 (the hardware faults)",
			op, m.wide, m.dims[m.wide])
	case len(coord) != m.rank:
		return fmt.Errorf("tile: %s: %d coordinates for a map of rank %d", op, len(coord), m.rank)
	case int64(coord[0])*int64(m.elem)%16 != 0:
		return fmt.Errorf("tile: %s: inner coordinate %d of %v is %d bytes, not a multiple of 16",
			op, coord[0], m.typ, int64(coord[0])*int64(m.elem))
	case m.im2col:
		return m.checkStart(op, coord)
	}
	return nil
}

// checkWrite validates a copy into global memory.
func (m *TensorMap) checkWrite(op string, coord []int32) error {
	if err := m.check(op, coord); err != nil {
		return err
	}
	for d, c := range coord {
		if c < 0 {
			return fmt.Errorf("tile: %s: coordinate %d of dimension %d is negative", op, c, d)
		}
	}
	if m.im2col {
		return m.checkInside(op)
	}
	return nil
}

// A window is the part of a box inside the tensor: the elements lo <= i < hi of
// each dimension. Because both are boxes, so is their intersection.
type window struct {
	lo, hi [maxRank]int
	at     int64 // offset in global memory of the element at index 0, inside or not

	// In im2col mode only the channels are clipped so. These coordinates say which pixels are inside.
	column []int32
}

// window intersects the box at coord with the tensor.
func (m *TensorMap) window(coord []int32) (w window) {
	if m.im2col {
		w.hi = m.n
		w.lo[0], w.hi[0] = m.clip(0, int64(coord[0]), m.n[0])
		w.column = coord
		return w
	}
	for d := range maxRank {
		w.hi[d] = m.n[d]
		if d >= m.rank {
			continue
		}
		c := int64(coord[d])
		w.lo[d], w.hi[d] = m.clip(d, c, m.n[d])
		// A product that wraps belongs to a coordinate outside; the sum is used
		// only after the indices inside have been added back, exact modulo 2^64.
		w.at += c * (m.stride[d] / m.step[d])
	}
	return w
}

// clip returns which of n elements that begin at coordinate c of a dimension lie in the tensor: lo to hi-1.
func (m *TensorMap) clip(d int, c int64, n int) (lo, hi int) {
	if c < 0 {
		lo = int(min(ceilDiv(-c, m.step[d]), int64(n)))
	}
	inside := int64(0)
	if c < m.dims[d] {
		inside = ceilDiv(m.dims[d]-c, m.step[d])
	}
	return lo, max(lo, int(min(inside, int64(n))))
}

// ceilDiv returns ceil(a/b) for positive a and b.
func ceilDiv(a, b int64) int64 {
	if b == 1 {
		return a
	}
	return (a + b - 1) / b
}

func (w *window) empty() bool {
	for d := range maxRank {
		if w.lo[d] == w.hi[d] {
			return true
		}
	}
	return false
}

// A plane is a stretch of rows of a box along dimension 1, the unit that the
// row copiers work on.
type plane struct {
	shared int // address of the first byte in shared memory, before the swizzle
	global int // offset of the first byte in global memory
	rows   int
}

// planes calls yield for the planes of w in a tile at offset.
func (m *TensorMap) planes(w *window, offset int, yield func(plane)) {
	if w.empty() {
		return
	}
	if w.column != nil {
		m.pixels(w, offset, yield)
		return
	}
	at := w.at + int64(w.lo[0])*m.stride[0] + int64(w.lo[1])*m.stride[1]
	for i4 := w.lo[4]; i4 < w.hi[4]; i4++ {
		for i3 := w.lo[3]; i3 < w.hi[3]; i3++ {
			for i2 := w.lo[2]; i2 < w.hi[2]; i2++ {
				row := ((i4*m.n[3]+i3)*m.n[2]+i2)*m.n[1] + w.lo[1]
				yield(plane{
					shared: offset + row*m.pitch + w.lo[0]*m.elem,
					global: int(at + int64(i2)*m.stride[2] + int64(i3)*m.stride[3] + int64(i4)*m.stride[4]),
					rows:   w.hi[1] - w.lo[1],
				})
			}
		}
	}
}

func (m *TensorMap) load(dst []byte, offset int, coord []int32) {
	w := m.window(coord)
	if w.lo != ([maxRank]int{}) || w.hi != m.n || m.im2col {
		m.fillBox(dst, offset)
	}
	n := (w.hi[0] - w.lo[0]) * m.elem
	m.planes(&w, offset, func(p plane) { m.gather(dst, m.global, p, n) })
}

func (m *TensorMap) store(coord []int32, src []byte, offset int) {
	w := m.window(coord)
	n := m.granules(&w)
	m.planes(&w, offset, func(p plane) { m.scatter(m.global, src, p, n) })
}

// granules returns the bytes of a row of w that a write touches. The inner
// coordinate is a multiple of 16 bytes and so is the box row: rounding up
// completes the last granule and stays in the box.
func (m *TensorMap) granules(w *window) int {
	return (w.hi[0]*m.elem + chunk - 1) &^ (chunk - 1)
}
