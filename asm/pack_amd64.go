//go:build amd64 && !purego

package asm

import "unsafe"

// The packers in assembly, whose names the package comment spells out. Along transposes, Across copies, and all but
// those of Pairs make float32.

// A packAlong512 packs one panel from rows rows, 1 to the width of the panel.
type packAlong512 func(dst, src unsafe.Pointer, stride, rows, k int)

// A packAcross512 packs n columns, 1 to 32, into one panel of 32 or up to two panels of 16 or four of 8 that lie panel
// bytes apart. A float64 is two columns of words.
type packAcross512 func(dst, src unsafe.Pointer, stride, n, k, panel int)

// A pack256 packs a panel, a whole one or of as many rows or columns as its name ends with; when it transposes, k must
// be a multiple of 8.
type pack256 func(dst, src unsafe.Pointer, stride, k int)

// A packAcross256 packs 16 columns into four panels of 4 or two of 8 that lie panel bytes apart.
type packAcross256 func(dst, src unsafe.Pointer, stride, k, panel int)

// packChunk bounds the elements of K that one call of an assembly packer takes. It is a multiple of every block of K,
// so that the panel continues where the call before left it.
const packChunk = 4096

// acrossChunk is the number of source rows over which the packers across go from panel to panel. Each row lies on
// a page of its own and what one panel prefetches there the next one uses, so the rows have to fit the first-level
// TLB and cache. Packing 32 MB rose from 23 to 49 GB/s, read and written, with it and the prefetches (5830539).
const acrossChunk = 128

// packers512 returns the packers into panels of width 8 or 32, of float64 8 or 16, by orientation.
func packers512(t Type, kpack, width int, along packAlong512, across packAcross512) (slots [2]PackFunc) {
	size, word := t.Size(), wordOf(t)
	row := width * word
	slots[packSlot(true)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		panel := (k + kpack - 1) / kpack * row
		for i := 0; i < r; i += width {
			for k0 := 0; k0 < k; k0 += packChunk {
				along(unsafe.Add(dst, i/width*panel+k0/kpack*row), unsafe.Add(src, i*stride+k0*size), stride,
					min(r-i, width), min(k-k0, packChunk))
			}
		}
	}
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		panel, group := (k+kpack-1)/kpack*row, 32*4/word
		for k0 := 0; k0 < k; k0 += acrossChunk {
			for i := 0; i < r; i += group {
				across(unsafe.Add(dst, i/width*panel+k0/kpack*row), unsafe.Add(src, i*size+k0*stride), stride,
					min(r-i, group)*word/4, min(k-k0, acrossChunk), panel)
			}
		}
	}
	return slots
}

// Packers of one, two or three groups of 8 into a panel of 24.
var (
	groupsAlongWords  = []pack256{packAlong256Wordsx24x8, packAlong256Wordsx24x16, packAlong256Wordsx24}
	groupsAlongBF16   = []pack256{packAlong256BF16x24x8, packAlong256BF16x24x16, packAlong256BF16x24}
	groupsAlongF16    = []pack256{packAlong256F16x24x8, packAlong256F16x24x16, packAlong256F16x24}
	groupsAcrossWords = []pack256{packAcross256Wordsx24x8, packAcross256Wordsx24x16, packAcross256Wordsx24}
	groupsAcrossBF16  = []pack256{packAcross256BF16x24x8, packAcross256BF16x24x16, packAcross256BF16x24}
	groupsAcrossF16   = []pack256{packAcross256F16x24x8, packAcross256F16x24x16, packAcross256F16x24}

	groupsAlongDoubles = []pack256{packAlong256Doublesx12x4, packAlong256Doublesx12x8, packAlong256Doublesx12}
)

// packers256x24 returns the packers into panels of 24, or of 12 float64.
func packers256x24(t Type, along, across []pack256) (slots [2]PackFunc) {
	size, word := t.Size(), wordOf(t)
	width, group := 24*4/word, 8*4/word
	slots[packSlot(true)] = transposing256(t, width, along)
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		for k0 := 0; k0 < k; k0 += acrossChunk {
			n := min(k-k0, acrossChunk)
			for i := 0; i < r; i += width {
				panel, from := unsafe.Add(dst, (i*k+k0*width)*word), unsafe.Add(src, i*size+k0*stride)
				columns := min(r-i, width)
				whole := columns / group * group
				if whole == 0 {
					packGeneric(t, 1, width, false, panel, from, stride, columns, n)
					continue
				}
				across[whole/group-1](panel, from, stride, n)
				for kd := 0; kd < n && whole < columns; kd++ {
					step := unsafe.Slice((*uint32)(unsafe.Add(panel, (kd*width+whole)*word)), (columns-whole)*word/4)
					packStep(t, 1, step, unsafe.Add(from, kd*stride+whole*size), stride, false)
				}
			}
		}
	}
	return slots
}

// packers256x4 returns the packers into panels of 4.
func packers256x4(t Type, along pack256, across packAcross256) (slots [2]PackFunc) {
	size, word := t.Size(), wordOf(t)
	width, group := 4, 16*4/word
	slots[packSlot(true)] = transposing256(t, width, []pack256{along})
	slots[packSlot(false)] = func(dst, src unsafe.Pointer, stride, r, k int) {
		whole := r - r%group
		for k0 := 0; k0 < k; k0 += acrossChunk {
			for i := 0; i < whole; i += group {
				across(unsafe.Add(dst, (i*k+k0*width)*word), unsafe.Add(src, i*size+k0*stride),
					stride, min(k-k0, acrossChunk), width*k*word)
			}
		}
		if i := whole; i < r {
			packGeneric(t, 1, width, false, unsafe.Add(dst, i*k*word), unsafe.Add(src, i*size), stride, r-i, k)
		}
	}
	return slots
}

// transposing256 packs whole blocks of K of whole groups of rows in assembly, by the number of groups, and the rest
// in Go: what is left of a panel when its first steps of K are packed is a panel too.
func transposing256(t Type, width int, along []pack256) PackFunc {
	size, word, group := t.Size(), wordOf(t), width/len(along)
	return func(dst, src unsafe.Pointer, stride, r, k int) {
		for i := 0; i < r; i += width {
			panel, from, rows := unsafe.Add(dst, i*k*word), unsafe.Add(src, i*stride), min(r-i, width)
			groups, depth := rows/group, k&^7
			if groups == 0 {
				depth = 0
			}
			for k0 := 0; k0 < depth; k0 += packChunk {
				along[groups-1](unsafe.Add(panel, k0*width*word), unsafe.Add(from, k0*size),
					stride, min(depth-k0, packChunk))
			}
			for row := groups * group; row < rows && depth > 0; row++ {
				packRow(t, 1, width, unsafe.Slice((*uint32)(panel), width*depth*word/4)[row*word/4:],
					unsafe.Add(from, row*stride), depth)
			}
			if depth < k {
				packGeneric(t, 1, width, true,
					unsafe.Add(panel, depth*width*word), unsafe.Add(from, depth*size), stride, rows, k-depth)
			}
		}
	}
}
