package tile

import (
	"fmt"
	"math/bits"

	"example.com/leafhopper/barrier"
)

// maxCluster is the number of CTAs that a mask has bits for.
const maxCluster = 16

// A Cluster is the shared memories of up to 16 CTAs that run together, in the
// order of their ranks.
//
// A multicast names the CTAs that receive by the bits of a mask, bit 0 for rank
// 0, and writes the same bytes at the same offset in each. Then it completes the
// bytes, all of them, on the barrier of each: every receiver expects its own,
// whether it issued a copy or not, and whoever issues one first makes sure that
// the slot is empty in all of them. The barriers are those at one offset in
// every CTA: one each, in the order of their ranks, like the barriers of a
// stage of a ring. Those of CTAs outside the mask are left alone, and nil
// signals nobody.
//
// An empty mask copies and signals nothing, as on the GPU. A bit for a CTA that
// the cluster does not have is an error (there a fault).
type Cluster []*Shared

// LoadMulticast is [Load] into every CTA of the mask (PTX cp.async.bulk.tensor
// with multicast::cluster). The box is fetched once. It reports an error, and
// neither writes nor signals anywhere, under the conditions of Load for any of
// the receivers or their barriers and when mask or bars do not fit the cluster.
func (c Cluster) LoadMulticast(mask uint16, offset int, m *TensorMap, coord []int32, bars []barrier.Barrier) error {
	if err := c.checkTile(mask, offset, m, coord, bars); err != nil {
		return err
	}
	if err := c.checkBarriers("multicast", mask, bars, m.BoxBytes()); err != nil {
		return err
	}
	var first []byte
	for rank := range members(mask) {
		if first == nil {
			first = c[rank].mem
			m.load(first, offset, coord)
		} else {
			m.copyRows(c[rank].mem, offset, first, offset, 0, m.rows)
		}
	}
	c.complete(mask, bars, m.BoxBytes())
	return nil
}

// LoadBulkMulticast is [LoadBulk] into every CTA of the mask (PTX cp.async.bulk
// with multicast::cluster), with errors like those of [Cluster.LoadMulticast].
func (c Cluster) LoadBulkMulticast(mask uint16, offset int, src Global, at, size int, bars []barrier.Barrier) error {
	if err := c.checkBulk(mask, offset, src, at, size, bars); err != nil {
		return err
	}
	if err := c.checkBarriers("bulk multicast", mask, bars, size); err != nil {
		return err
	}
	for rank := range members(mask) {
		copy(c[rank].mem[offset:offset+size], src.Bytes[at:])
	}
	c.complete(mask, bars, size)
	return nil
}

func (c Cluster) checkTile(mask uint16, offset int, m *TensorMap, coord []int32, bars []barrier.Barrier) error {
	const op = "multicast"
	if err := m.checkRead(op, coord); err != nil {
		return err
	}
	if err := c.checkMask(op, mask, bars); err != nil {
		return err
	}
	for rank := range members(mask) {
		if err := c[rank].checkTile(op, "destination", m, offset); err != nil {
			return fmt.Errorf("%w (CTA %d)", err, rank)
		}
	}
	return nil
}

func (c Cluster) checkBulk(mask uint16, offset int, src Global, at, size int, bars []barrier.Barrier) error {
	const op = "bulk multicast"
	if err := checkTx(op, size); err != nil {
		return err
	}
	if err := src.check(op, "source", at, size); err != nil {
		return err
	}
	if err := c.checkMask(op, mask, bars); err != nil {
		return err
	}
	for rank := range members(mask) {
		if err := c[rank].checkBulk(op, "destination", offset, size); err != nil {
			return fmt.Errorf("%w (CTA %d)", err, rank)
		}
	}
	return nil
}

func (c Cluster) checkMask(op string, mask uint16, bars []barrier.Barrier) error {
	switch {
	case len(c) > maxCluster:
		return misuse(RuleMap, "%s: cluster of %d CTAs, at most %d have a bit in a mask", op, len(c), maxCluster)
	case bits.Len16(mask) > len(c):
		return misuse(RuleMap, "%s: mask %#b names CTA %d of a cluster of %d", op, mask, bits.Len16(mask)-1, len(c))
	case bars != nil && len(bars) != len(c):
		return fmt.Errorf("tile: %s: %d barriers for a cluster of %d CTAs", op, len(bars), len(c))
	}
	return nil
}

func (c Cluster) checkBarriers(op string, mask uint16, bars []barrier.Barrier, bytes int) error {
	if bars == nil {
		return nil
	}
	for rank := range members(mask) {
		if err := checkBarrier(op, &bars[rank], bytes); err != nil {
			return fmt.Errorf("%w (CTA %d)", err, rank)
		}
	}
	return nil
}

func (c Cluster) complete(mask uint16, bars []barrier.Barrier, bytes int) {
	if bars == nil {
		return
	}
	for rank := range members(mask) {
		bars[rank].CompleteTx(bytes)
	}
}

// members yields the ranks whose bits are set in mask, ascending.
func members(mask uint16) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for m := mask; m != 0; m &= m - 1 {
			if !yield(bits.TrailingZeros16(m)) {
				return
			}
		}
	}
}
