//go:build amd64 && !purego

package asm

import "unsafe"

// The stream kernels that compute as AMX does, a tile of K or less at a time; see dotTile. They read rows of K.

//go:noescape
func streamS1Tiles(c *streamBlock)

//go:noescape
func streamS2Tiles(c *streamBlock)

//go:noescape
func streamS4Tiles(c *streamBlock)

//go:noescape
func streamS8Tiles(c *streamBlock)

var streamTiles = streamSet{streamS1Tiles, streamS2Tiles, streamS4Tiles, streamS8Tiles}

// acrossTiles is the StreamFunc of AMX for rows of K: those of a tile at a time through all columns, and through all of B
// again for every streamTilesRows rows of A.
func acrossTiles(k, m, n int, a, b unsafe.Pointer, stride int, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int) {
	const depth, size = 2 * amxStep, 2
	c := streamBlocks.Get().(*streamBlock)
	c.stride = stride
	for i := 0; i < m; i += streamTilesRows {
		rows := min(m-i, streamTilesRows)
		f := streamTiles[streamTiles.of(rows)]
		for j := 0; j < n; j += streamWidth {
			c.n = min(n-j, streamWidth)
			c.ahead = min(streamAhead, c.n*size)
			c.near, c.next = c.ahead/size, depth*stride-c.n*size
			c.slots[0].accumulate(rows, forward(src, i*lds+j*4), lds, unsafe.Add(dst, i*ldd+j*4), ldd)
			for k0 := 0; k0 < k; k0 += depth {
				c.k = min(k-k0, depth)
				c.slots[0].a = unsafe.Add(a, k0*amxMR*size+i*depth*size)
				c.b = unsafe.Add(b, k0*stride+j*size)
				f(c)
				c.slots[0].src = c.slots[0].dst
			}
		}
	}
	c.release()
}
