package tile

// A window is the part of a box inside the tensor: the elements lo <= i < hi of
// each dimension. Because both are boxes, so is their intersection.
type window struct {
	lo, hi [maxRank]int
	at     int64 // offset in global memory of the element at index 0, inside or not

	// In im2col mode only the channels are clipped so. These coordinates say which pixels are inside.
	column []int32
}

// window intersects the box at coord with the tensor.
func (m *TensorMap) window(coord []int32) (w window) {
	if m.cfg.Im2col != nil {
		w.hi = m.n
		w.lo[0], w.hi[0] = m.clip(0, int64(coord[0]), m.n[0])
		w.column = coord
		return w
	}
	for d := range maxRank {
		w.hi[d] = m.n[d]
		if d >= m.rank {
			continue
		}
		c := int64(coord[d])
		w.lo[d], w.hi[d] = m.clip(d, c, m.n[d])
		// A product that wraps belongs to a coordinate outside; the sum is used
		// only after the indices inside have been added back, exact modulo 2^64.
		w.at += c * (m.stride[d] / m.step[d])
	}
	return w
}

// clip returns which of n elements that begin at coordinate c of a dimension lie in the tensor: lo to hi-1.
func (m *TensorMap) clip(d int, c int64, n int) (lo, hi int) {
	if c < 0 {
		lo = int(min(ceilDiv(-c, m.step[d]), int64(n)))
	}
	inside := int64(0)
	if c < m.dims[d] {
		inside = ceilDiv(m.dims[d]-c, m.step[d])
	}
	return lo, max(lo, int(min(inside, int64(n))))
}

// ceilDiv returns ceil(a/b) for positive a and b.
func ceilDiv(a, b int64) int64 {
	if b == 1 {
		return a
	}
	return (a + b - 1) / b
}

func (w *window) empty() bool {
	for d := range maxRank {
		if w.lo[d] == w.hi[d] {
			return true
		}
	}
	return false
}

// A plane is a stretch of rows of a box along dimension 1, the unit that the
// row copiers work on.
type plane struct {
	shared int // address of the first byte in shared memory, before the swizzle
	global int // offset of the first byte in global memory
	rows   int
}

// planes calls yield for the planes of w in a tile at offset.
func (m *TensorMap) planes(w *window, offset int, yield func(plane)) {
	if w.empty() {
		return
	}
	if w.column != nil {
		m.pixels(w, offset, yield)
		return
	}
	at := w.at + int64(w.lo[0])*m.stride[0] + int64(w.lo[1])*m.stride[1]
	for i4 := w.lo[4]; i4 < w.hi[4]; i4++ {
		for i3 := w.lo[3]; i3 < w.hi[3]; i3++ {
			for i2 := w.lo[2]; i2 < w.hi[2]; i2++ {
				row := ((i4*m.n[3]+i3)*m.n[2]+i2)*m.n[1] + w.lo[1]
				yield(plane{
					shared: offset + row*m.pitch + w.lo[0]*m.elem,
					global: int(at + int64(i2)*m.stride[2] + int64(i3)*m.stride[3] + int64(i4)*m.stride[4]),
					rows:   w.hi[1] - w.lo[1],
				})
			}
		}
	}
}

func (m *TensorMap) load(dst []byte, offset int, coord []int32) {
	w := m.window(coord)
	if w.lo != ([maxRank]int{}) || w.hi != m.n || m.cfg.Im2col != nil {
		m.fillBox(dst, offset)
	}
	n := (w.hi[0] - w.lo[0]) * m.elem
	m.planes(&w, offset, func(p plane) { m.gather(dst, m.cfg.Global, p, n) })
}

func (m *TensorMap) store(coord []int32, src []byte, offset int) {
	w := m.window(coord)
	n := m.granules(&w)
	m.planes(&w, offset, func(p plane) { m.scatter(m.cfg.Global, src, p, n) })
}

// granules returns the bytes of a row of w that a write touches. The inner
// coordinate is a multiple of 16 bytes and so is the box row: rounding up
// completes the last granule and stays in the box.
func (m *TensorMap) granules(w *window) int {
	return (w.hi[0]*m.elem + chunk - 1) &^ (chunk - 1)
}

// Spans calls f for the ranges of shared memory, from lo to hi-1, that a copy touches of a box which begins at offset:
// with a nil coord what a load writes, all of the box wherever it is; else what a store to coord reads, which may be
// less at the edge of the tensor. coord is one that Store takes.
func (m *TensorMap) Spans(offset int, coord []int32, f func(lo, hi int)) {
	w := window{hi: m.n}
	if coord != nil {
		w = m.window(coord)
	}
	n := m.granules(&w)
	m.planes(&w, offset, func(p plane) {
		if n == m.pitch {
			f(p.shared, p.shared+p.rows*m.pitch)
			return
		}
		for at := p.shared; at < p.shared+p.rows*m.pitch; at += m.pitch {
			if m.mask == 0 {
				f(at, at+n)
				continue
			}
			x := m.flip(at)
			for c := at; c < at+n; c += chunk {
				f(c^x, c^x+chunk)
			}
		}
	})
}

// GlobalSpans calls f for the ranges of global memory that a load of the box at coord reads or, if it writes, that a
// store to it does: parts of the Global of the map's Config. coord is one that Load or Store takes.
func (m *TensorMap) GlobalSpans(coord []int32, writes bool, f func(b []byte)) {
	w := m.window(coord)
	n, stride := (w.hi[0]-w.lo[0])*m.elem, int(m.stride[1])
	if writes {
		n = m.granules(&w)
	}
	m.planes(&w, 0, func(p plane) {
		if n == stride {
			f(m.cfg.Global[p.global : p.global+p.rows*n])
			return
		}
		for i := range p.rows { // stride is 0 of a vector
			at := p.global + i*stride
			f(m.cfg.Global[at:min(at+n, len(m.cfg.Global))])
		}
	})
}
