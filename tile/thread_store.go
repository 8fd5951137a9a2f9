package tile

// Store is the asynchronous [Store], one transfer of the group to be committed
// next.
func (t *Thread) Store(m *TensorMap, coord []int32, src *Shared, offset int) error {
	if err := checkStore(m, coord, src, offset); err != nil {
		return err
	}
	to, lead := point(coord), offset%swizzlePeriod
	t.issue(src.mem[offset-lead:offset+m.SharedBytes()], lead, func(src []byte) { m.store(to[:m.rank], src, lead) })
	return nil
}

// Reduce is the asynchronous [Reduce], one transfer of the group to be
// committed next.
func (t *Thread) Reduce(m *TensorMap, op ReduceOp, coord []int32, src *Shared, offset int) error {
	combine, err := checkReduce(m, op, coord, src, offset)
	if err != nil {
		return err
	}
	to, lead := point(coord), offset%swizzlePeriod
	t.issue(src.mem[offset-lead:offset+m.SharedBytes()], lead, func(src []byte) {
		m.reduce(to[:m.rank], src, lead, combine)
	})
	return nil
}

// StoreBulk is the asynchronous [StoreBulk], one transfer of the group to be
// committed next.
func (t *Thread) StoreBulk(dst Global, at int, src *Shared, offset, size int) error {
	if err := checkStoreBulk("bulk store", dst, at, src, offset, size); err != nil {
		return err
	}
	t.issue(src.mem[offset:offset+size], 0, func(src []byte) { copy(dst.Bytes[at:], src) })
	return nil
}

// ReduceBulk is the asynchronous [ReduceBulk], one transfer of the group to be
// committed next.
func (t *Thread) ReduceBulk(dst Global, at int, op ReduceOp, typ DataType, src *Shared, offset, size int) error {
	combine, err := checkReduceBulk(dst, at, op, typ, src, offset, size)
	if err != nil {
		return err
	}
	t.issue(src.mem[offset:offset+size], 0, func(src []byte) { reduceBytes(dst.Bytes[at:at+size], src, combine) })
	return nil
}

// point copies a coordinate, which belongs to the caller.
func point(coord []int32) (c [maxRank + maxSpatial]int32) {
	copy(c[:], coord)
	return c
}
