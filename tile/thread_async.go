package tile

import (
	"example.com/leafhopper/barrier"
)

// CopyAsync starts a copy of src, any number of bytes, to an offset of shared memory, and
// completes the bytes on bar unless it is nil: what cuda::memcpy_async does with sizes and
// addresses that a bulk copy does not take (PTX cp.async).
func (t *Thread) CopyAsync(dst *Shared, offset int, src []byte, bar *barrier.Barrier) error {
	const op = "async copy"
	if err := dst.checkRange(op, "destination", offset, len(src), 1); err != nil {
		return err
	}
	if err := checkTx(op, len(src)); err != nil {
		return err
	}
	if bar != nil {
		if err := t.checkBarrier(op, bar, len(src)); err != nil {
			return err
		}
	}
	t.launch(bulkTransfer(offset, src, 1, []receiver{{dst.mem, bar}}))
	return nil
}

// StoreAsync starts a store of word, 4, 8 or 16 bytes, to an offset of the shared memory of
// any CTA of the cluster, and completes the bytes on bar, a barrier of that CTA (PTX
// st.async.shared::cluster.mbarrier::complete_tx::bytes). The offset is a multiple of the
// size.
func (t *Thread) StoreAsync(dst *Shared, offset int, word []byte, bar *barrier.Barrier) error {
	return t.word("async store", dst, offset, word, bar, func(to, word []byte) { copy(to, word) })
}

// ReduceAsync starts to combine word, an element of typ, with the one at an offset of the
// shared memory of any CTA of the cluster, and completes its bytes on bar, a barrier of that
// CTA (PTX red.async). It has the operations of [ReduceShared]; an element is combined
// atomically.
func (t *Thread) ReduceAsync(
	dst *Shared, offset int, op ReduceOp, typ DataType, word []byte, bar *barrier.Barrier,
) error {
	const verb = "async reduce"
	combine, err := pickCombiner(verb, op, typ, inCluster)
	if err != nil {
		return err
	}
	if len(word) != typ.Size() {
		return misuse(RuleBytes, "%s: %d bytes of a %v, which has %d", verb, len(word), typ, typ.Size())
	}
	return t.word(verb, dst, offset, word, bar, func(to, word []byte) { reduceBytes(to, word, combine) })
}

// word starts a transfer of one word, which it copies.
func (t *Thread) word(
	op string, dst *Shared, offset int, word []byte, bar *barrier.Barrier, put func(to, word []byte),
) error {
	n := len(word)
	if n != 4 && n != 8 && n != 16 {
		return misuse(RuleBytes, "%s: %d bytes, want 4, 8 or 16", op, n)
	}
	if err := dst.checkRange(op, "destination", offset, n, n); err != nil {
		return err
	}
	if err := t.checkBarrier(op, bar, n); err != nil {
		return err
	}
	var staged [16]byte
	copy(staged[:], word)
	c := newTransfer(1, n, []receiver{{dst.mem, bar}})
	c.fetch = func() []byte { return staged[:n] }
	c.put = func(dst, word []byte, _, _ int) { put(dst[offset:offset+n], word) }
	t.launch(c)
	return nil
}
