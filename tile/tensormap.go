package tile

import (
	"math/bits"
	"slices"
)

const (
	maxRank   = 5
	maxDim    = 1 << 32
	maxCopied = 1 << 31 // of a dimension, in copies
	maxStride = 1 << 40
	maxBox    = 256
	maxStep   = 8

	// MaxBoxBytes is the largest box a tensor map may have, in bytes: all the
	// shared memory that one block of compute capability 9.0 can own, 227 KB.
	MaxBoxBytes = 227 << 10
)

// Config describes a tensor in global memory and the box that copies move, the
// arguments of cuTensorMapEncodeTiled, or with Im2col of cuTensorMapEncodeIm2col,
// but for L2 promotion, a hint. The rank is len(Dims); dimension 0 is the innermost,
// whose elements lie side by side.
type Config struct {
	DataType DataType

	// Global is the memory of the tensor. A map with a nil Global is checked by
	// all rules but cannot be copied through.
	Global []byte
	// Address is the device address of Global[0]. Only its alignment matters.
	Address uint64

	Dims    []uint64 // elements in each dimension, 1 to 2^32, of which copies go through up to 2^31
	Strides []uint64 // bytes from one index to the next in dimensions 1 to rank-1

	Box    []uint32 // extent of the box in each dimension, 1 to 256; none with Im2col
	Im2col *Im2col  // nil for tiled mode
	// ElementStrides takes only every so many-th element of the box, or pixel, 1 to 8
	// in each dimension; nil is 1 everywhere. The one of dimension 0 is checked
	// and then ignored, as the hardware does without interleaving.
	ElementStrides []uint32

	Interleave Interleave
	Swizzle    Swizzle
	Fill       Fill
}

// A TensorMap is a validated Config, immutable and safe for concurrent use. It
// refers to the memory of Config.Global, not to a copy.
type TensorMap struct {
	cfg  Config // its own copy
	rank int

	// Dimensions from rank on are padded to extent 1, so that every copy walks
	// five of them.
	dims   [maxRank]int64
	stride [maxRank]int64 // bytes between neighbours of the box: global stride times step
	step   [maxRank]int64 // element strides; 1 in dimension 0
	n      [maxRank]int   // elements moved: ceil(box / step), or in im2col mode channels and pixels

	wide      int               // the last dimension that no copy can go through, -1 if there is none
	low, high [maxSpatial]int64 // first and last coordinates of the bounding box

	elem  int // bytes of an element
	row   int // bytes of a row of the box
	pitch int // bytes from row to row in shared memory
	rows  int
	mask  int // Swizzle.mask
}

