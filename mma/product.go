package mma

import (
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/hopper"
)

// A memory is what an instruction works in.
type memory struct {
	a, wideA rows
	b, wideB columns
	d, c     []uint32 // columns of D, pitch elements apart, which hold C before, and another such matrix
	pitch    int

	kernel         *asm.Kernel  // nil if there is none
	panelA, panelB []byte       // for the kernel
	before         []uint32     // C in f32, for it
	plainA, plainB hopper.Panel // for plain Go

	// Beside a sparse A: B, what the rows of A meet of it, or of half of it, and what one of them has met.
	long, wideLong longs
	selected, half selections
	met            hopper.Panel
}

// kernel is the assembly, nil if there is none. It multiplies the transpose of B by that of A, 8 rows by 16 columns.
// The least tiles compute the fewest columns more.
var kernel = func() *asm.Kernel {
	k, err := asm.SelectArithmetic(asm.F16, asm.Hopper, "")
	if err != nil || k.ISA == "Go" {
		return nil
	}
	if least, err := asm.SelectArithmetic(asm.F16, asm.Hopper, "hopper-avx2"); err == nil {
		return least
	}
	return k
}()

// newMemory returns memory for multiplications by a kernel, or in plain Go if that is nil.
func newMemory(k *asm.Kernel) *memory {
	m := &memory{kernel: k, pitch: len(rows{})}
	if k != nil {
		m.pitch = k.NR
		m.panelA, m.panelB = make([]byte, N/k.MR*k.PanelA(words)), make([]byte, k.PanelB(words))
		m.before = make([]uint32, N*m.pitch)
	}
	m.d, m.c = make([]uint32, N*m.pitch), make([]uint32, N*m.pitch)
	return m
}

// words is the most elements of a row that multiply takes.
const words = len(hopper.Row{}) / 2

// multiply is the rule of wgmma with operands of one type, of 16 bits or more.
func (m *memory) multiply(in, sum Type, a *rows, b *columns) {
	k := m.kernel
	if k == nil {
		spec := hopper.SpecOf(types[in].format, types[in].format, types[sum].format)
		m.plainA.PackRows(spec.A, a[:], false)
		m.plainB.PackRows(spec.B, b[:], false)
		spec.Multiply(m.d, m.pitch, &m.plainB, &m.plainA)
		return
	}
	typ, n := types[in].kernel, 8*len(hopper.Row{})/types[in].width
	pa, pb, d := unsafe.Pointer(&m.panelA[0]), unsafe.Pointer(&m.panelB[0]), unsafe.Pointer(&m.d[0])
	k.PackA(typ, true)(pa, unsafe.Pointer(b), len(hopper.Row{}), len(b), n)
	k.PackB(typ, true)(pb, unsafe.Pointer(a), len(hopper.Row{}), len(a), n)
	mul, from := k.Mul, d
	if sum == F16 {
		mul, from = k.MulF16, unsafe.Pointer(&m.before[0])
		for i, u := range m.d {
			m.before[i] = hopper.FromF16(u)
		}
	}
	mul(k.Words(typ, n), len(b)/k.MR, pa, pb, from, 4*m.pitch, d, 4*m.pitch)
	if sum == F16 {
		for i, u := range m.d {
			m.d[i] = hopper.ToF16(u)
		}
	}
}

// multiplySparse is multiply with a sparse A. Every row of it meets another B.
func (m *memory) multiplySparse(in, sum Type, a *rows, b *longs, met *selections) {
	spec := hopper.SpecOf(types[in].format, types[in].format, types[sum].format)
	m.plainB.PackRows(spec.B, b[:], false)
	for row := range a {
		m.met.Select(&m.plainB, &met[row])
		m.plainA.PackRows(spec.A, a[row:row+1], false)
		spec.Multiply(m.d[row:], m.pitch, &m.met, &m.plainA)
	}
}
