//go:build amd64 && !purego

package asm

import "unsafe"

// The stream kernels that compute as AMX does; see dotTile. Across takes a tile of K or less at a time, the rows of its
// reach; along and panels take whole tiles.

var (
	reachTiles       = [3]streamReach{{2 * amxStep, 256}, {2 * amxStep, 256}, {2 * amxStep, 256}}
	streamTilesShape = streamShape{sum: F32, mr: amxMR, nr: amxNR, vec: 16, masks: true,
		slots: []int{2, 2, 1, 1, 1}, widths: []int{amxNR, amxNR, amxNR}}
	streamTiles = streamKernel{streamShape: &streamTilesShape, sums: BF16.Block(),
		size: 2, kpack: 2, block: tileLine, reach: &reachTiles,
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
	c *streamCall, k, m, n int, a, b unsafe.Pointer, stride int, dst unsafe.Pointer, ldd int, goesOn bool,
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
