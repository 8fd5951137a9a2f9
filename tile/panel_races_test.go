package tile_test

import (
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/racetest"
	"example.com/leafhopper/tile"
)

// TestPanelRaces has copies to panels meet what nothing orders them with, each in a process of its own, whose race
// detector is to report all but those that are fine.
func TestPanelRaces(t *testing.T) {
	t.Parallel()
	const rows, k = 40, 9 // no whole panels
	kernel, err := asm.Select(asm.F32, "")
	if err != nil {
		t.Fatal(err)
	}
	global, slots := make([]byte, rows*k*4), [2][]byte{make([]byte, 8<<10), make([]byte, 8<<10)}
	m, err := tile.NewPanelMap(tile.PanelConfig{
		Kernel: kernel, Type: asm.F32, Global: global, Rows: rows, K: k, Stride: rows * 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	load := func(slot, rows int) func() {
		return func() {
			if err := m.Load(slots[slot], 0, rows, 0, k, nil); err != nil {
				t.Error(err)
			}
		}
	}
	write := func() { global[len(global)-1]++ }
	for _, meeting := range []struct {
		name          string
		first, second func()
		fine          bool
	}{
		{"one slot", load(0, rows), load(0, rows), false},
		{"a slot is read", load(0, rows), func() { global[0] = slots[0][0] }, false},
		{"the last row was written", write, load(0, rows), false},
		{"two slots", load(0, rows), load(1, rows), true},
		{"another row was written", write, load(0, rows-1), true},
	} {
		switch name := racetest.Program(); {
		case name == meeting.name:
			racetest.Unordered(meeting.first, meeting.second)
		case name == "" && !race.Enabled:
			t.Skip("needs go test -race")
		case name == "":
			t.Run(meeting.name, func(t *testing.T) {
				t.Parallel()
				n, out, err := racetest.Run("TestPanelRaces", meeting.name)
				if n > 0 == meeting.fine || n > 0 != (err != nil) {
					t.Errorf("%d races are reported: %v\n%.2000s", n, err, out)
				}
			})
		}
	}
}
