package tile

// Prefetch validates a load of the box at coord and does nothing more: the
// instruction is a hint to bring the box into the L2 cache of the GPU (PTX
// cp.async.bulk.prefetch.tensor), and a CPU prefetches rows by itself. On a load's errors
// the hardware faults, though not every time.
func Prefetch(m *TensorMap, coord []int32) error {
	return m.checkRead("prefetch", coord)
}

// PrefetchBulk is the same for size bytes at an offset of global memory, under
// the rules of [LoadBulk] for its source (PTX cp.async.bulk.prefetch).
func PrefetchBulk(src Global, at, size int) error {
	return src.check("bulk prefetch", "source", at, size)
}
