package sm_test

import (
	"testing"

	"example.com/leafhopper/sm"
)

// TestSetMaxRegisters: what runs on an H200, of a kernel whose registers are bounded by its launch, runs here, and what
// hangs there is a deadlock. A number is what a warpgroup sets, 0 nothing.
func TestSetMaxRegisters(t *testing.T) {
	for _, c := range []struct {
		set  []int
		want string // of a deadlock, else none
	}{
		{[]int{24, 240, 240}, ""},
		{[]int{256, 256}, ""},
		{[]int{24, 160, 160, 168}, ""},
		{[]int{40, 240, 240}, "it has 168 registers and 56 are free; warps "},
		{[]int{32, 160, 160, 168}, "which share, have 32, 1"},
		// Those of a warp that has exited nobody gets.
		{[]int{0, 240, 0}, "for setmaxnreg 240 of warp 4: it has 168 registers and 0 are free; warps 0, 4, 8, which share, " +
			"have 168, 168, 168"},
	} {
		for _, m := range modes {
			cfg := in(m, sm.Config{Grid: sm.Dim3{X: 2}, Resident: 1, Block: sm.Dim3{X: 128 * len(c.set)}})
			for name, kernel := range map[string]sm.Kernel{
				"warpgroups": func(b *sm.Block) {
					b.Warpgroups(func(w *sm.Warpgroup) {
						if n := c.set[w.Rank()]; n > 0 {
							w.SetMaxRegisters(n)
						}
					})
				},
				"threads": func(b *sm.Block) {
					b.Threads(func(t *sm.Thread) {
						if n := c.set[t.Rank()/128]; n > 0 {
							t.SetMaxRegisters(n)
						}
					})
				},
			} {
				err := launch(t, cfg, kernel)
				switch {
				case c.want != "":
					faultOf(t, err, sm.RuleDeadlock, c.want, "at registers_test.go:")
				case err != nil:
					t.Errorf("%s, %v, %s: %v", name, c.set, mode(m), err)
				}
			}
		}
	}
}

// TestSetMaxRegistersApart: warps of a warpgroup that do not execute the same.
func TestSetMaxRegistersApart(t *testing.T) {
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 384}}), func(b *sm.Block) {
			b.Start(sm.Warps(0, 12, func(w *sm.Warp) {
				if w.Rank() == 5 {
					w.SetMaxRegisters(24)
				}
			}))
		})
		faultOf(t, err, sm.RuleSync, "setmaxnreg 24 by warp 5: another warp of its warpgroup has 168 registers",
			"at registers_test.go:")
	}
}
