package replay

import (
	"fmt"
	"math/bits"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
)

// atLeast returns s with v appended until it has n elements. The arrays of a
// recorded call are of five for every rank, 6 included.
func atLeast[T any](s []T, n int, v T) []T {
	for len(s) < n {
		s = append(s, v)
	}
	return s[:n]
}

// TensorMap makes a map, and says that it is refused where the driver accepted it, or accepted where that refused
// it, or "".
func TensorMap(c *golden.MapCall) (string, error) {
	rank := c.Rank
	cfg := tile.Config{
		DataType: tile.DataType(c.DataType), Address: c.Address,
		Dims: atLeast(c.Dims[:], rank, 1), Strides: atLeast(c.Strides[:], max(rank-1, 0), 16),
		ElementStrides: atLeast(c.ElementStrides[:], rank, 1),
		Interleave:     tile.Interleave(c.Interleave), Swizzle: tile.Swizzle(c.Swizzle), Fill: tile.Fill(c.Fill),
	}
	if c.Im2col {
		n := max(rank-2, 0)
		cfg.Im2col = &tile.Im2col{
			PixelBoxLowerCorner: atLeast(c.Lower[:], n, 0), PixelBoxUpperCorner: atLeast(c.Upper[:], n, 0),
			ChannelsPerPixel: c.Box[0], PixelsPerColumn: c.Box[1],
		}
	} else {
		cfg.Box = atLeast(c.Box[:], rank, 1)
	}
	_, err := tile.NewTensorMap(cfg)
	switch {
	case err != nil && c.Accepted:
		return fmt.Sprintf("the driver accepted %+v: %v", *c, err), nil
	case err == nil && !c.Accepted:
		return fmt.Sprintf("the driver refused %+v, the emulator accepts it", *c), nil
	}
	return "", nil
}

// configOf returns the tensor map of a copy, without its memory.
func configOf(b *golden.Box, strides []uint64) tile.Config {
	cfg := tile.Config{
		DataType: tile.DataType(b.DataType), Dims: b.Dims[:b.Rank], Strides: strides,
		Interleave: tile.Interleave(b.Interleave), Swizzle: tile.Swizzle(b.Swizzle), Fill: tile.Fill(b.Fill),
	}
	for d := range b.Rank {
		cfg.Box = append(cfg.Box, uint32(b.Extent[d]))
		cfg.ElementStrides = append(cfg.ElementStrides, uint32(b.ElementStrides[d]))
	}
	if b.Mode&golden.Im2colMap != 0 {
		cfg.Im2col = &tile.Im2col{
			PixelBoxLowerCorner: b.Lower[:b.Rank-2], PixelBoxUpperCorner: b.Upper[:b.Rank-2],
			ChannelsPerPixel: cfg.Box[0], PixelsPerColumn: cfg.Box[1],
		}
		cfg.Box = nil
	}
	return cfg
}

// maxTensor bounds the tensor of a recorded load, which the file does not hold.
const maxTensor = 64 << 20

// extent returns the bytes from the first element of a tensor to its last.
func extent(cfg *tile.Config) (int, error) {
	n := uint64(0)
	add := func(count, pitch uint64) bool {
		hi, lo := bits.Mul64(count, pitch)
		n += lo
		return hi == 0 && lo <= maxTensor && n <= maxTensor
	}
	ok := add(cfg.Dims[0], uint64(cfg.DataType.Size()))
	for d := 1; ok && d < len(cfg.Dims); d++ {
		ok = add(cfg.Dims[d]-1, cfg.Strides[d-1])
	}
	if !ok {
		return 0, fmt.Errorf("tensor of %v elements with strides %v is over %d bytes", cfg.Dims, cfg.Strides, maxTensor)
	}
	return int(n), nil
}
