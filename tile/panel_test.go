package tile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

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
	element := func(r, kk int) uint32 {
		if r >= rows || kk >= k || row+r >= c.Rows || k0+kk >= c.K {
			return 0
		}
		at := (k0+kk)*c.Stride + (row+r)*size
		if c.KContiguous {
			at = (row+r)*c.Stride + (k0+kk)*size
		}
		if size == 4 {
			return binary.LittleEndian.Uint32(c.Global[at:])
		}
		return uint32(binary.LittleEndian.Uint16(c.Global[at:]))
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
					w = modelWiden(uint16(w))
				}
				out = binary.LittleEndian.AppendUint32(out, w)
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
		for _, typ := range []asm.Type{asm.BF16, asm.F16, asm.F32} {
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
		for i := range 40 {
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
		if k.MR*4%tile.PanelTxUnit != 0 || k.NR*4%tile.PanelTxUnit != 0 {
			t.Errorf("kernel %s: a step of %d or %d words is not a multiple of %d bytes", k.Name, k.MR, k.NR, tile.PanelTxUnit)
		}
	}
}

func portable(t testing.TB, typ asm.Type) *asm.Kernel {
	t.Helper()
	k, err := asm.Select(typ, "go")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestPanelConfigErrors(t *testing.T) {
	good := tile.PanelConfig{Kernel: portable(t, asm.BF16), Type: asm.BF16, Global: make([]byte, 200), Rows: 10, K: 9, Stride: 20}
	with := func(f func(*tile.PanelConfig)) tile.PanelConfig { c := good; f(&c); return c }
	newPanelMap(t, good)
	for _, c := range []struct {
		config tile.PanelConfig
		want   []string
	}{
		{with(func(c *tile.PanelConfig) { c.Kernel = nil }), []string{"no kernel"}},
		{with(func(c *tile.PanelConfig) { c.Side = 2 }), []string{"side 2"}},
		{with(func(c *tile.PanelConfig) { c.Type = 9 }), []string{"kernel go", "Type(9)"}},
		{with(func(c *tile.PanelConfig) { c.Rows = -1 }), []string{"-1 x 9"}},
		{with(func(c *tile.PanelConfig) { c.K = -2 }), []string{"10 x -2"}},
		{with(func(c *tile.PanelConfig) { c.Stride = 19 }), []string{"19 bytes", "20 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Stride = -20 }), []string{"-20 bytes", "20 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Global = c.Global[:179] }), []string{"9 lines", "20 bytes apart", "179 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Global = c.Global[:19]; c.K = 1 }), []string{"10 elements", "19 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Global = nil }), []string{"10 elements", "0 bytes"}},
		{with(func(c *tile.PanelConfig) { c.KContiguous = true; c.K = 11 }), []string{"20 bytes", "22 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Rows, c.Stride = math.MaxInt/2, math.MaxInt }), []string{"elements", "200 bytes"}},
		{with(func(c *tile.PanelConfig) { c.K = math.MaxInt }), []string{fmt.Sprint(math.MaxInt), "200 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Stride = math.MaxInt }), []string{fmt.Sprint(math.MaxInt), "200 bytes"}},
	} {
		_, err := tile.NewPanelMap(c.config)
		wantText(t, fmt.Sprintf("%+v", c.config), err, append(c.want, "tile: panel map: "))
	}
	for _, k := range asm.Kernels() {
		if k.Supported() != nil {
			_, err := tile.NewPanelMap(with(func(c *tile.PanelConfig) { c.Kernel = k }))
			wantText(t, "a kernel that cannot run", err, []string{"tile: panel map: ", k.Name})
		}
	}
	// The stride of a lone line and the memory of no elements do not matter.
	newPanelMap(t, with(func(c *tile.PanelConfig) { c.K, c.Stride = 1, -7 }))
	newPanelMap(t, with(func(c *tile.PanelConfig) { c.K, c.Global = 0, nil }))
	newPanelMap(t, with(func(c *tile.PanelConfig) { c.Rows, c.Global = 0, nil }))
	newPanelMap(t, with(func(c *tile.PanelConfig) { c.Global = c.Global[:180] }))
}

func wantText(t *testing.T, what string, err error, parts []string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %q does not contain %q", what, err, p)
		}
	}
}

func TestPanelBoxErrors(t *testing.T) {
	for _, k := range asm.Kernels() {
		if k.KPack != 2 || k.Supported() != nil {
			continue
		}
		c := tile.PanelConfig{Kernel: k, Type: asm.BF16, Side: tile.SideB}
		c.Global = make([]byte, shapeOperand(&c, 40, 8, 0))
		m := newPanelMap(t, c)
		full := m.BoxBytes(40, 8)
		for _, b := range []struct {
			row, rows, k0, k, slot int
			want                   []string
		}{
			{-32, 40, 0, 8, full, []string{"(-32, 0)"}},
			{0, 40, -2, 8, full, []string{"(0, -2)"}},
			{0, -1, 0, 8, full, []string{"-1 x 8"}},
			{0, 40, 0, -8, full, []string{"40 x -8"}},
			{0, math.MaxInt, 0, 8, full, []string{fmt.Sprint(math.MaxInt), "x 8"}},
			{0, 1 << 28, 0, 1 << 28, full, []string{"268435456 x 268435456 needs", fmt.Sprint(full)}},
			{1, 40, 0, 8, full, []string{"(1, 0)", "(32, 2)"}},
			{0, 40, 1, 8, full, []string{"(0, 1)", "(32, 2)"}},
			{0, 40, 0, 8, full - 1, []string{"40 x 8", fmt.Sprint(full), fmt.Sprint(full - 1)}},
			{0, 40, 0, 8, 0, []string{"has 0"}},
		} {
			slot := bytes.Repeat([]byte{7}, b.slot)
			bars := newBarriers(t, 2)
			err := m.Load(slot, b.row, b.rows, b.k0, b.k, bars)
			wantText(t, fmt.Sprintf("%s: %+v", k.Name, b), err, append(b.want, "tile: panel box"))
			if bytes.Count(slot, []byte{7}) != len(slot) || bars[0].State().Tx != 0 || bars[1].State().Tx != 0 {
				t.Errorf("%s: %+v: a refused copy wrote or signalled", k.Name, b)
			}
		}
		// What a barrier cannot count is refused, but only if there is one.
		words := (barrier.MaxTx + 1) * tile.PanelTxUnit / (k.NR * 4)
		slot := make([]byte, m.BoxBytes(1, 2*words))
		slot[0] = 7
		bars := newBarriers(t, 1)
		wantText(t, "8 MB", m.Load(slot, 0, 1, 0, 2*words, bars), []string{"8388608 bytes", "8388600"})
		if slot[0] != 7 || bars[0].State().Tx != 0 {
			t.Error("8 MB: a refused copy wrote or signalled")
		}
		if err := m.Load(slot, 0, 1, 0, 2*words, nil); err != nil || slot[0] != 0 {
			t.Errorf("8 MB without a barrier: %v", err)
		}
	}
}

func TestPanelSide(t *testing.T) {
	if a, b := tile.SideA.String(), tile.SideB.String(); a != "A" || b != "B" {
		t.Errorf("sides %s and %s", a, b)
	}
}

func TestPanelLoadDoesNotAllocate(t *testing.T) {
	eachPanelConfig(t, func(t *testing.T, c tile.PanelConfig) {
		c.Global = make([]byte, shapeOperand(&c, 70, 33, 0))
		m := newPanelMap(t, c)
		slot := make([]byte, m.BoxBytes(96, 64))
		bars := newBarriers(t, 1)
		n := testing.AllocsPerRun(20, func() {
			if err := m.Load(slot, 0, 96, 0, 64, bars); err != nil {
				t.Fatal(err)
			}
			bars[0].ExpectTx(m.BoxBytes(96, 64) / tile.PanelTxUnit)
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
