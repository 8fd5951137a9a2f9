//go:build amd64 && !purego

package asm

import "unsafe"

// The packers in assembly. T transposes: the source has K along its rows. S copies: the source has K across its rows. The
// number is the width of the panel; Pairs, Words (float32), BF16 and F16 say what the source holds, and all but Pairs
// make float32.

// A packT512 packs one panel from rows rows, 1 to the width of the panel.
type packT512 func(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT8Pairs(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT8Words(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT8BF16(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT8F16(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT32Pairs(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT32Words(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT32BF16(dst, src unsafe.Pointer, stride, rows, k int)

//go:noescape
func packT32F16(dst, src unsafe.Pointer, stride, rows, k int)

// A packS512 packs n columns, 1 to 32, into one panel of 32 or up to four panels of 8 that lie panel bytes apart.
type packS512 func(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS8Pairs(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS8Words(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS8BF16(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS8F16(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS32Pairs(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS32Words(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS32BF16(dst, src unsafe.Pointer, stride, n, k, panel int)

//go:noescape
func packS32F16(dst, src unsafe.Pointer, stride, n, k, panel int)

// A pack256 packs a panel, a whole one or, with x8 or x16, of so many rows or columns; when it transposes, k must be a multiple of
// 8.
type pack256 func(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT4Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT4BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT4F16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24F16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24x8Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24x8BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24x8F16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24x16Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24x16BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packT24x16F16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24x8Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24x8BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24x8F16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24x16Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24x16BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24x16F16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24Words(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24BF16(dst, src unsafe.Pointer, stride, k int)

//go:noescape
func packS24F16(dst, src unsafe.Pointer, stride, k int)

// A packS256 packs 16 columns into four panels of 4 that lie panel bytes apart.
type packS256 func(dst, src unsafe.Pointer, stride, k, panel int)

//go:noescape
func packS4Words(dst, src unsafe.Pointer, stride, k, panel int)

//go:noescape
func packS4BF16(dst, src unsafe.Pointer, stride, k, panel int)

//go:noescape
func packS4F16(dst, src unsafe.Pointer, stride, k, panel int)
