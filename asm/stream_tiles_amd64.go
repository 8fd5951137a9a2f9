//go:build amd64 && !purego

package asm

import "unsafe"

// The stream kernels that compute as AMX does; see dotTile. Across takes a tile of K or less at a time, along and
// panels whole tiles.

var (
	streamTilesShape = streamShape{mr: amxMR, nr: amxNR, vec: 16,
		slots: []int{2, 2, 1, 1, 1}, widths: []int{amxNR, amxNR, amxNR}}
	streamTiles = streamKernel{streamShape: &streamTilesShape, sums: BF16.Block(),
		size: 2, kpack: 2, block: tileLine,
		across: streamSet{streamAcross512Tilesx1, streamAcross512Tilesx2, streamAcross512Tilesx4,
			streamAcross512Tilesx6, streamAcross512Tilesx8},
		along: streamSet{streamAlong512Tilesx1, streamAlong512Tilesx2, streamAlong512Tilesx4,
			streamAlong512Tilesx6, streamAlong512Tilesx8},
		panels: streamSet{streamPanels512Tilesx1, streamPanels512Tilesx2, streamPanels512Tilesx4}}
)

// streamTilesStored is how many rows of A the kernels for panels multiply.
const streamTilesStored = 4

// tileLine is the bytes of a row of a tile.
const tileLine = amxStep * 4

// streamTilesRows is how many rows of A the kernels for rows of B multiply.
const streamTilesRows = 8

// acrossTiles is the StreamFunc of AMX for rows of K: those of a tile at a time through all columns.
func acrossTiles(k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, add bool) {
	const depth, size = 2 * amxStep, 2
	c := streamBlocks.Get().(*streamBlock)
	sums, f := streamTiles.sums, streamTiles.across[streamTiles.across.of(m)]
	c.stride = stride
	for j := 0; j < n; j += streamWidth {
		c.n = min(n-j, streamWidth)
		c.ahead = min(streamAhead, c.n*size)
		c.near, c.next = c.ahead/size, depth*stride-c.n*size
		at := unsafe.Add(dst, j*4)
		to, ldt := at, ldd
		for k0 := 0; k0 < k; k0 += depth {
			if k0%sums == 0 {
				to, ldt = c.chain(m, c.n, at, ldd, add || k0 > 0)
				c.accumulate(0, m, nil, 0, to, ldt)
			}
			c.k = min(k-k0, depth)
			c.slots[0].a = unsafe.Add(a, k0*amxMR*size)
			c.b = unsafe.Add(b, k0*stride+j*size)
			f(c)
			c.slots[0].src = c.slots[0].dst
			if next := k0 + depth; next%sums == 0 || next >= k {
				c.total(m, c.n, to, ldt, at, ldd)
			}
		}
	}
	c.release()
}

// storedTiles is the PanelsFunc of AMX: through all of B for every streamTilesStored rows of A.
func storedTiles(k, m, n int, a, b unsafe.Pointer, pitch int, dst unsafe.Pointer, ldd int, add bool) {
	for i := 0; i < m; i += streamTilesStored {
		streamTiles.readPanels(k, min(m-i, streamTilesStored), n, unsafe.Add(a, i*tileLine),
			b, pitch, unsafe.Add(dst, i*ldd), ldd, add)
	}
}

// restTile multiplies less of K than a tile: it copies what is left of the columns to lines that zeros fill up, half
// the room, and multiplies these, to go on with the sums at dst or not. In the other half the kernels keep A.
func (s *streamKernel) restTile(
	c *streamBlock, k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, goesOn bool,
) {
	const half, tile = len(c.room) / 2, 16
	const width = half * 4 / tileLine
	lines := unsafe.Pointer(&c.room[half])
	c.adds = 0
	for j := 0; j < n; j += width {
		here := min(n-j, width)
		for i := 0; i < here; i += tile {
			packAlong512Tiles(unsafe.Add(lines, i*tileLine), unsafe.Add(b, (j+i)*stride), stride, min(here-i, tile), k)
		}
		s.blocks(c, 1, m, here, a, lines, tileLine, unsafe.Add(dst, j*4), ldd, goesOn)
	}
}
