package tile

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/enum"
	"example.com/leafhopper/internal/race"
)

// PanelTxUnit is the number of bytes that one unit of the transaction count
// stands for when a panel copy completes a barrier. Counting bytes, as
// tensor copies do, would bound a stage to 2^20-1 of them, less than a CPU's
// cache wants.
const PanelTxUnit = 8

// maxPanelBox bounds the extents of a box, so that its bytes can be counted.
const maxPanelBox = 1 << 28

// Side tells the two operands of a product apart.
type Side uint8

const (
	SideA Side = iota // panels of MR rows
	SideB             // panels of NR columns
)

// String returns "A" or "B", and for what is neither its number.
func (s Side) String() string { return enum.Name("Side", []string{"A", "B"}, s) }

// PanelMap is to the panel layout of a microkernel what [TensorMap] is to the
// swizzles: it describes one operand in memory and copies boxes of it into
// slots. Where the 128-byte swizzle puts a tile in the order in which the tensor
// core reads shared memory without bank conflicts, the panel layout puts it in
// the order in which the microkernel reads its slot: front to back.
//
// The operand is a matrix of Rows x K elements (rows of A, columns of B), of
// which either may be contiguous in memory. Rows are grouped into panels of
// Width; within a panel, one step of K after the other, the Width words of the
// step lie side by side, a word being one float32 or float64 or a pair of 16-bit
// elements that follow each other in K:
//
//	          K ->                          panel 0             panel 1
//	row 0   a00 a01 a02 a03        a00 a01 | a10 a11 | ...     a40 a41 | ...
//	row 1   a10 a11 a12 a13   =>   a02 a03 | a12 a13 | ...     a42 a43 | ...
//	 ...                           (Width = 4, pairs)
//
// Rows and elements beyond the operand's edge are zero. Unlike a tensor map, a
// panel map accepts any alignment and any pitch.
type PanelMap struct {
	kernel      *asm.Kernel
	side        Side
	pack        asm.PackFunc
	base        unsafe.Pointer
	rows, k     int
	stride      int // bytes
	size        int // of an element
	width       int
	elem        asm.Type
	kContiguous bool
}

// PanelConfig describes an operand to [NewPanelMap].
type PanelConfig struct {
	Kernel      *asm.Kernel
	Side        Side
	Type        asm.Type // of the elements in Global
	Global      []byte   // the operand's memory, from its first element
	Rows, K     int      // extents in elements; Rows counts columns for SideB
	Stride      int      // bytes from one row to the next or, unless KContiguous, from one K to the next
	KContiguous bool
}

// NewPanelMap returns the map of the operand that c describes.
func NewPanelMap(c PanelConfig) (m PanelMap, err error) {
	if c.Kernel == nil {
		return m, fmt.Errorf("tile: panel map: no kernel")
	}
	if err := c.Kernel.Supported(); err != nil {
		return m, fmt.Errorf("tile: panel map: kernel %s cannot run: %w", c.Kernel.Name, err)
	}
	if c.Side > SideB {
		return m, fmt.Errorf("tile: panel map: side %d is neither SideA (%d) nor SideB (%d)", c.Side, SideA, SideB)
	}
	if !c.Kernel.Accepts(c.Type) {
		return m, fmt.Errorf("tile: panel map: kernel %s does not read %v", c.Kernel.Name, c.Type)
	}
	if c.Rows < 0 || c.K < 0 {
		return m, fmt.Errorf("tile: panel map: negative extents %d x %d", c.Rows, c.K)
	}
	size := c.Type.Size()
	lines, line := c.K, c.Rows
	if c.KContiguous {
		lines, line = c.Rows, c.K
	}
	if lines > 0 && line > 0 {
		if line > len(c.Global)/size {
			return m, fmt.Errorf("tile: panel map: %d elements of %v a line exceed the %d bytes of Global",
				line, c.Type, len(c.Global))
		}
		if c.Stride < line*size && lines > 1 {
			return m, fmt.Errorf("tile: panel map: stride of %d bytes is less than the %d bytes of a line",
				c.Stride, line*size)
		}
		if lines > 1 && lines-1 > (len(c.Global)-line*size)/c.Stride {
			return m, fmt.Errorf("tile: panel map: %d lines, %d bytes apart, exceed the %d bytes of Global",
				lines, c.Stride, len(c.Global))
		}
	}
	m = PanelMap{
		base: unsafe.Pointer(unsafe.SliceData(c.Global)),
		rows: c.Rows, k: c.K, stride: c.Stride, size: size,
		elem: c.Type, kContiguous: c.KContiguous,
		kernel: c.Kernel, side: c.Side,
	}
	if c.Side == SideA {
		m.width, m.pack = c.Kernel.MR, c.Kernel.PackA(c.Type, c.KContiguous)
	} else {
		m.width, m.pack = c.Kernel.NR, c.Kernel.PackB(c.Type, c.KContiguous)
	}
	return m, nil
}

// Width returns the rows of a panel: MR or NR.
func (m *PanelMap) Width() int { return m.width }

// Words returns the depth in words of a panel of k elements, 0 for a zero PanelMap.
func (m *PanelMap) Words(k int) int {
	if m.kernel == nil {
		return 0
	}
	return m.kernel.Words(m.elem, k)
}

