package tile_test

import (
	"strings"
	"testing"
	"unsafe"

	"example.com/leafhopper/tile"
)

// base is a map that everything admits; tests break one field at a time.
func base() tile.Config {
	return tile.Config{
		DataType: tile.BFloat16,
		Dims:     []uint64{128, 64},
		Strides:  []uint64{256},
		Box:      []uint32{64, 8},
		Swizzle:  tile.Swizzle128B,
	}
}

// im2col returns what breaks base made one in im2col mode.
func im2col(change func(*tile.Config)) func(*tile.Config) {
	return func(c *tile.Config) {
		c.Box, c.Dims, c.Strides = nil, []uint64{64, 9, 7, 2}, []uint64{128, 1152, 8064}
		c.Im2col = &tile.Im2col{
			PixelBoxLowerCorner: []int32{-1, -1}, PixelBoxUpperCorner: []int32{-1, -1},
			ChannelsPerPixel: 64, PixelsPerColumn: 1024,
		}
		change(c)
	}
}

func TestTensorMapErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*tile.Config)
		want   string
	}{
		{func(c *tile.Config) { c.DataType = 13 }, "data type DataType(13)"},
		{func(c *tile.Config) { c.Interleave = tile.Interleave16B }, "Interleave16B"},
		{func(c *tile.Config) { c.Interleave = tile.Interleave32B }, "Interleave32B"},
		{func(c *tile.Config) { c.Swizzle = 4 }, "Swizzle(4)"},
		{func(c *tile.Config) { c.Fill = 2 }, "Fill(2)"},
		{func(c *tile.Config) { c.DataType, c.Fill = tile.Uint16, tile.FillNaN }, "not Uint16"},
		{func(c *tile.Config) { c.Address = 0x1008 }, "address 0x1008"},
		{func(c *tile.Config) { c.Dims = nil }, "rank 0"},
		{func(c *tile.Config) { c.Dims = make([]uint64, 6) }, "rank 6"},
		{func(c *tile.Config) { c.Strides = nil }, "0 strides for rank 2, want 1"},
		{func(c *tile.Config) { c.Box = c.Box[:1] }, "1 box extents for rank 2"},
		{func(c *tile.Config) { c.ElementStrides = []uint32{1} }, "1 element strides for rank 2"},
		{func(c *tile.Config) { c.Dims[1] = 0 }, "dims[1] = 0"},
		{func(c *tile.Config) { c.Dims[0] = 1<<32 + 1 }, "dims[0] = 4294967297"},
		{func(c *tile.Config) { c.Box[1] = 0 }, "box[1] = 0"},
		{func(c *tile.Config) { c.Box[1] = 257 }, "box[1] = 257"},
		{func(c *tile.Config) { c.ElementStrides = []uint32{0, 1} }, "element strides[0] = 0"},
		{func(c *tile.Config) { c.ElementStrides = []uint32{1, 9} }, "element strides[1] = 9"},
		{func(c *tile.Config) { c.Strides[0] = 264 }, "stride 264 of dimension 1"},
		{func(c *tile.Config) { c.Strides[0] = 1 << 40 }, "stride 1099511627776 of dimension 1"},
		{func(c *tile.Config) { c.Box[0] = 12 }, "24 bytes, not a multiple of 16"},
		{func(c *tile.Config) { c.Box[0] = 72 }, "144 bytes, more than the span 128"},
		{func(c *tile.Config) { c.Box[0], c.Swizzle = 40, tile.Swizzle64B }, "80 bytes, more than the span 64"},
		{func(c *tile.Config) { c.Box[0], c.Swizzle = 24, tile.Swizzle32B }, "48 bytes, more than the span 32"},
		{func(c *tile.Config) { c.DataType, c.Box, c.Swizzle = tile.Float32, []uint32{256, 228}, 0 },
			"228 rows of 1024 bytes"},
		{func(c *tile.Config) {
			c.Box, c.Swizzle = []uint32{256, 256, 256, 256}, 0
			c.Dims = []uint64{1, 1, 1, 1}
			c.Strides = []uint64{16, 16, 16}
		}, "232448"},
		{func(c *tile.Config) { c.Global = make([]byte, 128*2+63*256-1) }, "16384 bytes in global memory of 16383"},
		{func(c *tile.Config) { c.Global = []byte{} }, "in global memory of 0"},
		{func(c *tile.Config) {
			c.Global, c.Dims, c.Strides = make([]byte, 1<<10), []uint64{8, 1 << 32}, []uint64{1<<40 - 16}
		}, "over 2^64 bytes in dimension 1"},
		{func(c *tile.Config) { c.Box, c.Im2col = nil, &tile.Im2col{} }, "im2col: rank 2 (length of dims) is outside 3 to 5"},
		{im2col(func(c *tile.Config) { c.Box = []uint32{64, 8} }), "2 box extents and im2col"},
		{im2col(func(c *tile.Config) { c.Im2col.PixelBoxLowerCorner = []int32{0} }),
			"lower corner of 1 elements for rank 4, want 2"},
		{im2col(func(c *tile.Config) { c.Im2col.PixelBoxUpperCorner = nil }), "upper corner of 0 elements for rank 4"},
		{im2col(func(c *tile.Config) { c.Im2col.PixelBoxLowerCorner[1] = -129 }),
			"lower corner[1] = -129 is outside -128 to 127 in rank 4"},
		{im2col(func(c *tile.Config) { c.Im2col.PixelBoxUpperCorner[0] = 128 }), "upper corner[0] = 128"},
		{im2col(func(c *tile.Config) { c.Im2col.ChannelsPerPixel = 257 }), "257 channels per pixel"},
		{im2col(func(c *tile.Config) { c.Im2col.PixelsPerColumn = 1025 }), "1025 pixels per column"},
		{im2col(func(c *tile.Config) { c.Im2col.PixelBoxLowerCorner[1] = 6 }),
			"bounding box of 6 to 5 in dimension 2 of 7 is empty"},
	} {
		cfg := base()
		c.change(&cfg)
		m, err := tile.NewTensorMap(cfg)
		if err == nil || m != nil {
			t.Errorf("want an error with %q, got a map", c.want)
			continue
		}
		if !strings.HasPrefix(err.Error(), "tile: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %q, want %q in it", err, c.want)
		}
	}
}

