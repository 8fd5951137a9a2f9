package tile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// panelModel writes the box that Load copies, element by element as its
// contract says, and returns its bytes.
func panelModel(c tile.PanelConfig, row, rows, k0, k int) []byte {
	width := c.Kernel.MR
	if c.Side == tile.SideB {
		width = c.Kernel.NR
	}
	pack, size := c.Kernel.KPack, c.Type.Size()
	element := func(r, kk int) uint64 {
		if r >= rows || kk >= k || row+r >= c.Rows || k0+kk >= c.K {
			return 0
		}
		at := (k0+kk)*c.Stride + (row+r)*size
		if c.KContiguous {
			at = (row+r)*c.Stride + (k0+kk)*size
		}
		switch size {
		case 8:
			return binary.LittleEndian.Uint64(c.Global[at:])
		case 4:
			return uint64(binary.LittleEndian.Uint32(c.Global[at:]))
		}
		return uint64(binary.LittleEndian.Uint16(c.Global[at:]))
	}
	if c.Kernel.KStep(c.Type) > 1 {
		// What these panels hold beside the elements is the packer's business;
		// what it is given, with zeros outside the operand, is Load's.
		var box []byte
		for r := range rows {
			for kk := range k {
				box = binary.LittleEndian.AppendUint64(box, element(r, kk))
				box = box[:len(box)-8+size]
			}
		}
		panel, packer := c.Kernel.PanelA, c.Kernel.PackA(c.Type, true)
		if c.Side == tile.SideB {
			panel, packer = c.Kernel.PanelB, c.Kernel.PackB(c.Type, true)
		}
		step := c.Kernel.KStep(c.Type)
		out := make([]byte, (rows+width-1)/width*panel(((k+pack-1)/pack+step-1)/step*step))
		packer(unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(box)), k*size, rows, k)
		return out
	}
	var out []byte
	for panel := 0; panel < rows; panel += width {
		for kk := 0; kk < k; kk += pack {
			for lane := range width {
				w := element(panel+lane, kk)
				switch {
				case pack == 2:
					w |= element(panel+lane, kk+1) << 16
				case c.Type == asm.BF16:
					w <<= 16
				case c.Type == asm.F16:
					w = uint64(modelWiden(uint16(w)))
				}
				out = binary.LittleEndian.AppendUint64(out, w)
				out = out[:len(out)-8+c.Kernel.Word]
			}
		}
	}
	return out
}

// modelWiden returns the float32 bits of a binary16, NaNs quieted.
func modelWiden(h uint16) uint32 {
	exp, frac := int(h>>10&31), int(h&1023)
	sign := uint32(h>>15) << 31
	switch {
	case exp == 31 && frac != 0:
		return sign | 0x7fc00000 | uint32(frac)<<13
	case exp == 31:
		return sign | 0x7f800000
	case exp == 0:
		return sign | math.Float32bits(float32(math.Ldexp(float64(frac), -24)))
	}
	return sign | math.Float32bits(float32(math.Ldexp(float64(1024+frac), exp-25)))
}

// eachPanelConfig calls f with the kernel, type, side and orientation of every
// panel layout that can be had here.
func eachPanelConfig(t *testing.T, f func(t *testing.T, c tile.PanelConfig)) {
	for _, k := range asm.Kernels() {
		if err := k.Supported(); err != nil {
			t.Logf("kernel %s is not tested: %v", k.Name, err)
			continue
		}
		for _, typ := range []asm.Type{asm.BF16, asm.F16, asm.F32, asm.F64} {
			if !k.Accepts(typ) {
				continue
			}
			for _, side := range []tile.Side{tile.SideA, tile.SideB} {
				for _, kContiguous := range []bool{false, true} {
					name := fmt.Sprintf("%s/%v/%v/kContiguous=%t", k.Name, typ, side, kContiguous)
					t.Run(name, func(t *testing.T) {
						f(t, tile.PanelConfig{Kernel: k, Side: side, Type: typ, KContiguous: kContiguous})
					})
				}
			}
		}
	}
}

// shapeOperand gives c the extents and a stride that leaves pad bytes behind
// each line, and returns the bytes it needs, without those behind the last line.
func shapeOperand(c *tile.PanelConfig, rows, k, pad int) int {
	lines, line := k, rows*c.Type.Size()
	if c.KContiguous {
		lines, line = rows, k*c.Type.Size()
	}
	c.Rows, c.K, c.Stride = rows, k, line+pad
	if lines == 0 || line == 0 {
		return 0
	}
	return (lines-1)*c.Stride + line
}

