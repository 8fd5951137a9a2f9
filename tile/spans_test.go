package tile_test

import (
	"bytes"
	"fmt"
	"testing"

	"example.com/leafhopper/tile"
)

// TestSpans: a load writes the bytes that Spans says, and a store does not depend on any others. In global memory it is
// the other way round, by GlobalSpans.
func TestSpans(t *testing.T) {
	const offset, poison = 128, 0xEE
	im2col := &tile.Im2col{
		PixelBoxLowerCorner: []int32{1, 0}, PixelBoxUpperCorner: []int32{0, -1}, ChannelsPerPixel: 32, PixelsPerColumn: 9,
	}
	for _, box := range [][]uint32{{64}, {64, 5}, {32, 7}, {16, 9, 2}, nil} {
		for s := range tile.Swizzle(4) {
			cfg := tile.Config{
				DataType: tile.Uint8, Swizzle: s, Box: box,
				Dims: []uint64{80, 20, 4}[:len(box)], Strides: []uint64{80, 1600}[:max(len(box)-1, 0)],
			}
			width, coord := uint32(32), []int32{64, 17, 3}[:len(box)] // partly outside
			load := coord
			if box != nil {
				width = box[0]
			} else {
				cfg.Im2col, cfg.Dims, cfg.Strides = im2col, []uint64{80, 5, 4, 4}, []uint64{80, 400, 1600}
				coord, load = []int32{64, 3, 2, 3}, []int32{64, 3, 2, 3, 1, 1}
			}
			if span := s.Span(); span > 0 && int(width) > span {
				continue
			}
			t.Run(fmt.Sprint(box, s), func(t *testing.T) {
				data := bytes.Repeat([]byte{1}, 80*20*4)
				cfg.Global = data
				m, err := tile.NewTensorMap(cfg)
				if err != nil {
					t.Fatal(err)
				}
				shared, _ := tile.NewShared(8 << 10)
				mem := shared.Bytes()
				fill := func(b byte) {
					for i := range mem {
						mem[i] = b
					}
				}
				spanned := func(coord []int32) []bool {
					in := make([]bool, len(mem))
					m.Spans(offset, coord, func(lo, hi int) {
						for i := lo; i < hi; i++ {
							if in[i] {
								t.Errorf("byte %d twice", i)
							}
							in[i] = true
						}
					})
					return in
				}
				fill(poison)
				if err := tile.Load(shared, offset, m, load, nil); err != nil {
					t.Fatal(err)
				}
				for i, in := range spanned(nil) {
					if in != (mem[i] != poison) {
						t.Fatalf("byte %d: in a span %v, is %#x", i, in, mem[i])
					}
				}
				fill(poison)
				for i, in := range spanned(coord) {
					if in {
						mem[i] = 2
					}
				}
				if err := tile.Store(m, coord, shared, offset); err != nil {
					t.Fatal(err)
				}
				if bytes.IndexByte(data, poison) >= 0 || bytes.IndexByte(data, 2) < 0 {
					t.Error("a store reads other bytes")
				}
				// global has what a copy touches be 3, and the rest 4.
				global := func(coord []int32, writes bool) (n int) {
					for i := range data {
						data[i] = 4
					}
					m.GlobalSpans(coord, writes, func(b []byte) {
						for i := range b {
							if b[i] != 4 {
								t.Error("a byte of global memory twice")
							}
							b[i] = 3
						}
						n += len(b)
					})
					return n
				}
				n := global(load, false)
				fill(poison)
				if err := tile.Load(shared, offset, m, load, nil); err != nil {
					t.Fatal(err)
				}
				if got := bytes.Count(mem, []byte{3}); got != n || n == 0 || bytes.IndexByte(mem, 4) >= 0 {
					t.Errorf("a load has %d bytes of %d that it is to read, and others: %v", got, n, bytes.IndexByte(mem, 4) >= 0)
				}
				n = global(coord, true)
				fill(5)
				if err := tile.Store(m, coord, shared, offset); err != nil {
					t.Fatal(err)
				}
				if got := bytes.Count(data, []byte{5}); got != n || n == 0 || bytes.IndexByte(data, 3) >= 0 {
					t.Errorf("a store writes %d bytes, want %d", got, n)
				}
			})
		}
	}
}

// TestStep: a step in each dimension, of shared memory and of global memory.
func TestStep(t *testing.T) {
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.BFloat16, Swizzle: tile.Swizzle128B, ElementStrides: []uint32{1, 2, 1, 1},
		Dims: []uint64{80, 20, 4, 3}, Strides: []uint64{160, 3200, 12800}, Box: []uint32{32, 9, 2, 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range [][2]int{{2, 2}, {128, 320}, {5 * 128, 3200}, {10 * 128, 12800}} {
		if shared, global := m.Step(d); shared != want[0] || global != int64(want[1]) {
			t.Errorf("dimension %d: %d and %d, want %d", d, shared, global, want)
		}
	}
}
