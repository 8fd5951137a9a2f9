package tile_test

import (
	"strings"
	"testing"

	"example.com/leafhopper/tile"
)

// small is the map of a tensor of 8 × 4 numbers.
func small(t *testing.T) *tile.TensorMap {
	return newMap(t, tile.Config{
		DataType: tile.Int32, Global: make([]byte, 128), Dims: []uint64{8, 4}, Strides: []uint64{32}, Box: []uint32{4, 2},
	})
}

// TestDescriptor changes every field of a map, which becomes what NewTensorMap makes of them, and leaves the map that
// it began with as it was.
func TestDescriptor(t *testing.T) {
	m := small(t)
	d := m.Descriptor()
	global := make([]byte, 1<<12)
	for i := range global {
		global[i] = byte(i * 7 >> 2)
	}
	for _, err := range []error{
		d.ReplaceGlobalAddress(global, 1<<20), d.ReplaceRank(2), d.ReplaceElemtype(tile.BFloat16),
		d.ReplaceGlobalDim(0, 20), d.ReplaceGlobalDim(1, 5), d.ReplaceGlobalDim(2, 6),
		d.ReplaceGlobalStride(0, 48), d.ReplaceGlobalStride(1, 256), d.ReplaceGlobalStride(3, 0),
		d.ReplaceBoxDim(0, 16), d.ReplaceBoxDim(1, 6), d.ReplaceBoxDim(2, 3),
		d.ReplaceElementStride(1, 2), d.ReplaceElementStride(2, 1),
		d.ReplaceInterleaveLayout(tile.InterleaveNone), d.ReplaceSwizzleMode(tile.Swizzle32B),
		d.ReplaceFillMode(tile.FillNaN),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Map()
	if err != nil {
		t.Fatal(err)
	}
	want := newMap(t, tile.Config{
		DataType: tile.BFloat16, Global: global, Address: 1 << 20, Dims: []uint64{20, 5, 6}, Strides: []uint64{48, 256},
		Box: []uint32{16, 6, 3}, ElementStrides: []uint32{1, 2, 1}, Swizzle: tile.Swizzle32B, Fill: tile.FillNaN,
	})
	var loaded [2]*tile.Shared
	for i, m := range []*tile.TensorMap{got, want} {
		loaded[i] = newShared(t, m.SharedBytes())
		if err := tile.Load(loaded[i], 0, m, []int32{8, -1, 4}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if i := firstDiff(loaded[0].Bytes(), loaded[1].Bytes()); i >= 0 {
		t.Errorf("loads differ from byte %d on", i)
	}
	if m.Rank() != 2 || m.DataType() != tile.Int32 || m.BoxBytes() != 32 {
		t.Errorf("the map that the descriptor is of has changed: %v of rank %d, boxes of %d bytes",
			m.DataType(), m.Rank(), m.BoxBytes())
	}
}

// TestDescriptorErrors: a field that cannot be replaced stays as it was.
func TestDescriptorErrors(t *testing.T) {
	type D = tile.Descriptor
	im2col := newMap(t, tile.Config{
		DataType: tile.Int32, Dims: []uint64{8, 4, 4}, Strides: []uint64{32, 128},
		Im2col: &tile.Im2col{
			PixelBoxLowerCorner: []int32{0}, PixelBoxUpperCorner: []int32{0}, ChannelsPerPixel: 8, PixelsPerColumn: 4,
		},
	}).Descriptor()
	tf32 := newMap(t, tile.Config{DataType: tile.TFloat32, Dims: []uint64{8}, Box: []uint32{8}}).Descriptor()
	for _, c := range []struct {
		replace func(d *D) error
		want    string
	}{
		{func(d *D) error { return d.ReplaceGlobalAddress(nil, 24) }, "global_address 0x18 is not a multiple of 16"},
		{func(d *D) error { return d.ReplaceRank(5) }, "rank 5, which is one less than that of the"},
		{func(d *D) error { return d.ReplaceBoxDim(0, 0) }, "box_dim[0] = 0 is outside 1 to 256"},
		{func(d *D) error { return d.ReplaceBoxDim(4, 257) }, "box_dim[4] = 257 is outside 1 to 256"},
		{func(d *D) error { return d.ReplaceBoxDim(5, 1) }, "box_dim: ordinal 5 is outside 0 to 4"},
		{func(d *D) error { return d.ReplaceGlobalDim(-1, 1) }, "global_dim: ordinal -1 is outside 0 to 4"},
		{func(d *D) error { return d.ReplaceGlobalStride(4, 16) }, "global_stride: ordinal 4 is outside 0 to 3"},
		{func(d *D) error { return d.ReplaceGlobalStride(0, 8) }, "global_stride[0] = 8 is not a multiple of 16"},
		{func(d *D) error { return d.ReplaceGlobalStride(0, 1<<40) }, "global_stride[0] = 1099511627776"},
		{func(d *D) error { return d.ReplaceElementStride(1, 9) }, "element_stride[1] = 9 is outside 1 to 8"},
		{func(d *D) error { return d.ReplaceElemtype(13) }, "elemtype: unknown data type DataType(13)"},
		{func(d *D) error { return d.ReplaceInterleaveLayout(tile.Interleave32B) }, "layout Interleave32B is not"},
		{func(d *D) error { return d.ReplaceSwizzleMode(4) }, "swizzle_mode: unknown swizzle Swizzle(4)"},
		{func(d *D) error { return d.ReplaceFillMode(2) }, "fill_mode: unknown fill Fill(2)"},
		{func(d *D) error { return im2col.ReplaceGlobalDim(0, 4) }, "the map is in im2col mode"},
		{func(d *D) error { return tf32.ReplaceElemtype(tile.Float32) }, "TFloat32 does not become one of Float32"},
		{func(d *D) error { _, err := new(tile.Descriptor).Map(); return err }, "nobody has set it"},
	} {
		d := small(t).Descriptor()
		if err := c.replace(&d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		m, err := d.Map()
		if err != nil || m.Rank() != 2 || m.BoxBytes() != 32 {
			t.Errorf("%s: the map has become %+v, %v", c.want, m, err)
		}
	}
}
