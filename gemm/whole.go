package gemm

// takesWholeTiles reports whether a product by a packed B needs nothing but to be multiplied:
// it is small and whole tiles, A is read where it lies, K is one stage and sums are C's
// elements. It lays it out for that. More than a tile of rows is never few rows.
func (in *inlined) takesWholeTiles() bool {
	p := &in.product
	k := p.kernel
	in.whole = p.m > k.MR && p.n >= k.NR && p.m%k.MR == 0 && p.n%k.NR == 0 && p.k <= p.packed.bk &&
		p.flops() <= 2*unpackedSmall && p.direct() && p.readsA() && !p.narrow()
	return in.whole
}

// runWhole computes the columns from .. to-1 of such a product.
func (in *inlined) runWhole(from, to int) {
	k := in.kernel
	words, tiles := in.words(in.k), in.m/k.MR
	rows := k.Rows(in.a.elem)
	for col := from; col < to; col += k.NR {
		rows(words, tiles, in.a.ptr, in.packed.at(0, col), nil, 0, in.c.at(0, col), in.c.pitch(), in.a.pitch())
	}
}
