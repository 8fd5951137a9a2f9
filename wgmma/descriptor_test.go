package wgmma

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/leafhopper/tile"
)

func TestDescriptorFields(t *testing.T) {
	for _, c := range []struct {
		d    Descriptor
		want uint64
	}{
		{Descriptor{}, 0},
		{Descriptor{Start: 16}, 1},
		{Descriptor{Start: window - 16}, 0x3fff},
		{Descriptor{LBO: 16}, 1 << 16},
		{Descriptor{LBO: window - 16}, 0x3fff << 16},
		{Descriptor{SBO: 16}, 1 << 32},
		{Descriptor{SBO: window - 16}, 0x3fff << 32},
		{Descriptor{BaseOffset: 7}, 7 << 49},
		{Descriptor{Swizzle: tile.Swizzle128B}, 1 << 62},
		{Descriptor{Swizzle: tile.Swizzle64B}, 2 << 62},
		{Descriptor{Swizzle: tile.Swizzle32B}, 3 << 62},
		{KMajor(1024, tile.Swizzle128B), 0x4000004000010040},
	} {
		got, err := c.d.Encode()
		if err != nil || got != c.want {
			t.Errorf("%+v encodes to %#x, %v, want %#x", c.d, got, err, c.want)
		}
		if back, err := DecodeDescriptor(c.want); err != nil || back != c.d {
			t.Errorf("%#x decodes to %+v, %v, want %+v", c.want, back, err, c.d)
		}
	}
}

func TestDescriptorErrors(t *testing.T) {
	for _, c := range []struct {
		d    Descriptor
		want string
	}{
		{Descriptor{Start: 8}, "start address 8, must be a multiple of 16 from 0 to 262128 (14 bits"},
		{Descriptor{Start: -16}, "start address -16"},
		{Descriptor{Start: 1 << 18}, "start address 262144"},
		{Descriptor{LBO: 17}, "leading dimension byte offset 17"},
		{Descriptor{LBO: 1 << 18}, "leading dimension byte offset 262144"},
		{Descriptor{SBO: 4}, "stride dimension byte offset 4"},
		{Descriptor{SBO: -16}, "stride dimension byte offset -16"},
		{Descriptor{BaseOffset: 8}, "base offset 8, must be 0 to 7"},
		{Descriptor{BaseOffset: -1}, "base offset -1"},
		{Descriptor{Swizzle: 4}, "swizzle mode Swizzle(4)"},
	} {
		if _, err := c.d.Encode(); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "wgmma: ") {
			t.Errorf("%+v: error %v, want %q", c.d, err, c.want)
		}
	}
	for bit := range 64 {
		reserved := bit == 14 || bit == 15 || bit == 30 || bit == 31 || bit >= 46 && bit <= 48 || bit >= 52 && bit <= 61
		if _, err := DecodeDescriptor(1 << bit); (err != nil) != reserved {
			t.Errorf("bit %d: error %v, reserved: %v", bit, err, reserved)
		}
	}
}

func FuzzDecodeDescriptor(f *testing.F) {
	f.Add(uint64(0x4000004000010040))
	f.Add(uint64(1) << 50)
	f.Add(^uint64(0))
	shared, err := tile.NewShared(8 << 10)
	if err != nil {
		f.Fatal(err)
	}
	w := NewWarpgroup(shared)
	d, err := NewAccumulator(F32, 8)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, word uint64) {
		desc, err := DecodeDescriptor(word)
		if err != nil {
			return
		}
		back, err := desc.Encode()
		if err != nil || back != word {
			t.Errorf("%#x decodes to %+v, which encodes to %#x, %v", word, desc, back, err)
		}
		// Whatever it describes is read or refused, nothing else.
		for _, transpose := range []bool{false, true} {
			op := Op{N: 8, TransposeA: transpose, TransposeB: transpose}
			if err := w.MMA(op, d, desc, desc); err != nil && !strings.Contains(err.Error(), "reaches over the bytes") {
				t.Errorf("%+v: %v", desc, err)
			}
			w.CommitGroup()
			if err := w.WaitGroup(0); err != nil {
				t.Error(err)
			}
		}
	})
}

