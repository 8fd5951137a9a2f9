package tile

// A Descriptor is what the 1024 bits of a tensor-map object hold that a kernel changes field by field (PTX 9.7.9.28,
// tensormap.replace; cute::TmaDescriptor). Its methods take the operands of the instruction. Each checks its own, and
// after an error the descriptor is as before; what goes with what shows when [Descriptor.Map] makes the map. There are
// values in all five dimensions: those from the rank on count when the rank is raised. Maps in im2col mode are not
// changed: the instruction has the mode .tile alone.
//
// The zero value describes nothing; [TensorMap.Descriptor] returns one of a map.
type Descriptor struct {
	cfg     Config // but for what is below
	rank    int
	dims    [maxRank]uint64
	strides [maxRank - 1]uint64
	box     [maxRank]uint32
	steps   [maxRank]uint32
}

// Descriptor returns the fields of the map. In dimensions from its rank on they are extents and steps of 1, and strides
// of 0.
func (m *TensorMap) Descriptor() Descriptor {
	d := Descriptor{cfg: m.cfg, rank: m.rank}
	for i := range maxRank {
		d.dims[i], d.box[i], d.steps[i] = 1, 1, 1
	}
	copy(d.dims[:], m.cfg.Dims)
	copy(d.strides[:], m.cfg.Strides)
	copy(d.box[:], m.cfg.Box)
	copy(d.steps[:], m.cfg.ElementStrides)
	return d
}

// Map returns the map that the fields are those of, as [NewTensorMap] does, with its errors.
func (d *Descriptor) Map() (*TensorMap, error) {
	if d.rank == 0 {
		return nil, misuse(RuleMap, "descriptor: nobody has set it")
	}
	cfg := d.cfg
	cfg.Dims, cfg.Strides, cfg.ElementStrides = d.dims[:d.rank], d.strides[:d.rank-1], d.steps[:d.rank]
	if cfg.Im2col == nil {
		cfg.Box = d.box[:d.rank]
	}
	return NewTensorMap(cfg)
}

// tiled validates that the map can be changed.
func (d *Descriptor) tiled() error {
	if d.cfg.Im2col != nil {
		return misuse(RuleMap, "descriptor: the map is in im2col mode, which tensormap.replace.tile does not change")
	}
	return nil
}

// ReplaceGlobalAddress has the tensor lie in global, whose first byte has that device address, a multiple of 16.
func (d *Descriptor) ReplaceGlobalAddress(global []byte, address uint64) error {
	if err := d.tiled(); err != nil {
		return err
	}
	if address%16 != 0 {
		return misuse(RuleMap, "global_address %#x is not a multiple of 16", address)
	}
	d.cfg.Global, d.cfg.Address = global, address
	return nil
}

// ReplaceRank sets the rank to newVal + 1, for that is how the field counts.
func (d *Descriptor) ReplaceRank(newVal uint32) error {
	if err := d.tiled(); err != nil {
		return err
	}
	if newVal >= maxRank {
		return misuse(RuleMap, "rank %d, which is one less than that of the tensor, is outside 0 to %d", newVal, maxRank-1)
	}
	d.rank = int(newVal) + 1
	return nil
}

// ReplaceBoxDim sets the extent of the box in a dimension, 1 to 256.
func (d *Descriptor) ReplaceBoxDim(ord int, newVal uint32) error {
	return replace(d, d.box[:], "box_dim", ord, newVal, 1, maxBox, 1)
}

// ReplaceGlobalDim sets the extent of the tensor in a dimension. It is never 0, of which the hardware makes 2^32.
func (d *Descriptor) ReplaceGlobalDim(ord int, newVal uint32) error {
	return replace(d, d.dims[:], "global_dim", ord, uint64(newVal), 1, maxDim-1, 1)
}

// ReplaceElementStride sets the element stride of a dimension, 1 to 8.
func (d *Descriptor) ReplaceElementStride(ord int, newVal uint32) error {
	return replace(d, d.steps[:], "element_stride", ord, newVal, 1, maxStep, 1)
}

// ReplaceGlobalStride sets the bytes from one index to the next in dimension ord + 1, a multiple of 16 below 2^40.
func (d *Descriptor) ReplaceGlobalStride(ord int, newVal uint64) error {
	return replace(d, d.strides[:], "global_stride", ord, newVal, 0, maxStride-1, 16)
}

// replace sets an element of a field of d, which is to be a multiple of unit from least to most.
func replace[T uint32 | uint64](d *Descriptor, field []T, name string, ord int, v, least, most, unit T) error {
	if err := d.tiled(); err != nil {
		return err
	}
	switch {
	case v%unit != 0:
		return misuse(RuleMap, "%s[%d] = %d is not a multiple of %d", name, ord, v, unit)
	case ord < 0 || ord >= len(field):
		return misuse(RuleMap, "%s: ordinal %d is outside 0 to %d", name, ord, len(field)-1)
	case v < least || v > most:
		return misuse(RuleMap, "%s[%d] = %d is outside %d to %d", name, ord, v, least, most)
	}
	field[ord] = v
	return nil
}

// ReplaceElemtype sets the element type. (PTX numbers some types in another way than the driver and [DataType] do.) A
// map of a TF32 type keeps one: made one of another type it would go on rounding what it loads, or fault, on an H200.
func (d *Descriptor) ReplaceElemtype(t DataType) error {
	if err := d.tiled(); err != nil {
		return err
	}
	if !t.valid() {
		return misuse(RuleMap, "elemtype: unknown data type %v", t)
	}
	if was := d.cfg.DataType; was.tf32() && !t.tf32() {
		return misuse(RuleMap, "elemtype: a map of %v does not become one of %v, it would go on rounding", was, t)
	}
	d.cfg.DataType = t
	return nil
}

// ReplaceInterleaveLayout sets the interleave layout, of which only InterleaveNone is implemented.
func (d *Descriptor) ReplaceInterleaveLayout(l Interleave) error {
	if err := d.tiled(); err != nil {
		return err
	}
	if l != InterleaveNone {
		return misuse(RuleMap, "interleave_layout %v is not supported, only %v is", l, InterleaveNone)
	}
	return nil
}

// ReplaceSwizzleMode sets the swizzle.
func (d *Descriptor) ReplaceSwizzleMode(s Swizzle) error {
	if err := d.tiled(); err != nil {
		return err
	}
	if !s.valid() {
		return misuse(RuleMap, "swizzle_mode: unknown swizzle %v", s)
	}
	d.cfg.Swizzle = s
	return nil
}

// ReplaceFillMode sets the fill.
func (d *Descriptor) ReplaceFillMode(f Fill) error {
	if err := d.tiled(); err != nil {
		return err
	}
	if f > FillNaN {
		return misuse(RuleMap, "fill_mode: unknown fill %v", f)
	}
	d.cfg.Fill = f
	return nil
}
