//go:build unix

package tile_test

import (
	"bytes"
	"testing"

	"example.com/leafhopper/tile"
	"golang.org/x/sys/unix"
)

// guardedBytes returns n bytes between pages that fault, at the front or at the
// back of what lies between them.
func guardedBytes(t *testing.T, n int, back bool) []byte {
	t.Helper()
	page := unix.Getpagesize()
	room := (n + page - 1) / page * page
	all, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+room:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	if back {
		return all[page+room-n : page+room : page+room]
	}
	return all[page : page+n : page+n]
}

// TestPanelGuard has operand and slot end, or begin, at pages that fault.
func TestPanelGuard(t *testing.T) {
	eachPanelConfig(t, func(t *testing.T, c tile.PanelConfig) {
		for _, back := range []bool{false, true} {
			for _, rows := range []int{1, 7, 31, 33, 48} {
				for _, k := range []int{1, 2, 15, 32} {
					c.Global = guardedBytes(t, shapeOperand(&c, rows, k, 6), back)
					for i := range c.Global {
						c.Global[i] = byte(i*7 + 1)
					}
					m := newPanelMap(t, c)
					for _, boxK := range []int{k, k + 9} {
						boxRows := rows + rows%3
						slot := guardedBytes(t, m.BoxBytes(boxRows, boxK), back)
						if err := m.Load(slot, 0, boxRows, 0, boxK, nil); err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(slot, panelModel(c, 0, boxRows, 0, boxK)) {
							t.Fatalf("%d x %d of %d x %d differs", boxRows, boxK, rows, k)
						}
					}
				}
			}
		}
	})
}
