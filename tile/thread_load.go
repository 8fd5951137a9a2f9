package tile

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"example.com/leafhopper/barrier"
)

// Load is the asynchronous [Load]. It also reports an error if bar is nil,
// because nothing else tells when the load is over. As the GPU faults when a
// copy completes a barrier that is not alive, the program panics.
func (t *Thread) Load(dst *Shared, offset int, m *TensorMap, coord []int32, bar *barrier.Barrier) error {
	if err := checkLoad(dst, offset, m, coord); err != nil {
		return err
	}
	if bar == nil {
		return errNoBarrier("load")
	}
	t.launch(m.delivery(offset, coord, []receiver{{dst.mem, bar}}))
	return nil
}

// LoadMulticast is the asynchronous [Cluster.LoadMulticast]. Like
// [Thread.Load] it needs the barriers.
func (t *Thread) LoadMulticast(c Cluster, mask uint16, offset int, m *TensorMap, coord []int32, bars []barrier.Barrier) error {
	if err := c.checkTile(mask, offset, m, coord, bars); err != nil {
		return err
	}
	if bars == nil {
		return errNoBarrier("multicast")
	}
	t.launch(m.delivery(offset, coord, c.receivers(mask, bars)))
	return nil
}

// LoadBulk is the asynchronous [LoadBulk]. Like [Thread.Load] it needs the
// barrier.
func (t *Thread) LoadBulk(dst *Shared, offset int, src Global, at, size int, bar *barrier.Barrier) error {
	if err := checkLoadBulk(dst, offset, src, at, size); err != nil {
		return err
	}
	if bar == nil {
		return errNoBarrier("bulk load")
	}
	t.launch(bulkDelivery(offset, src.Bytes[at:at+size], []receiver{{dst.mem, bar}}))
	return nil
}

// LoadBulkMulticast is the asynchronous [Cluster.LoadBulkMulticast]. Like
// [Thread.Load] it needs the barriers.
func (t *Thread) LoadBulkMulticast(c Cluster, mask uint16, offset int, src Global, at, size int, bars []barrier.Barrier) error {
	if err := c.checkBulk(mask, offset, src, at, size, bars); err != nil {
		return err
	}
	if bars == nil {
		return errNoBarrier("bulk multicast")
	}
	t.launch(bulkDelivery(offset, src.Bytes[at:at+size], c.receivers(mask, bars)))
	return nil
}

// CopyBulk is the asynchronous [CopyBulk]. Like [Thread.Load] it needs the
// barrier, whose completion also says that the source has been read.
func (t *Thread) CopyBulk(dst *Shared, offset int, src *Shared, from, size int, bar *barrier.Barrier) error {
	if err := checkExchange("bulk copy", dst, offset, src, from, size); err != nil {
		return err
	}
	if bar == nil {
		return errNoBarrier("bulk copy")
	}
	t.launch(bulkDelivery(offset, src.mem[from:from+size], []receiver{{dst.mem, bar}}))
	return nil
}

// ReduceShared is the asynchronous [ReduceShared]. Like [Thread.CopyBulk] it
// needs the barrier.
func (t *Thread) ReduceShared(dst *Shared, offset int, op ReduceOp, typ DataType, src *Shared, from, size int, bar *barrier.Barrier) error {
	combine, err := checkReduceShared(dst, offset, op, typ, src, from, size)
	if err != nil {
		return err
	}
	if bar == nil {
		return errNoBarrier("shared reduce")
	}
	d := bulkDelivery(offset, src.mem[from:from+size], []receiver{{dst.mem, bar}})
	d.put = func(dst, staged []byte, lo, hi int) {
		reduceBytes(dst[offset+lo*bulkAlign:offset+hi*bulkAlign], staged[lo*bulkAlign:], combine)
	}
	t.launch(d)
	return nil
}

func errNoBarrier(op string) error {
	return fmt.Errorf("tile: %s: barrier is nil, which an asynchronous copy completes", op)
}

// A receiver is a shared memory and the barrier that its bytes complete.
type receiver struct {
	mem []byte
	bar *barrier.Barrier
}

func (c Cluster) receivers(mask uint16, bars []barrier.Barrier) (to []receiver) {
	for rank := range members(mask) {
		to = append(to, receiver{c[rank].mem, &bars[rank]})
	}
	return to
}

// A delivery is a transfer that completes barriers, in n units that may land
// apart from each other.
type delivery struct {
	n, unit int
	fetch   func() []byte // returns a copy of the source
	put     func(dst, staged []byte, lo, hi int)
	to      []receiver
}

// delivery describes the load of a box, whose units are its rows.
func (m *TensorMap) delivery(offset int, coord []int32, to []receiver) delivery {
	from, lead := point(coord), offset%swizzlePeriod
	return delivery{
		n: m.rows, unit: m.row, to: to,
		fetch: func() []byte {
			staged := make([]byte, lead+m.SharedBytes())
			m.load(staged, lead, from[:m.rank])
			return staged
		},
		put: func(dst, staged []byte, lo, hi int) { m.copyRows(dst, offset, staged, lead, lo, hi) },
	}
}

// bulkDelivery describes the copy of src, whose units are of 16 bytes.
func bulkDelivery(offset int, src []byte, to []receiver) delivery {
	return delivery{
		n: len(src) / bulkAlign, unit: bulkAlign, to: to,
		fetch: func() []byte { return slices.Clone(src) },
		put: func(dst, staged []byte, lo, hi int) {
			copy(dst[offset+lo*bulkAlign:], staged[lo*bulkAlign:hi*bulkAlign])
		},
	}
}

// launch starts a delivery. One to nobody does not read its source either, for
// nothing would tell when it has.
func (t *Thread) launch(d delivery) {
	if len(d.to) == 0 {
		return
	}
	if t.random == nil {
		go d.run()
		return
	}
	go d.runShuffled(rand.New(rand.NewPCG(t.random.Uint64(), t.random.Uint64())))
}

func (d *delivery) run() {
	staged := d.fetch()
	for _, r := range d.to {
		d.put(r.mem, staged, 0, d.n)
		r.bar.CompleteTx(d.n * d.unit)
	}
}

// runShuffled lands the units in pieces and in an order drawn from r, with
// pauses in between.
func (d *delivery) runShuffled(r *rand.Rand) {
	type piece struct {
		receiver
		lo, hi int
	}
	var pieces []piece
	for _, to := range d.to {
		lo := 0
		for lo < d.n {
			hi := lo + 1 + r.IntN(d.n-lo)
			pieces = append(pieces, piece{to, lo, hi})
			lo = hi
		}
	}
	r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	pause(r)
	staged := d.fetch()
	for _, p := range pieces {
		pause(r)
		d.put(p.mem, staged, p.lo, p.hi)
		p.bar.CompleteTx((p.hi - p.lo) * d.unit)
	}
}

// pause lets other goroutines run, in most cases.
func pause(r *rand.Rand) {
	for range r.IntN(8) {
		runtime.Gosched()
	}
}
