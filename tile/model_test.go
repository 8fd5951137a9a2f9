package tile_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/tile"
)

// walk calls visit for every element of the box of cfg at coord, one by one,
// in the words of the specification: its address in shared memory before the
// swizzle, its offset in global memory (meaningless unless inside), and where
// it lies. It shares nothing with the implementation.
func walk(
	cfg tile.Config, coord []int32, visit func(shared int, global int64, inside, innerOnly bool),
) (rows, row, pitch int) {
	rank, size := len(cfg.Dims), cfg.DataType.Size()
	var pixels [][]int32
	if x := cfg.Im2col; x != nil {
		if pixels = make([][]int32, x.PixelsPerColumn); visit != nil {
			pixels = walkPixels(cfg, coord)
		}
		cfg.Box = []uint32{x.ChannelsPerPixel, x.PixelsPerColumn}
		cfg.Box = append(cfg.Box, 1, 1, 1)[:rank]
	}
	row = int(cfg.Box[0]) * size
	pitch = row
	if cfg.Swizzle != tile.SwizzleNone {
		pitch = []int{0, 32, 64, 128}[cfg.Swizzle]
	}
	rows = 1
	n := []int{int(cfg.Box[0]), 1, 1, 1, 1}
	step := []int64{1, 1, 1, 1, 1}
	for d := 1; d < rank; d++ {
		if cfg.ElementStrides != nil && pixels == nil {
			step[d] = int64(cfg.ElementStrides[d])
		}
		for n[d] = 0; int64(n[d])*step[d] < int64(cfg.Box[d]); {
			n[d]++
		}
		rows *= n[d]
	}
	if visit == nil {
		return rows, row, pitch
	}
	for k := range rows * n[0] {
		at, rest := int64(0), k
		inside, outer := true, true
		for d := range rank {
			i := int64(rest % n[d])
			rest /= n[d]
			g := int64(coord[d]) + i*step[d]
			if pixels != nil && d > 0 {
				g = int64(pixels[k/n[0]][d])
			}
			ok := g >= 0 && g < int64(cfg.Dims[d])
			inside = inside && ok
			if d == 0 {
				at += g * int64(size)
				continue
			}
			outer = outer && ok
			at += g * int64(cfg.Strides[d-1])
		}
		visit(k/n[0]*pitch+k%n[0]*size, at, inside, outer)
	}
	return rows, row, pitch
}

// walkPixels returns the coordinates of the pixels of an im2col copy, but for C.
func walkPixels(cfg tile.Config, coord []int32) (pixels [][]int32) {
	rank, x := len(cfg.Dims), cfg.Im2col
	at := slices.Clone(coord[:rank])
	for range x.PixelsPerColumn {
		pixel := slices.Clone(at)
		for i, offset := range coord[rank:] {
			pixel[1+i] += offset
		}
		pixels = append(pixels, pixel)
		for d := 1; d < rank; d++ {
			at[d]++
			if cfg.ElementStrides != nil {
				at[d] += int32(cfg.ElementStrides[d]) - 1
			}
			if d == rank-1 || at[d] < int32(cfg.Dims[d])+x.PixelBoxUpperCorner[d-1] {
				break
			}
			at[d] = x.PixelBoxLowerCorner[d-1]
		}
	}
	return pixels
}

// extent returns the bytes from the first element of a tensor to its last.
func extent(cfg tile.Config) int {
	n := int(cfg.Dims[0]) * cfg.DataType.Size()
	for d := 1; d < len(cfg.Dims); d++ {
		n += int(cfg.Dims[d]-1) * int(cfg.Strides[d-1])
	}
	return n
}

func modelSwizzle(s tile.Swizzle, a int) int {
	return a ^ (((a >> 7) & []int{0, 1, 3, 7}[s]) << 4)
}

// modelLoad is Load for a legal coordinate, byte by byte. Words of TF32 maps
// are left unrounded.
func modelLoad(dst []byte, offset int, cfg tile.Config, coord []int32) {
	size := cfg.DataType.Size()
	walk(cfg, coord, func(shared int, global int64, inside, _ bool) {
		for b := range size {
			v := byte(0)
			switch {
			case inside:
				v = cfg.Global[global+int64(b)]
			case cfg.Fill == tile.FillNaN:
				v = []byte{0xf7, 0x7f}[b%2]
			}
			dst[modelSwizzle(cfg.Swizzle, offset+shared+b)] = v
		}
	})
}