func newPanelMap(t testing.TB, c tile.PanelConfig) tile.PanelMap {
	t.Helper()
	m, err := tile.NewPanelMap(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newBarriers(t testing.TB, n int) []barrier.Barrier {
	t.Helper()
	bars := make([]barrier.Barrier, n)
	for i := range bars {
		if err := bars[i].Init(1); err != nil {
			t.Fatal(err)
		}
	}
	return bars
}

// checkBox loads a box into the middle of poisoned memory and compares all of
// it, and the barriers, with what they must be.
func checkBox(t *testing.T, r *rand.Rand, c tile.PanelConfig, row, rows, k0, k int) {
	t.Helper()
	m := newPanelMap(t, c)
	want := panelModel(c, row, rows, k0, k)
	what := fmt.Sprintf("box of %d x %d at (%d, %d) of %d x %d, stride %d", rows, k, row, k0, c.Rows, c.K, c.Stride)
	if n := m.BoxBytes(rows, k); n != len(want) || n%tile.PanelTxUnit != 0 {
		t.Fatalf("%s: BoxBytes is %d, want %d, a multiple of %d", what, n, len(want), tile.PanelTxUnit)
	}
	const poison = 0xA5
	front := r.IntN(70)
	mem := bytes.Repeat([]byte{poison}, front+len(want)+70)
	bars := newBarriers(t, r.IntN(4))
	if err := m.Load(mem[front:], row, rows, k0, k, bars); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got := mem[front : front+len(want)]; !bytes.Equal(got, want) {
		for i := 0; i < len(want); i += 4 {
			if g, w := binary.LittleEndian.Uint32(got[i:]), binary.LittleEndian.Uint32(want[i:]); g != w {
				t.Fatalf("%s: word %d is %#x, want %#x", what, i/4, g, w)
			}
		}
	}
	for i, b := range mem {
		if (i < front || i >= front+len(want)) && b != poison {
			t.Fatalf("%s: byte %d relative to the box was written", what, i-front)
		}
	}
	for i := range bars {
		if s := bars[i].State(); s.Tx != -len(want)/tile.PanelTxUnit || s.Phase != 0 {
			t.Fatalf("%s: barrier %d of %d: %v, want tx %d", what, i, len(bars), s, -len(want)/tile.PanelTxUnit)
		}
	}
}

func TestPanelLoad(t *testing.T) {
	eachPanelConfig(t, func(t *testing.T, c tile.PanelConfig) {
		r := rand.New(rand.NewPCG(1, uint64(c.Type)))
		width := c.Kernel.MR
		if c.Side == tile.SideB {
			width = c.Kernel.NR
		}
		for i := range rounds(40) {
			rows, k := r.IntN(4*width), r.IntN(80)
			if i%20 == 0 {
				k = 4096 + r.IntN(80) // more than a packer takes at once
				rows = 1 + r.IntN(width+1)
			}
			mem := make([]byte, 16+shapeOperand(&c, rows, k, r.IntN(3)*r.IntN(41)))
			randomBytes(r, mem)
			c.Global = mem[r.IntN(16):] // of any alignment
			panels, words := (rows+width-1)/width, (k+c.Kernel.KPack-1)/c.Kernel.KPack
			checkBox(t, r, c, 0, rows, 0, k)
			for range 4 {
				// Boxes begin anywhere inside or shortly behind, and end anywhere.
				row, k0 := r.IntN(panels+2)*width, r.IntN(words+2)*c.Kernel.KPack
				checkBox(t, r, c, row, r.IntN(rows+2*width+1), k0, r.IntN(k+20))
			}
		}
	})
}

// TestPanelSpecials copies every binary16 and every bfloat16.
func TestPanelSpecials(t *testing.T) {
	eachPanelConfig(t, func(t *testing.T, c tile.PanelConfig) {
		if c.Type == asm.F32 {
			return
		}
		rows := 64
		c.Global = make([]byte, shapeOperand(&c, rows, 1<<16/rows, 0))
		for i := range 1 << 16 {
			binary.LittleEndian.PutUint16(c.Global[2*i:], uint16(i))
		}
		checkBox(t, rand.New(rand.NewPCG(1, 1)), c, 0, c.Rows, 0, c.K)
	})
}

// TestPanelJobs cuts a stage into jobs at panel boundaries, as an engine does:
// together they make the same stage and bring the same count.
func TestPanelJobs(t *testing.T) {
	eachPanelConfig(t, func(t *testing.T, c tile.PanelConfig) {
		r := rand.New(rand.NewPCG(2, uint64(c.Type)))
		for range 10 {
			c.Global = make([]byte, shapeOperand(&c, r.IntN(200), 1+r.IntN(60), r.IntN(9)))
			randomBytes(r, c.Global)
			m := newPanelMap(t, c)
			rows, k := 1+r.IntN(250), 1+r.IntN(70)
			want := panelModel(c, 0, rows, 0, k)
			slot := make([]byte, len(want))
			bars := newBarriers(t, 3)
			for i := range bars {
				bars[i].ArriveExpectTx(m.BoxBytes(rows, k) / tile.PanelTxUnit)
			}
			var wg sync.WaitGroup
			for next := 0; next < rows; {
				at, n := next, min((1+r.IntN(3))*m.Width(), rows-next)
				next += n
				wg.Go(func() {
					if err := m.Load(slot[m.BoxBytes(at, k):], at, n, 0, k, bars); err != nil {
						t.Error(err)
					}
				})
			}
			// Only the barrier orders the comparison after the copies.
			for i := range bars {
				if !bars[i].TryWaitParity(0, 20*time.Second) {
					t.Fatalf("barrier %d waits for more than the jobs brought: %v", i, &bars[i])
				}
			}
			if !bytes.Equal(slot, want) {
				t.Fatalf("%d x %d of %d x %d cut into jobs differs", rows, k, c.Rows, c.K)
			}
			wg.Wait()
		}
	})
}

// TestPanelTxUnit checks that no kernel, here or elsewhere, has panels that the
// unit does not divide.
func TestPanelTxUnit(t *testing.T) {
	for _, k := range asm.Kernels() {
		for _, typ := range []asm.Type{asm.BF16, asm.F16, asm.F32, asm.F64} {
			if !k.Accepts(typ) {
				continue
			}
			step := k.KStep(typ)
			if a, b := k.PanelA(step), k.PanelB(step); a%tile.PanelTxUnit != 0 || b%tile.PanelTxUnit != 0 {
				t.Errorf("kernel %s: panels of one step have %d and %d bytes, not a multiple of %d", k.Name, a, b,
					tile.PanelTxUnit)
			}
		}
	}
}

func TestPanelSide(t *testing.T) {
	for side, want := range map[tile.Side]string{tile.SideA: "A", tile.SideB: "B", 2: "Side(2)", 255: "Side(255)"} {
		if got := side.String(); got != want {
			t.Errorf("side %d is %q, want %q", uint8(side), got, want)
		}
	}
}

func TestPanelLoadDoesNotAllocate(t *testing.T) {
	eachPanelConfig(t, func(t *testing.T, c tile.PanelConfig) {
		c.Global = make([]byte, shapeOperand(&c, 70, 33, 0))
		m := newPanelMap(t, c)
		slot := make([]byte, m.BoxBytes(70, 33))
		bars := newBarriers(t, 1)
		n := testing.AllocsPerRun(20, func() {
			if err := m.Load(slot, 0, 70, 0, 33, bars); err != nil {
				t.Fatal(err)
			}
			bars[0].ExpectTx(m.BoxBytes(70, 33) / tile.PanelTxUnit)
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// Six rows of three numbers become two panels of four rows.
func ExamplePanelMap_Load() {
	kernel, err := asm.Select(asm.F32, "go")
	if err != nil {
		fmt.Println(err)
		return
	}
	var a []byte
	for row := range 6 {
		for k := range 3 {
			a = binary.LittleEndian.AppendUint32(a, math.Float32bits(float32(10*(row+1)+k)))
		}
	}
	m, err := tile.NewPanelMap(tile.PanelConfig{
		Kernel: kernel, Side: tile.SideA, Type: asm.F32,
		Global: a, Rows: 6, K: 3, Stride: 3 * 4, KContiguous: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	slot := tile.HeapSlots(m.BoxBytes(6, 3))
	if err := m.Load(slot, 0, 6, 0, 3, nil); err != nil {
		fmt.Println(err)
		return
	}
	for ; len(slot) > 0; slot = slot[m.BoxBytes(m.Width(), 3):] {
		for k := range 3 {
			for i := range m.Width() {
				word := slot[(k*m.Width()+i)*4:]
				fmt.Printf("%3v", math.Float32frombits(binary.LittleEndian.Uint32(word)))
			}
			fmt.Print("  |")
		}
		fmt.Println()
	}
	// Output:
	//  10 20 30 40  | 11 21 31 41  | 12 22 32 42  |
	//  50 60  0  0  | 51 61  0  0  | 52 62  0  0  |
}