func TestTensorMapLimits(t *testing.T) {
	for name, change := range map[string]func(*tile.Config){
		"as is":               func(*tile.Config) {},
		"exact memory":        func(c *tile.Config) { c.Global = make([]byte, 128*2+63*256) },
		"largest dims":        func(c *tile.Config) { c.Dims = []uint64{1 << 32, 1 << 32} },
		"largest stride":      func(c *tile.Config) { c.Strides[0] = 1<<40 - 16 },
		"stride 0":            func(c *tile.Config) { c.Strides[0] = 0 },
		"box over the tensor": func(c *tile.Config) { c.Dims = []uint64{1, 1}; c.Box[1] = 256 },
		"largest box": func(c *tile.Config) {
			c.Swizzle, c.DataType, c.Box = tile.SwizzleNone, tile.Float32, []uint32{256, 227}
		},
		"box made small by element strides": func(c *tile.Config) {
			c.Swizzle, c.Box, c.ElementStrides = tile.SwizzleNone, []uint32{256, 256}, []uint32{8, 2}
		},
		"NaN for float": func(c *tile.Config) { c.Fill = tile.FillNaN },
		"im2col":        im2col(func(*tile.Config) {}),
		"im2col of one pixel": im2col(func(c *tile.Config) {
			c.Im2col.PixelBoxLowerCorner, c.Im2col.PixelBoxUpperCorner = []int32{8, 6}, []int32{0, 0}
		}),
	} {
		cfg := base()
		change(&cfg)
		if _, err := tile.NewTensorMap(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBoxBytes(t *testing.T) {
	cfg := base()
	cfg.Box, cfg.ElementStrides = []uint32{16, 7}, []uint32{4, 3}
	m := newMap(t, cfg)
	if m.BoxBytes() != 16*2*3 || m.SharedBytes() != 128*3 {
		t.Errorf("BoxBytes() = %d, SharedBytes() = %d, want 96 and 384", m.BoxBytes(), m.SharedBytes())
	}
	if m.Rank() != 2 || m.DataType() != tile.BFloat16 || m.Swizzle() != tile.Swizzle128B {
		t.Errorf("Rank() = %d, DataType() = %v, Swizzle() = %v", m.Rank(), m.DataType(), m.Swizzle())
	}
}

// A swizzle is its own inverse, stays in its span, and on a tile that starts
// the pattern sends chunk c of line r to c^r of as many lines as repeat it.
func TestSwizzle(t *testing.T) {
	for swz := tile.SwizzleNone; swz <= tile.Swizzle128B; swz++ {
		span := max(swz.Span(), 1)
		for a := range 4096 {
			b := swz.Apply(a)
			if swz.Apply(b) != a {
				t.Fatalf("%v: %d goes to %d, which goes to %d", swz, a, b, swz.Apply(b))
			}
			if a/span != b/span || a%16 != b%16 {
				t.Fatalf("%v: %d leaves its span or its chunk for %d", swz, a, b)
			}
			line, chunk := a/128, a/16%8
			if want := line*128 + (chunk^line%max(span/16, 1))*16 + a%16; b != want {
				t.Fatalf("%v: %d goes to %d, want %d", swz, a, b, want)
			}
		}
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{tile.Uint8.String(), "Uint8"}, {tile.TFloat32FTZ.String(), "TFloat32FTZ"},
		{tile.DataType(99).String(), "DataType(99)"},
		{tile.SwizzleNone.String(), "SwizzleNone"}, {tile.Swizzle64B.String(), "Swizzle64B"},
		{tile.Swizzle(9).String(), "Swizzle(9)"},
		{tile.FillZero.String(), "FillZero"}, {tile.FillNaN.String(), "FillNaN"}, {tile.Fill(7).String(), "Fill(7)"},
		{tile.InterleaveNone.String(), "InterleaveNone"}, {tile.Interleave32B.String(), "Interleave32B"},
		{tile.Interleave(3).String(), "Interleave(3)"},
	} {
		if c.got != c.want {
			t.Errorf("String() = %q, want %q", c.got, c.want)
		}
	}
	if n := tile.DataType(13).Size(); n != 0 {
		t.Errorf("Size() of no type = %d, want 0", n)
	}
	if tile.Swizzle(9).Span() != 0 || tile.Swizzle(9).Apply(1000) != 1000 {
		t.Error("a value that is no swizzle moves bytes")
	}
}

func TestShared(t *testing.T) {
	for _, size := range []int{1, 63, 128, 4097} {
		s := newShared(t, size)
		if len(s.Bytes()) != size || cap(s.Bytes()) != size {
			t.Errorf("NewShared(%d) has %d bytes, capacity %d", size, len(s.Bytes()), cap(s.Bytes()))
		}
		if a := uintptr(unsafe.Pointer(&s.Bytes()[0])); a%64 != 0 {
			t.Errorf("NewShared(%d) starts at %#x, not on 64 bytes", size, a)
		}
	}
	for _, size := range []int{-1, 0, 1<<30 + 1} {
		if _, err := tile.NewShared(size); err == nil {
			t.Errorf("NewShared(%d) succeeds", size)
		}
	}
}
