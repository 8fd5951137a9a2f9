package tile_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

func portable(t testing.TB, typ asm.Type) *asm.Kernel {
	t.Helper()
	k, err := asm.Select(typ, "go")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestPanelConfigErrors(t *testing.T) {
	good := tile.PanelConfig{Kernel: portable(t, asm.BF16), Type: asm.BF16, Global: make([]byte, 200), Rows: 10, K: 9,
		Stride: 20}
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
		{with(func(c *tile.PanelConfig) { c.Global = c.Global[:179] }),
			[]string{"9 lines", "20 bytes apart", "179 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Global = c.Global[:19]; c.K = 1 }), []string{"10 elements", "19 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Global = nil }), []string{"10 elements", "0 bytes"}},
		{with(func(c *tile.PanelConfig) { c.KContiguous = true; c.K = 11 }), []string{"20 bytes", "22 bytes"}},
		{with(func(c *tile.PanelConfig) { c.Rows, c.Stride = math.MaxInt/2, math.MaxInt }),
			[]string{"elements", "200 bytes"}},
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

func TestPanelZero(t *testing.T) {
	var m tile.PanelMap
	if err := m.Load(make([]byte, 8), 0, 1, 0, 1, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "tile: zero PanelMap") {
		t.Errorf("a zero PanelMap loads: %v", err)
	}
	if got := m.BoxBytes(3, 5) + m.Words(5); got != 0 {
		t.Errorf("a box of a zero PanelMap and its depth in words are %d, want 0", got)
	}
}