// modelStore is Store for a legal coordinate, byte by byte.
func modelStore(cfg tile.Config, coord []int32, src []byte, offset int) {
	size := cfg.DataType.Size()
	rowEnd := int64(cfg.Dims[0]) * int64(size)
	at := int64(coord[0]) * int64(size)
	_, row, _ := walk(cfg, coord, nil)
	walk(cfg, coord, func(shared int, global int64, _, outer bool) {
		if !outer {
			return
		}
		for b := range size {
			x := at + int64(shared%max(row, cfg.Swizzle.Span())) + int64(b) // byte of the tensor's row
			g := global + int64(b)
			if x&^15 < rowEnd && g < int64(len(cfg.Global)) {
				cfg.Global[g] = src[modelSwizzle(cfg.Swizzle, offset+shared+b)]
			}
		}
	})
}

// randomConfig returns a map that every rule admits, with memory, and whose
// rows do not overlap.
func randomConfig(r *rand.Rand) tile.Config {
	cfg := tile.Config{
		DataType: tile.DataType(r.IntN(13)),
		Swizzle:  tile.Swizzle(r.IntN(4)),
	}
	if cfg.DataType >= tile.Float16 {
		cfg.Fill = tile.Fill(r.IntN(2))
	}
	size := cfg.DataType.Size()
	rank := 1 + r.IntN(5)
	maxRow := 256
	if cfg.Swizzle != tile.SwizzleNone {
		maxRow = cfg.Swizzle.Span()
	}
	cfg.Dims = append(cfg.Dims, uint64(1+r.IntN(40)))
	cfg.Box = append(cfg.Box, uint32(min(256, (1+r.IntN(maxRow/16))*16/size)))
	stride := (cfg.Dims[0]*uint64(size) + 15) &^ 15
	for d := 1; d < rank; d++ {
		cfg.Strides = append(cfg.Strides, stride+16*uint64(r.IntN(2)))
		cfg.Dims = append(cfg.Dims, uint64(1+r.IntN(12>>d+1)))
		cfg.Box = append(cfg.Box, uint32(1+r.IntN(16>>d+1)))
		stride = cfg.Strides[d-1] * cfg.Dims[d]
	}
	if r.IntN(2) == 0 {
		for range rank {
			cfg.ElementStrides = append(cfg.ElementStrides, uint32(1+r.IntN(3)))
		}
	}
	if rank > 2 && r.IntN(3) == 0 { // its bounding box lies in the tensor, as that of a store is to
		x := &tile.Im2col{ChannelsPerPixel: cfg.Box[0], PixelsPerColumn: uint32(1 + r.IntN(60))}
		for _, n := range cfg.Dims[1 : rank-1] {
			lower := r.IntN(min(int(n), 16))
			x.PixelBoxLowerCorner = append(x.PixelBoxLowerCorner, int32(lower))
			x.PixelBoxUpperCorner = append(x.PixelBoxUpperCorner, -int32(r.IntN(int(n)-lower)))
		}
		cfg.Box, cfg.Im2col = nil, x
	}
	cfg.Global = make([]byte, extent(cfg)+r.IntN(2)*r.IntN(40))
	randomBytes(r, cfg.Global)
	return cfg
}

