package gemm

// takesWholeTiles reports whether a product by a packed B needs nothing but to be multiplied:
// it is small and whole tiles, A is read where it lies, K is one stage and sums are C's
// elements. It lays it out for that. More than a tile of rows is never few rows.
func (in *inlined) takesWholeTiles() bool {
	p := &in.product
	k := p.kernel
	if p.m <= k.MR || p.k > p.packed.bk || p.flops() > 2*unpackedTiny || !p.direct() || !p.readsA() {
		return false
	}
	tiles := p.m / k.MR
	if tiles*k.MR < p.m || p.n%k.NR > 0 {
		return false
	}
	in.whole, in.tilesA = true, tiles
	return true
}

// runWhole computes the columns from .. to-1 of such a product.
func (in *inlined) runWhole(from, to int) {
	k := in.kernel
	rows, words := k.Rows(in.a.elem), in.words(in.k)
	for col := from; col < to; col += k.NR {
		rows(words, in.tilesA, in.a.ptr, in.packed.at(0, col), nil, 0, in.c.at(0, col), in.c.pitch(), in.a.pitch())
	}
}
