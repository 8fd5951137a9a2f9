package tile

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"example.com/leafhopper/barrier"
)

// Load is the asynchronous [Load]. It also reports an error if bar is nil,
// because nothing else tells when the load is over. As the GPU faults when a
// copy completes a barrier that is not alive any more, the program panics.
func (t *Thread) Load(dst *Shared, offset int, m *TensorMap, coord []int32, bar *barrier.Barrier) error {
	if err := checkLoad(dst, offset, m, coord); err != nil {
		return err
	}
	if err := t.checkBarrier("load", bar, m.BoxBytes()); err != nil {
		return err
	}
	t.launch(m.tileTransfer(offset, coord, []receiver{{dst.mem, bar}}))
	return nil
}

// LoadMulticast is the asynchronous [Cluster.LoadMulticast]. Like
// [Thread.Load] it needs the barriers.
func (t *Thread) LoadMulticast(
	c Cluster, mask uint16, offset int, m *TensorMap, coord []int32, bars []barrier.Barrier,
) error {
	if err := c.checkTile(mask, offset, m, coord, bars); err != nil {
		return err
	}
	if err := t.checkBarriers("multicast", c, mask, bars, m.BoxBytes()); err != nil {
		return err
	}
	t.launch(m.tileTransfer(offset, coord, c.receivers(mask, bars)))
	return nil
}

// LoadBulk is the asynchronous [LoadBulk]. Like [Thread.Load] it needs the
// barrier.
func (t *Thread) LoadBulk(dst *Shared, offset int, src Global, at, size int, bar *barrier.Barrier) error {
	if err := checkLoadBulk(dst, offset, src, at, size); err != nil {
		return err
	}
	if err := t.checkBarrier("bulk load", bar, size); err != nil {
		return err
	}
	t.launch(bulkTransfer(offset, src.Bytes[at:at+size], bulkAlign, []receiver{{dst.mem, bar}}))
	return nil
}

// LoadBulkMulticast is the asynchronous [Cluster.LoadBulkMulticast]. Like
// [Thread.Load] it needs the barriers.
func (t *Thread) LoadBulkMulticast(
	c Cluster, mask uint16, offset int, src Global, at, size int, bars []barrier.Barrier,
) error {
	if err := c.checkBulk(mask, offset, src, at, size, bars); err != nil {
		return err
	}
	if err := t.checkBarriers("bulk multicast", c, mask, bars, size); err != nil {
		return err
	}
	t.launch(bulkTransfer(offset, src.Bytes[at:at+size], bulkAlign, c.receivers(mask, bars)))
	return nil
}

// CopyBulk is the asynchronous [CopyBulk]. Like [Thread.Load] it needs the
// barrier, whose completion also says that the source has been read.
func (t *Thread) CopyBulk(dst *Shared, offset int, src *Shared, from, size int, bar *barrier.Barrier) error {
	if err := checkExchange("bulk copy", dst, offset, src, from, size); err != nil {
		return err
	}
	if err := t.checkBarrier("bulk copy", bar, size); err != nil {
		return err
	}
	t.launch(bulkTransfer(offset, src.mem[from:from+size], bulkAlign, []receiver{{dst.mem, bar}}))
	return nil
}

// ReduceShared is the asynchronous [ReduceShared]. Like [Thread.CopyBulk] it
// needs the barrier.
func (t *Thread) ReduceShared(
	dst *Shared, offset int, op ReduceOp, typ DataType, src *Shared, from, size int, bar *barrier.Barrier,
) error {
	combine, err := checkReduceShared(dst, offset, op, typ, src, from, size)
	if err != nil {
		return err
	}
	if err := t.checkBarrier("shared reduce", bar, size); err != nil {
		return err
	}
	c := bulkTransfer(offset, src.mem[from:from+size], bulkAlign, []receiver{{dst.mem, bar}})
	c.put = func(dst, staged []byte, lo, hi int) {
		reduceBytes(dst[offset+lo*bulkAlign:offset+hi*bulkAlign], staged[lo*bulkAlign:], combine)
	}
	c.whole = nil
	t.launch(c)
	return nil
}

// checkBarrier validates the barrier that an asynchronous copy completes. The copy may land at once, so bar has to
// take its bytes now; with Execute it lands when that says, which may be when bar can.
func (t *Thread) checkBarrier(op string, bar *barrier.Barrier, bytes int) error {
	switch {
	case bar == nil:
		return errNoBarrier(op)
	case t.Execute != nil:
		return nil
	}
	return checkBarrier(op, bar, bytes)
}

// checkBarriers is the same for a multicast.
func (t *Thread) checkBarriers(op string, c Cluster, mask uint16, bars []barrier.Barrier, bytes int) error {
	switch {
	case bars == nil:
		return errNoBarrier(op)
	case t.Execute != nil:
		return nil
	}
	return c.checkBarriers(op, mask, bars, bytes)
}

func errNoBarrier(op string) error {
	return fmt.Errorf("tile: %s: barrier is nil, which an asynchronous copy completes", op)
}

func (c Cluster) receivers(mask uint16, bars []barrier.Barrier) (to []receiver) {
	for rank := range members(mask) {
		to = append(to, receiver{c[rank].mem, &bars[rank]})
	}
	return to
}

// tileTransfer is the load of a box, whose units are its rows.
func (m *TensorMap) tileTransfer(offset int, coord []int32, to []receiver) *Transfer {
	from, n, lead := point(coord), len(coord), offset%swizzlePeriod
	t := newTransfer(m.rows, m.row, to)
	t.fetch = func() []byte {
		staged := make([]byte, lead+m.SharedBytes())
		m.load(staged, lead, from[:n])
		return staged
	}
	t.put = func(dst, staged []byte, lo, hi int) { m.copyRows(dst, offset, staged, lead, lo, hi) }
	t.whole = func() {
		for i, r := range to {
			if i == 0 {
				m.load(r.mem, offset, from[:n])
			} else {
				m.copyRows(r.mem, offset, to[0].mem, offset, 0, m.rows)
			}
		}
	}
	return t
}

// bulkTransfer is the copy of src, whose units are of unit bytes.
func bulkTransfer(offset int, src []byte, unit int, to []receiver) *Transfer {
	t := newTransfer(len(src)/unit, unit, to)
	t.fetch = func() []byte { return slices.Clone(src) }
	t.put = func(dst, staged []byte, lo, hi int) {
		copy(dst[offset+lo*unit:], staged[lo*unit:hi*unit])
	}
	t.whole = func() {
		for _, r := range to {
			copy(r.mem[offset:], src)
		}
	}
	return t
}

// launch starts a transfer that completes barriers. One to nobody does not read its source
// either, for nothing would tell when it has.
func (t *Thread) launch(c *Transfer) {
	switch {
	case c.Done():
	case t.Execute != nil:
		t.Execute(c)
	case t.random == nil:
		go c.Finish()
	default:
		r := rand.New(rand.NewPCG(t.random.Uint64(), t.random.Uint64()))
		go c.spread(r)
	}
}
