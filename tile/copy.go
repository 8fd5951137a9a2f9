package tile

import (
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
	if err := checkStore(m, coord, src, offset); err != nil {
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

func checkStore(m *TensorMap, coord []int32, src *Shared, offset int) error {
	if err := m.checkWrite("store", coord); err != nil {
		return err
	}
	return src.checkTile("store", "source", m, offset)
}

// checkRead validates a copy from global memory.
func (m *TensorMap) checkRead(op string, coord []int32) error {
	if m == nil || m.cfg.Im2col == nil {
		return m.check(op, coord)
	}
	n := m.rank - 2
	if len(coord) != m.rank+n {
		return misuse(RuleMap, "%s: %d coordinates for an im2col map of rank %d, want %[3]d and %d offsets",
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
		return misuse(RuleMap, "%s: tensor map is nil", op)
	case m.cfg.Global == nil:
		return misuse(RuleMap, "%s: tensor map has no global memory", op)
	case m.wide >= 0:
		return misuse(RuleMap, "%s: dimension %d of the map has %d elements, over 2^31 (the hardware faults)",
			op, m.wide, m.dims[m.wide])
	case len(coord) != m.rank:
		return misuse(RuleMap, "%s: %d coordinates for a map of rank %d", op, len(coord), m.rank)
	case int64(coord[0])*int64(m.elem)%16 != 0:
		return misuse(RuleAlignment, "%s: inner coordinate %d of %v is %d bytes, not a multiple of 16",
			op, coord[0], m.cfg.DataType, int64(coord[0])*int64(m.elem))
	case m.cfg.Im2col != nil:
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
			return misuse(RuleMap, "%s: coordinate %d of dimension %d is negative", op, c, d)
		}
	}
	if m.cfg.Im2col != nil {
		return m.checkInside(op)
	}
	return nil
}
