package tile

import "example.com/leafhopper/barrier"

// ReduceBulk combines size bytes of shared memory with those at offset at of
// global memory, element by element, and leaves the results there (PTX
// cp.reduce.async.bulk.global.shared::cta). [ReduceOp] lists the types of each
// operation, [Reduce] their arithmetic; an element is combined atomically.
//
// ReduceBulk reports an error, and changes nothing, under the conditions of
// [StoreBulk] and for an op that the type does not have.
func ReduceBulk(dst Global, at int, op ReduceOp, typ DataType, src *Shared, offset, size int) error {
	combine, err := checkReduceBulk(dst, at, op, typ, src, offset, size)
	if err != nil {
		return err
	}
	reduceBytes(dst.Bytes[at:at+size], src.mem[offset:], combine)
	return nil
}

// ReduceShared combines size bytes of shared memory with those of any CTA of
// the cluster, leaves the results there, and completes the bytes on bar, a
// barrier of the destination's CTA, unless it is nil (PTX
// cp.reduce.async.bulk.shared::cluster.shared::cta). It has the integer
// operations of 32 bits, and the addition of Uint64.
//
// ReduceShared reports an error, and neither changes nor signals anything, under
// the conditions of [CopyBulk] and for an op that the type does not have.
func ReduceShared(
	dst *Shared, offset int, op ReduceOp, typ DataType, src *Shared, from, size int, bar *barrier.Barrier,
) error {
	combine, err := checkReduceShared(dst, offset, op, typ, src, from, size)
	if err != nil {
		return err
	}
	if err := checkBarrier("shared reduce", bar, size); err != nil {
		return err
	}
	reduceBytes(dst.mem[offset:offset+size], src.mem[from:], combine)
	if bar != nil {
		bar.CompleteTx(size)
	}
	return nil
}

func checkReduceBulk(dst Global, at int, op ReduceOp, typ DataType, src *Shared, offset, size int) (combiner, error) {
	const verb = "bulk reduce"
	combine, err := pickCombiner(verb, op, typ, inGlobal)
	if err != nil {
		return nil, err
	}
	return combine, checkStoreBulk(verb, dst, at, src, offset, size)
}

func checkReduceShared(
	dst *Shared, offset int, op ReduceOp, typ DataType, src *Shared, from, size int,
) (combiner, error) {
	const verb = "shared reduce"
	combine, err := pickCombiner(verb, op, typ, inCluster)
	if err != nil {
		return nil, err
	}
	return combine, checkExchange(verb, dst, offset, src, from, size)
}

// reduceBytes combines dst with as many bytes of src, in stretches that the
// locks can hold.
func reduceBytes(dst, src []byte, combine combiner) {
	for len(dst) > 0 {
		n := min(len(dst), maxLocked)
		first, last := lockRow(dst[:n])
		combine(dst[:n], src)
		unlockRow(first, last)
		dst, src = dst[n:], src[n:]
	}
}
