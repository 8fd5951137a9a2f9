package tile

// Im2col makes a map one in im2col mode (PTX 5.5.4), of the tensor C, W, [H, [D,]] N, innermost dimension first: its
// fields are the arguments that cuTensorMapEncodeIm2col has in place of a box. A copy moves PixelsPerColumn pixels of
// ChannelsPerPixel elements, one behind the other the rows of its tile in shared memory.
//
// The first pixel is at the coordinates of the copy. The next one is an element stride further in W. Behind W - 1 +
// PixelBoxUpperCorner it is at PixelBoxLowerCorner in W again, and an element stride further in H; likewise behind H,
// and D. Behind the last of them it is an element stride further in N. To each pixel the offsets of a load are added,
// which say what tap of the filter it is for. So a convolution that pads by p and whose filter has r taps, dilation
// apart, has the lower corner -p and the upper corner p - (r-1)·dilation, its strides are the element strides, and the
// offsets of tap i are i·dilation.
type Im2col struct {
	// The corners have an element for each of W, H and D: -32768 to 32767 in rank 3, -128 to 127 in rank 4, -16 to 15
	// in rank 5.
	PixelBoxLowerCorner, PixelBoxUpperCorner []int32

	ChannelsPerPixel uint32 // 1 to 256
	PixelsPerColumn  uint32 // 1 to 1024
}

const (
	maxPixels  = 1024
	maxSpatial = maxRank - 2 // W, H and D
)

// offsetBits are the bits of an offset, and of a corner in one dimension, by rank: 16 hold all of them.
var offsetBits = [maxRank + 1]int{3: 16, 4: 8, 5: 5}

// check validates what a map of dims has in place of a box.
func (x *Im2col) check(dims []uint64) error {
	rank := len(dims)
	if rank < 3 {
		return misuse(RuleMap, "im2col: rank %d (length of dims) is outside 3 to %d", rank, maxRank)
	}
	limit := int32(1) << (offsetBits[rank] - 1)
	for _, c := range []struct {
		name   string
		corner []int32
	}{{"lower", x.PixelBoxLowerCorner}, {"upper", x.PixelBoxUpperCorner}} {
		if len(c.corner) != rank-2 {
			return misuse(RuleMap, "im2col: %s corner of %d elements for rank %d, want %d",
				c.name, len(c.corner), rank, rank-2)
		}
		for d, v := range c.corner {
			if v < -limit || v >= limit {
				return misuse(RuleMap, "im2col: %s corner[%d] = %d is outside %d to %d in rank %d",
					c.name, d, v, -limit, limit-1, rank)
			}
		}
	}
	if v := x.ChannelsPerPixel; v < 1 || v > maxBox {
		return misuse(RuleMap, "im2col: %d channels per pixel are outside 1 to %d", v, maxBox)
	}
	if v := x.PixelsPerColumn; v < 1 || v > maxPixels {
		return misuse(RuleMap, "im2col: %d pixels per column are outside 1 to %d", v, maxPixels)
	}
	return nil
}

// bound sets the bounding box of m, which has its dims.
func (m *TensorMap) bound(x *Im2col) error {
	for d, v := range x.PixelBoxLowerCorner {
		m.low[d] = int64(v)
		// The driver has the end in 32 bits with a sign, and lets it overflow.
		m.high[d] = int64(int32(m.dims[1+d])+x.PixelBoxUpperCorner[d]) - 1
		if m.low[d] > m.high[d] {
			return misuse(RuleMap, "im2col: bounding box of %d to %d in dimension %d of %d is empty",
				m.low[d], m.high[d], 1+d, m.dims[1+d])
		}
	}
	return nil
}

// checkStart validates the coordinates of a copy in W, H and D.
func (m *TensorMap) checkStart(op string, coord []int32) error {
	for d := range coord[2:] {
		if c := int64(coord[1+d]); c < m.low[d] || c > m.high[d] {
			return misuse(RuleMap, "%s: coordinate %d of dimension %d is outside the bounding box of %d to %d",
				op, c, 1+d, m.low[d], m.high[d])
		}
	}
	return nil
}

// checkOffsets validates the offsets of a load.
func (m *TensorMap) checkOffsets(op string, offsets []int32) error {
	for d, v := range offsets {
		if end := int32(1) << offsetBits[m.rank]; v < 0 || v >= end {
			return misuse(RuleMap, "%s: offset %d of coordinate %d is outside 0 to %d in rank %d", op, v, 1+d, end-1, m.rank)
		}
	}
	return nil
}

// checkInside validates that copies from the map's bounding box meet nothing outside of the tensor in W, H and D.
func (m *TensorMap) checkInside(op string) error {
	for d := range m.rank - 2 {
		if last := m.dims[1+d] - 1; m.low[d] < 0 || m.high[d] > last {
			return misuse(RuleMap, "%s: bounding box of %d to %d in dimension %d is outside the tensor's 0 to %d",
				op, m.low[d], m.high[d], 1+d, last)
		}
	}
	return nil
}

// pixels calls yield for the pixels of a column that lie in the tensor, those side by side in W in one plane.
func (m *TensorMap) pixels(w *window, offset int, yield func(plane)) {
	var at, add [maxRank]int64 // of a pixel, and what the offsets add to it
	for d := 1; d < m.rank; d++ {
		at[d] = int64(w.column[d])
		if d < m.rank-1 && len(w.column) > m.rank {
			add[d] = int64(w.column[m.rank+d-1])
		}
	}
	for row := 0; row < m.n[1]; {
		n := 1 // up to the end of the bounding box in W
		if left := m.high[0] - at[1]; left > 0 {
			n = int(min(left/m.step[1]+1, int64(m.n[1]-row)))
		}
		global, inside := int64(w.lo[0])*m.stride[0]+int64(w.column[0])*m.stride[0], true
		for d := 1; d < m.rank; d++ {
			c := at[d] + add[d]
			global += c * (m.stride[d] / m.step[d])
			inside = inside && (d == 1 || c >= 0 && c < m.dims[d])
		}
		if lo, hi := m.clip(1, at[1]+add[1], n); inside && lo < hi {
			yield(plane{
				shared: offset + (row+lo)*m.pitch + w.lo[0]*m.elem,
				global: int(global + int64(lo)*m.stride[1]),
				rows:   hi - lo,
			})
		}
		row += n
		at[1] += int64(n-1) * m.step[1]
		m.next(&at)
	}
}

// next moves a pixel to the one behind it.
func (m *TensorMap) next(at *[maxRank]int64) {
	for d := 1; d < m.rank-1; d++ {
		if at[d] += m.step[d]; at[d] <= m.high[d-1] {
			return
		}
		at[d] = m.low[d-1]
	}
	at[m.rank-1] += m.step[m.rank-1]
}
