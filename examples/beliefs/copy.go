package main

import (
	"bytes"
	"io"
	"slices"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/tile"
)

// inside returns the bytes of a load's box that lie in the tensor.
func inside(c *golden.Copy) int {
	n := tile.DataType(c.DataType).Size()
	for d := range c.Rank {
		step := int64(c.ElementStrides[d])
		if d == 0 {
			step = 1
		}
		in := 0
		for i := int64(0); i < int64(c.Extent[d]); i += step {
			if x := int64(c.Coord[d]) + i; x >= 0 && uint64(x) < c.Dims[d] {
				in++
			}
		}
		n *= in
	}
	return n
}

// load repeats a load into shared memory at offset, and returns the memory that
// begins there.
func load(c *golden.Copy, offset int) ([]byte, error) {
	m, err := replay.LoadMap(c)
	if err != nil {
		return nil, err
	}
	shared, err := tile.NewShared(golden.SharedSize)
	if err != nil {
		return nil, err
	}
	for i := range shared.Bytes() {
		shared.Bytes()[i] = golden.SharedInit
	}
	return shared.Bytes()[offset:], tile.Load(shared, offset, m, c.Coord[:c.Rank], nil)
}

func copies(w io.Writer) error {
	data, err := recording("tile/testdata/tma.bin.gz")
	if err != nil {
		return err
	}
	all, err := golden.ParseCopies(data)
	if err != nil {
		return err
	}
	var signalled count       // of the loads that lie partly outside
	var right, fromTile count // of those that begin inside the pattern of a swizzle
	for i := range all {
		c := &all[i]
		if c.Kind != golden.KindLoad {
			continue
		}
		if in := inside(c); in != int(c.Bytes) {
			signalled.add(in == int(c.Done))
		}
		if c.Swizzle == 0 || c.SharedOffset%1024 == 0 {
			continue
		}
		// The recording ends where memory is as it was before.
		rest := bytes.Repeat([]byte{golden.SharedInit}, golden.SharedSize-len(c.After))
		want := slices.Concat(c.After, rest)[c.SharedOffset:]
		there, err := load(c, int(c.SharedOffset))
		if err != nil {
			return err
		}
		right.add(bytes.Equal(there, want))
		aligned, err := load(c, 0)
		if err != nil {
			return err
		}
		fromTile.add(bytes.Equal(aligned[:len(want)], want))
	}
	signalled.print(w, "loads", "only the bytes of a box that lie in the tensor complete the barrier")
	right.print(w, "loads", "swizzle: the rule that holds")
	fromTile.print(w, "loads", "the swizzle begins where the tile does")
	return nil
}