func randomBytes(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// randomCoord returns a coordinate on the 16-byte grid around the tensor, for a load if lowest is negative.
func randomCoord(r *rand.Rand, cfg tile.Config, lowest int) []int32 {
	rank, x := len(cfg.Dims), cfg.Im2col
	coord := make([]int32, rank)
	for d := range coord {
		box := 1
		if x == nil {
			box = int(cfg.Box[d])
		} else if d == 0 {
			box = int(x.ChannelsPerPixel)
		}
		lo := max(lowest, -box-2)
		coord[d] = int32(lo + r.IntN(int(cfg.Dims[d])+3-lo))
		if x != nil && d > 0 && d < rank-1 {
			low, end := x.PixelBoxLowerCorner[d-1], int32(cfg.Dims[d])+x.PixelBoxUpperCorner[d-1]
			coord[d] = low + r.Int32N(end-low)
			if lowest < 0 {
				coord = append(coord, r.Int32N(6))
			}
		}
	}
	grid := int32(max(1, 16/cfg.DataType.Size()))
	coord[0] = coord[0] / grid * grid
	return coord
}

// rounds returns how often a test of one goroutine does something over again: the race detector has nothing to find in
// it, and takes ten times as long.
func rounds(n int) int {
	if race.Enabled {
		return n / 10
	}
	return n
}

// Load and Store agree with the byte-by-byte model over random maps, in and
// out of bounds, at every offset, and touch no byte that it does not touch.
func TestCopiesMatchModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds(4000) {
		cfg := randomConfig(r)
		m := newMap(t, cfg)
		offset := 128 * r.IntN(9)
		s := newShared(t, offset+m.SharedBytes()+r.IntN(3)*16)
		randomBytes(r, s.Bytes())

		coord := randomCoord(r, cfg, -1<<20)
		want := slices.Clone(s.Bytes())
		modelLoad(want, offset, cfg, coord)
		if cfg.DataType == tile.TFloat32 || cfg.DataType == tile.TFloat32FTZ {
			roundInside(want, offset, cfg, coord)
		}
		if err := tile.Load(s, offset, m, coord, nil); err != nil {
			t.Fatalf("Load %+v at %v: %v", cfg, coord, err)
		}
		if d := firstDiff(s.Bytes(), want); d >= 0 {
			cfg.Global = nil
			t.Fatalf("Load %+v at %v to %d: byte %d is %#x, want %#x", cfg, coord, offset, d, s.Bytes()[d], want[d])
		}

		coord = randomCoord(r, cfg, 0)
		model := cfg
		model.Global = slices.Clone(cfg.Global)
		modelStore(model, coord, s.Bytes(), offset)
		if err := tile.Store(m, coord, s, offset); err != nil {
			t.Fatalf("Store %+v at %v: %v", cfg, coord, err)
		}
		if d := firstDiff(cfg.Global, model.Global); d >= 0 {
			got, want := cfg.Global[d], model.Global[d]
			cfg.Global = nil
			t.Fatalf("Store %+v at %v from %d: byte %d is %#x, want %#x", cfg, coord, offset, d, got, want)
		}
	}
}

// roundInside rounds the words of a model load that came from the tensor. The
// rule is checked against the hardware in TestTF32Golden; here it is written
// as a search for the nearer neighbour.
func roundInside(mem []byte, offset int, cfg tile.Config, coord []int32) {
	walk(cfg, coord, func(shared int, _ int64, inside, _ bool) {
		if !inside {
			return
		}
		at := mem[modelSwizzle(cfg.Swizzle, offset+shared):]
		w := binary.LittleEndian.Uint32(at)
		low := w % (1 << 13)
		down := w - low
		switch {
		case w&0x7fffffff > 0x7f800000:
			w = 0x7fffe000
		case low > 1<<12, low == 1<<12 && down>>13%2 == 1:
			w = down + 1<<13
		default:
			w = down
		}
		binary.LittleEndian.PutUint32(at, w)
	})
}

// What Load takes out of a tensor Store puts back, and nothing else, for every
// swizzle and type that copies bit for bit.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for typ := tile.Uint8; typ <= tile.Float32FTZ; typ++ {
		for swz := tile.SwizzleNone; swz <= tile.Swizzle128B; swz++ {
			size := typ.Size()
			row := max(32, swz.Span()) / size
			from := tile.Config{
				DataType: typ, Swizzle: swz,
				Dims:    []uint64{uint64(3 * row), 11, 5},
				Strides: []uint64{uint64(3*row*size) + 16, uint64(3*row*size+16) * 11},
				Box:     []uint32{uint32(row), 7, 2},
			}
			from.Global = make([]byte, extent(from))
			randomBytes(r, from.Global)
			to := from
			to.Global = make([]byte, len(from.Global))
			src, dst := newMap(t, from), newMap(t, to)
			s := newShared(t, 512+src.SharedBytes())

			// Boxes that tile a part of the tensor, so the stored part must equal
			// the source and the rest must stay zero.
			for _, c := range [][]int32{{0, 0, 0}, {int32(row), 4, 3}, {int32(2 * row), 2, 1}} {
				if err := tile.Load(s, 512, src, c, nil); err != nil {
					t.Fatal(err)
				}
				if err := tile.Store(dst, c, s, 512); err != nil {
					t.Fatal(err)
				}
				for z := range 2 {
					for y := range 7 {
						at := int(c[0])*size + (int(c[1])+y)*int(from.Strides[0]) + (int(c[2])+z)*int(from.Strides[1])
						if !bytes.Equal(from.Global[at:at+row*size], to.Global[at:at+row*size]) {
							t.Fatalf("%v %v: row %d,%d of the box at %v differs after the round trip", typ, swz, y, z,
								c)
						}
						clear(to.Global[at : at+row*size])
					}
				}
				if i := slices.IndexFunc(to.Global, func(v byte) bool { return v != 0 }); i >= 0 {
					t.Fatalf("%v %v: the box at %v wrote byte %d outside itself", typ, swz, c, i)
				}
			}
		}
	}
}