// The worked addresses of one 8x8 core matrix and its neighbours.
func TestOffset(t *testing.T) {
	plain := Descriptor{LBO: 256, SBO: 4096}
	wide := Descriptor{LBO: 8192, SBO: 1024, Swizzle: tile.Swizzle128B}
	for _, c := range []struct {
		d          Descriptor
		major      Major
		size, r, k int
		want       int
	}{
		{plain, KMajorLayout, 2, 1, 0, 16},
		{plain, KMajorLayout, 2, 8, 0, 4096},
		{plain, KMajorLayout, 2, 0, 8, 256},
		{plain, KMajorLayout, 2, 9, 11, 4096 + 16 + 256 + 6},
		{plain, KMajorLayout, 1, 0, 16, 256},
		{plain, KMajorLayout, 4, 0, 5, 256 + 4},
		{plain, MNMajorLayout, 2, 1, 0, 2},
		{plain, MNMajorLayout, 2, 8, 0, 4096},
		{plain, MNMajorLayout, 2, 0, 1, 16},
		{plain, MNMajorLayout, 2, 0, 8, 256},
		{wide, KMajorLayout, 2, 1, 3, 128 + 6},
		{wide, KMajorLayout, 2, 8, 15, 1024 + 30},
		{wide, KMajorLayout, 4, 3, 7, 3*128 + 28},
		{wide, MNMajorLayout, 2, 63, 0, 126},
		{wide, MNMajorLayout, 2, 64, 0, 8192},
		{wide, MNMajorLayout, 2, 1, 9, 2 + 1024 + 128},
	} {
		if got := c.d.Offset(c.major, c.size, c.r, c.k); got != c.want {
			t.Errorf("%+v, major %v, %d bytes: (%d, %d) at %d, want %d", c.d, c.major, c.size, c.r, c.k, got, c.want)
		}
	}
}

// A tile that a tensor copy wrote is read by the matching descriptor, element
// by element, in every swizzle, K-major and MN-major, at every step of K.
func TestTensorCopyRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, swizzle := range []tile.Swizzle{tile.Swizzle32B, tile.Swizzle64B, tile.Swizzle128B} {
		for _, size := range []int{1, 2, 4} {
			for _, major := range []Major{KMajorLayout, MNMajorLayout} {
				if major == MNMajorLayout && size != 2 {
					continue
				}
				name := fmt.Sprintf("%v, %d bytes, transposed %v", swizzle, size, major)
				span := swizzle.Span() / size // elements
				inner, outer := span, 64      // K by rows, one span of K
				if major == MNMajorLayout {
					inner, outer = 64, 2*RowBytes/size // rows by K
				}
				global := make([]byte, inner*outer*size)
				for i := range global {
					global[i] = byte(r.Uint32())
				}
				m, err := tile.NewTensorMap(tile.Config{
					DataType: map[int]tile.DataType{1: tile.Uint8, 2: tile.BFloat16, 4: tile.Float32}[size],
					Global:   global,
					Dims:     []uint64{uint64(inner), uint64(outer)},
					Strides:  []uint64{uint64(inner * size)},
					Box:      []uint32{uint32(span), uint32(outer)},
					Swizzle:  swizzle,
				})
				if err != nil {
					t.Fatal(err)
				}
				shared, err := tile.NewShared(32 << 10)
				if err != nil {
					t.Fatal(err)
				}
				const start = 2048
				for at := 0; at < inner; at += span {
					if err := tile.Load(shared, start+at/span*m.SharedBytes(), m, []int32{int32(at), 0},
						nil); err != nil {
						t.Fatal(err)
					}
				}
				d, step, ks := KMajor(start, swizzle), RowBytes, span
				if major == MNMajorLayout {
					d, step, ks = MNMajor(start, swizzle, m.SharedBytes()), 16*swizzle.Span(), outer
				}
				per := RowBytes / size
				checked := 0
				for row := range 64 {
					for k := range ks {
						at := d.Advance(k/per*step).Address(major, size, row, k%per)
						from := (row*ks + k) * size
						if major == MNMajorLayout {
							from = (k*inner + row) * size
						}
						if got, want := shared.Bytes()[at:at+size],
							global[from:from+size]; string(got) != string(want) {
							t.Fatalf("%s: (%d, %d) reads % x at %d, the copy wrote % x", name, row, k, got, at, want)
						}
						checked++
					}
				}
				if checked != 64*ks {
					t.Errorf("%s: %d elements checked", name, checked)
				}
			}
		}
	}
}

// An operand is refused just if one of its chunks is out of shared memory.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 20000 {
		d := Descriptor{
			Start:      r.IntN(256) * 16,
			LBO:        r.IntN(96) * 16,
			SBO:        r.IntN(96) * 16,
			BaseOffset: r.IntN(8),
			Swizzle:    tile.Swizzle(r.IntN(4)),
		}
		size, major, rows := 1<<r.IntN(3), Major(r.IntN(2) == 0), 8*(1+r.IntN(32))
		if major == MNMajorLayout {
			size = 2
		}
		low, high := 1<<30, 0
		d.eachChunk(major, size, rows, RowBytes, func(address, row, at int) {
			low, high = min(low, address), max(high, address+16)
		})
		memory := high + r.IntN(40)*16 - 10*16
		err := d.checkBounds(major, size, rows, RowBytes, memory)
		if (err != nil) != (low < 0 || high > memory) {
			t.Fatalf("%+v, %v, %d rows of %d-byte elements, %d to %d of %d: error %v", d, major, rows, size, low, high,
				memory, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 1000 {
		t.Errorf("%d refused", refused)
	}
}