// BoxBytes returns the slot bytes that Load fills for a box of rows x k: whole
// panels. Those of a zero PanelMap are 0.
func (m *PanelMap) BoxBytes(rows, k int) int {
	if m.kernel == nil {
		return 0
	}
	panels := (rows + m.width - 1) / m.width
	if m.side == SideA {
		return panels * m.kernel.PanelA(m.Words(k))
	}
	return panels * m.kernel.PanelB(m.Words(k))
}

// Load copies the box of rows x k elements whose first is (row, k0) into dst as
// panels and completes BoxBytes(rows, k)/PanelTxUnit units on each of bars: none
// or one, or those of every CTA of a cluster for a multicast. row must be a
// multiple of the panel width and k0 of the elements of a word. What of the box
// lies outside the operand becomes zero, and so does what its last panel and its
// last word have beyond rows and k. After an error, which a barrier that cannot take
// the units is too, dst and bars are as before.
func (m *PanelMap) Load(dst []byte, row, rows, k0, k int, bars []barrier.Barrier) error {
	n, err := m.check(len(dst), row, rows, k0, k, bars)
	if err != nil {
		return err
	}
	inRows, inK := max(0, min(rows, m.rows-row)), max(0, min(k, m.k-k0))
	at := k0*m.stride + row*m.size
	if m.kContiguous {
		at = row*m.stride + k0*m.size
	}
	if race.Enabled {
		m.tellRaces(dst[:n], at, inRows, inK)
	}
	switch {
	case n == 0:
	case inRows > 0 && inK > 0 && m.BoxBytes(inRows, inK) == n:
		m.pack(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Add(m.base, at), m.stride, inRows, inK)
	default:
		m.loadPadded(dst, at, inRows, inK, rows, k)
	}
	for i := range bars {
		bars[i].CompleteTx(n / PanelTxUnit)
	}
	return nil
}

// check validates a copy of a box to a slot of so many bytes, and returns how many of them it fills.
func (m *PanelMap) check(slot, row, rows, k0, k int, bars []barrier.Barrier) (n int, err error) {
	if m.kernel == nil {
		return 0, errors.New("tile: zero PanelMap; make one with NewPanelMap")
	}
	switch {
	case row < 0 || k0 < 0:
		return 0, fmt.Errorf("tile: panel box starts at (%d, %d), before the operand", row, k0)
	case rows < 0 || k < 0 || rows > maxPanelBox || k > maxPanelBox:
		return 0, fmt.Errorf("tile: panel box of %d x %d, extents are 0 to %d", rows, k, maxPanelBox)
	case row%m.width != 0 || k0%m.kernel.KPack != 0:
		return 0, fmt.Errorf("tile: panel box starts at (%d, %d), not at a multiple of (%d, %d)",
			row, k0, m.width, m.kernel.KPack)
	case int64(rows+m.width)*int64(m.Words(k)) > math.MaxInt/8: // whose bytes an int may not hold
		return 0, fmt.Errorf("tile: panel box of %d x %d needs more memory than there is, the slot has %d bytes",
			rows, k, slot)
	}
	n = m.BoxBytes(rows, k)
	if n > slot {
		return 0, fmt.Errorf("tile: panel box of %d x %d needs %d bytes, the slot has %d", rows, k, n, slot)
	}
	if len(bars) > 0 && n/PanelTxUnit > barrier.MaxTx {
		return 0, fmt.Errorf("tile: panel box of %d x %d has %d bytes, a barrier counts %d",
			rows, k, n, barrier.MaxTx*PanelTxUnit)
	}
	for i := range bars {
		if err := bars[i].CheckTx(n / PanelTxUnit); err != nil {
			return 0, fmt.Errorf("tile: panel box: %w", err)
		}
	}
	return n, nil
}

// lines returns how many lines of memory an operand of so many rows by k has, and the bytes of each.
func (m *PanelMap) lines(rows, k int) (n, line int) {
	if m.kContiguous {
		return rows, k * m.size
	}
	return k, rows * m.size
}

// tellRaces tells the race detector what a copy writes, and that it reads rows by k elements from at on: it does not
// see into packers.
func (m *PanelMap) tellRaces(dst []byte, at, rows, k int) {
	race.Write(unsafe.Pointer(unsafe.SliceData(dst)), len(dst))
	n, line := m.lines(rows, k)
	for i := 0; i < n && line > 0; i++ {
		race.Read(unsafe.Add(m.base, at+i*m.stride), line)
	}
}

// loadPadded copies a box that has whole panels or words outside the operand,
// which no packer makes, from a copy of it that has zeros there.
func (m *PanelMap) loadPadded(dst []byte, at, inRows, inK, rows, k int) {
	lines, line := m.lines(rows, k)
	inLines, in := m.lines(inRows, inK)
	box := make([]byte, lines*line)
	if in > 0 {
		for i := range inLines {
			copy(box[i*line:], unsafe.Slice((*byte)(unsafe.Add(m.base, at+i*m.stride)), in))
		}
	}
	m.pack(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(box)), line, rows, k)
}
