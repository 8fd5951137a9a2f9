package tile

import (
	"fmt"

	"example.com/leafhopper/barrier"
)

// bulkAlign is what the addresses and the size of a bulk copy are multiples of
// (CUDA C++ Programming Guide, alignment table of the bulk copies).
const bulkAlign = 16

// Global is global memory as bulk copies see it, one dimension of bytes.
type Global struct {
	Bytes []byte
	// Address is the device address of Bytes[0]. Only its alignment matters.
	Address uint64
}

// LoadBulk copies size bytes from offset at of global memory to an offset of
// shared memory and completes them on bar, unless bar is nil (PTX
// cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes, the
// cuda::device::memcpy_async_tx of CUDA C++). It expects nothing: the caller
// does, before or after. LoadBulk returns when the copy is done; [Thread] has
// the asynchronous form.
//
// Both addresses and the size must be multiples of 16, not negative; a size of 0 is legal.
// (An H200 faults on an address and silently drops the last 8 of 24 bytes.)
// LoadBulk reports an error, and neither writes nor signals, when they are not,
// when a range leaves its memory, when size exceeds [barrier.MaxTx], and when
// bar cannot take the bytes as [Load] has it.
func LoadBulk(dst *Shared, offset int, src Global, at, size int, bar *barrier.Barrier) error {
	if err := checkLoadBulk(dst, offset, src, at, size); err != nil {
		return err
	}
	if err := checkBarrier("bulk load", bar, size); err != nil {
		return err
	}
	copy(dst.mem[offset:offset+size], src.Bytes[at:])
	if bar != nil {
		bar.CompleteTx(size)
	}
	return nil
}

// CopyBulk copies size bytes from shared memory to the shared memory of any CTA
// of the cluster and completes them on bar, a barrier of the destination's CTA,
// unless it is nil (PTX cp.async.bulk.shared::cluster.shared::cta, a copy through
// distributed shared memory). The rules are those of [LoadBulk]; in addition the
// two ranges must not overlap.
func CopyBulk(dst *Shared, offset int, src *Shared, from, size int, bar *barrier.Barrier) error {
	if err := checkExchange("bulk copy", dst, offset, src, from, size); err != nil {
		return err
	}
	if err := checkBarrier("bulk copy", bar, size); err != nil {
		return err
	}
	copy(dst.mem[offset:offset+size], src.mem[from:])
	if bar != nil {
		bar.CompleteTx(size)
	}
	return nil
}

// StoreBulk copies size bytes from shared memory to offset at of global memory
// (PTX cp.async.bulk.global.shared::cta), under the rules of [LoadBulk] except
// those of barriers.
func StoreBulk(dst Global, at int, src *Shared, offset, size int) error {
	if err := checkStoreBulk("bulk store", dst, at, src, offset, size); err != nil {
		return err
	}
	copy(dst.Bytes[at:at+size], src.mem[offset:])
	return nil
}

// check reports whether size bytes at an offset of g may be copied. operand
// names g in the error.
func (g *Global) check(op, operand string, at, size int) error {
	if err := checkSize(op, size); err != nil {
		return err
	}
	switch address := g.Address + uint64(at); {
	case at < 0:
		return misuse(RuleAlignment, "%s: %s offset %d is negative", op, operand, at)
	case address%bulkAlign != 0:
		return misuse(RuleAlignment, "%s: %s address %#x (offset %d from %#x) is not a multiple of %d",
			op, operand, address, at, g.Address, bulkAlign)
	case at > len(g.Bytes) || size > len(g.Bytes)-at:
		return misuse(RuleBytes, "%s: %d bytes at %s offset %d end beyond its %d bytes",
			op, size, operand, at, len(g.Bytes))
	}
	return nil
}

// checkBulk is the same for shared memory, whose base is aligned.
func (s *Shared) checkBulk(op, operand string, offset, size int) error {
	if err := checkSize(op, size); err != nil {
		return err
	}
	return s.checkRange(op, operand, offset, size, bulkAlign)
}

func checkSize(op string, size int) error {
	switch {
	case size < 0:
		return misuse(RuleAlignment, "%s: size %d is negative", op, size)
	case size%bulkAlign != 0:
		return misuse(RuleAlignment, "%s: size %d is not a multiple of %d", op, size, bulkAlign)
	}
	return nil
}

// checkTx reports whether one phase of a barrier can count size bytes.
func checkTx(op string, size int) error {
	if size > barrier.MaxTx {
		return misuse(RuleBytes, "%s: size %d exceeds the %d bytes that a barrier counts", op, size, barrier.MaxTx)
	}
	return nil
}

// checkBarrier reports whether bar, if it is not nil, can complete the bytes of a
// copy: if not, that would come to light after they are written.
func checkBarrier(op string, bar *barrier.Barrier, bytes int) error {
	if bar == nil {
		return nil
	}
	if err := bar.CheckTx(bytes); err != nil {
		return fmt.Errorf("tile: %s: %w", op, err)
	}
	return nil
}

// checkLoadBulk validates a transfer from global to shared memory.
func checkLoadBulk(dst *Shared, offset int, src Global, at, size int) error {
	const op = "bulk load"
	if err := checkTx(op, size); err != nil {
		return err
	}
	if err := src.check(op, "source", at, size); err != nil {
		return err
	}
	return dst.checkBulk(op, "destination", offset, size)
}

// checkStoreBulk validates a transfer from shared to global memory.
func checkStoreBulk(op string, dst Global, at int, src *Shared, offset, size int) error {
	if err := dst.check(op, "destination", at, size); err != nil {
		return err
	}
	return src.checkBulk(op, "source", offset, size)
}

// checkExchange validates a transfer between shared memories.
func checkExchange(op string, dst *Shared, offset int, src *Shared, from, size int) error {
	if err := checkTx(op, size); err != nil {
		return err
	}
	if err := dst.checkBulk(op, "destination", offset, size); err != nil {
		return err
	}
	if err := src.checkBulk(op, "source", from, size); err != nil {
		return err
	}
	if dst == src && offset < from+size && from < offset+size {
		return misuse(RuleBytes, "%s: %d bytes at source offset %d and destination offset %d overlap",
			op, size, from, offset)
	}
	return nil
}