// NewTensorMap validates cfg as the driver does (cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col on compute capability 9.0) and returns the map. In addition it refuses what the
// driver cannot see: interleaved layouts, boxes over [MaxBoxBytes], and, when
// Global is set, a tensor that ends beyond it. Like the driver it accepts a box
// larger than the tensor and strides smaller than a row.
func NewTensorMap(cfg Config) (*TensorMap, error) {
	if err := cfg.checkScalars(); err != nil {
		return nil, err
	}
	for d := range cfg.Dims {
		if err := cfg.checkDim(d); err != nil {
			return nil, err
		}
	}
	box := cfg.Box
	if cfg.Im2col != nil {
		if err := cfg.Im2col.check(cfg.Dims); err != nil {
			return nil, err
		}
		box = []uint32{cfg.Im2col.ChannelsPerPixel, cfg.Im2col.PixelsPerColumn}
	}
	m := &TensorMap{cfg: cfg.clone(), rank: len(cfg.Dims), elem: cfg.DataType.Size(), mask: cfg.Swizzle.mask()}
	m.setTensor()
	if cfg.Im2col != nil {
		if err := m.bound(cfg.Im2col); err != nil {
			return nil, err
		}
	}
	if err := m.setBox(box); err != nil {
		return nil, err
	}
	if cfg.Global != nil {
		if err := cfg.checkExtent(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// setTensor sets what a copy needs to know of the tensor.
func (m *TensorMap) setTensor() {
	m.wide = -1
	for d := range maxRank {
		m.dims[d], m.step[d], m.n[d] = 1, 1, 1
	}
	m.stride[0] = int64(m.elem)
	for d, dim := range m.cfg.Dims {
		m.dims[d] = int64(dim)
		if dim > maxCopied {
			m.wide = d
		}
		if d == 0 {
			continue
		}
		if m.cfg.ElementStrides != nil {
			m.step[d] = int64(m.cfg.ElementStrides[d])
		}
		m.stride[d] = int64(m.cfg.Strides[d-1]) * m.step[d]
	}
}

// setBox sets what it needs to know of a box, in im2col mode one of channels and pixels.
func (m *TensorMap) setBox(box []uint32) error {
	typ, swizzle := m.cfg.DataType, m.cfg.Swizzle
	m.row, m.rows = int(box[0])*m.elem, 1
	if m.row%16 != 0 {
		return misuse(RuleMap, "box row of %d elements of %v is %d bytes, not a multiple of 16", box[0], typ, m.row)
	}
	m.pitch = m.row
	if span := swizzle.Span(); span != 0 {
		if m.row > span {
			return misuse(RuleMap, "box row of %d elements of %v is %d bytes, more than the span %d of %v",
				box[0], typ, m.row, span, swizzle)
		}
		m.pitch = span
	}
	for d, n := range box {
		m.n[d] = int(n)
		if d == 0 {
			continue
		}
		if m.cfg.Im2col == nil {
			m.n[d] = int(ceilDiv(int64(n), m.step[d]))
		}
		// rows*row was in bounds before, so it fits even 32 bits times 1024.
		m.rows *= m.n[d]
		if m.rows*m.row > MaxBoxBytes {
			return misuse(RuleMap, "box of %d rows of %d bytes in dimensions 0 to %d "+
				"is over the %d bytes of shared memory", m.rows, m.row, d, MaxBoxBytes)
		}
	}
	return nil
}

// checkScalars validates everything that does not belong to one dimension.
func (cfg *Config) checkScalars() error {
	rank := len(cfg.Dims)
	switch {
	case !cfg.DataType.valid():
		return misuse(RuleMap, "unknown data type %v", cfg.DataType)
	case cfg.Interleave != InterleaveNone:
		return misuse(RuleMap, "interleave %v is not supported, only %v is", cfg.Interleave, InterleaveNone)
	case !cfg.Swizzle.valid():
		return misuse(RuleMap, "unknown swizzle %v", cfg.Swizzle)
	case cfg.Fill > FillNaN:
		return misuse(RuleMap, "unknown fill %v", cfg.Fill)
	case cfg.Fill == FillNaN && !cfg.DataType.float():
		return misuse(RuleMap, "fill %v needs a floating-point data type, not %v", cfg.Fill, cfg.DataType)
	case cfg.Address%16 != 0:
		return misuse(RuleMap, "address %#x is not a multiple of 16", cfg.Address)
	case rank < 1 || rank > maxRank:
		return misuse(RuleMap, "rank %d (length of dims) is outside 1 to %d", rank, maxRank)
	case len(cfg.Strides) != rank-1:
		return misuse(RuleMap, "%d strides for rank %d, want %d (dimension 0 has none)",
			len(cfg.Strides), rank, rank-1)
	case cfg.Im2col == nil && len(cfg.Box) != rank:
		return misuse(RuleMap, "%d box extents for rank %d", len(cfg.Box), rank)
	case cfg.Im2col != nil && cfg.Box != nil:
		return misuse(RuleMap, "%d box extents and im2col, which has none", len(cfg.Box))
	case cfg.ElementStrides != nil && len(cfg.ElementStrides) != rank:
		return misuse(RuleMap, "%d element strides for rank %d", len(cfg.ElementStrides), rank)
	}
	return nil
}

func (cfg *Config) checkDim(d int) error {
	if v := cfg.Dims[d]; v < 1 || v > maxDim {
		return misuse(RuleMap, "dims[%d] = %d is outside 1 to 2^32", d, v)
	}
	if cfg.Im2col == nil {
		if v := cfg.Box[d]; v < 1 || v > maxBox {
			return misuse(RuleMap, "box[%d] = %d is outside 1 to %d", d, v, maxBox)
		}
	}
	if cfg.ElementStrides != nil {
		if v := cfg.ElementStrides[d]; v < 1 || v > maxStep {
			return misuse(RuleMap, "element strides[%d] = %d is outside 1 to %d", d, v, maxStep)
		}
	}
	if d == 0 {
		return nil
	}
	v := cfg.Strides[d-1]
	if v%16 != 0 {
		return misuse(RuleMap, "stride %d of dimension %d is not a multiple of 16", v, d)
	}
	if v >= maxStride {
		return misuse(RuleMap, "stride %d of dimension %d is not below 2^40", v, d)
	}
	return nil
}

// checkExtent reports whether the last element of the tensor ends inside
// Global. The products exceed 64 bits for legal dims and strides.
func (cfg *Config) checkExtent() error {
	have := uint64(len(cfg.Global))
	need := cfg.Dims[0] * uint64(cfg.DataType.Size())
	for d := 0; need <= have; {
		d++
		if d == len(cfg.Dims) {
			return nil
		}
		hi, lo := bits.Mul64(cfg.Dims[d]-1, cfg.Strides[d-1])
		sum, carry := bits.Add64(need, lo, 0)
		if hi != 0 || carry != 0 {
			return misuse(RuleMap, "tensor reaches over 2^64 bytes in dimension %d (dims %d, stride %d) "+
				"but global memory has %d", d, cfg.Dims[d], cfg.Strides[d-1], have)
		}
		need = sum
	}
	return misuse(RuleMap, "tensor of at least %d bytes in global memory of %d", need, have)
}

// clone returns a copy of cfg that its caller does not change.
func (cfg *Config) clone() Config {
	c := *cfg
	c.Dims, c.Strides = slices.Clone(cfg.Dims), slices.Clone(cfg.Strides)
	c.Box, c.ElementStrides = slices.Clone(cfg.Box), slices.Clone(cfg.ElementStrides)
	if x := cfg.Im2col; x != nil {
		y := *x
		y.PixelBoxLowerCorner = slices.Clone(x.PixelBoxLowerCorner)
		y.PixelBoxUpperCorner = slices.Clone(x.PixelBoxUpperCorner)
		c.Im2col = &y
	}
	return c
}

// Rank returns the number of dimensions of the tensor.
func (m *TensorMap) Rank() int { return m.rank }

// BoxRank returns the number of dimensions of a box in shared memory: Rank, but 2 in im2col mode, channels and pixels.
func (m *TensorMap) BoxRank() int {
	if m.cfg.Im2col != nil {
		return 2
	}
	return m.rank
}

// DataType returns the element type.
func (m *TensorMap) DataType() DataType { return m.cfg.DataType }

// Swizzle returns the swizzle mode.
func (m *TensorMap) Swizzle() Swizzle { return m.cfg.Swizzle }

// BoxBytes returns the bytes of the elements of one box, the amount by which
// every Load completes its barrier.
func (m *TensorMap) BoxBytes() int { return m.rows * m.row }

// SharedBytes returns the shared memory that one box occupies: BoxBytes, or
// more when the rows of a swizzled box are narrower than the span.
func (m *TensorMap) SharedBytes() int { return m.rows * m.pitch }

// SameTensor reports whether two maps are of the same tensor in global memory, of whatever boxes.
func (m *TensorMap) SameTensor(o *TensorMap) bool {
	return m == o || m.cfg.DataType == o.cfg.DataType && m.rank == o.rank && m.dims == o.dims && m.stride == o.stride &&
		len(m.cfg.Global) > 0 && len(o.cfg.Global) > 0 && &m.cfg.Global[0] == &o.cfg.Global[0]
}

// Step returns how far apart neighbours in dimension d of a box lie, in bytes: in shared memory, before the swizzle,
// and in global memory.
func (m *TensorMap) Step(d int) (shared int, global int64) {
	if d == 0 {
		return m.elem, m.stride[0]
	}
	shared = m.pitch
	for _, n := range m.n[1:d] {
		shared *= n
	}
	return shared, m.stride[d]
}
