package sm

import (
	"fmt"
	"strings"
	"sync"

	"example.com/leafhopper/internal/race"
)

// Registers of an SM, each of whose quarters has one warp in four of a CTA.
const (
	quarters         = 4
	quarterRegisters = 64 << 10 / quarters / warpSize // for each lane
	mostRegisters    = 256
	registerUnit     = 8
)

// Registers are what setmaxnreg takes from warps of a CTA and gives to others, of the same quarter. Nobody gets those
// of a warp that has exited. A warp begins with as many as a kernel of so many threads can have. If its own has fewer
// there are fewer to give: then the GPU waits where this does not.
type registers struct {
	mu      sync.Mutex
	warps   []held // nil before the first setmaxnreg
	free    [quarters]int
	waiters []*runner // the target of whose wait is how many they want
}

// A held is how many registers a warp has in each lane, and who has set that.
type held struct {
	n  int
	by mark
}

func (f *registers) lock() {
	race.Hide() // setmaxnreg orders nothing
	f.mu.Lock()
}

func (f *registers) unlock() {
	f.mu.Unlock()
	race.Show()
}

// SetMaxRegisters is setmaxnreg, which all warps of a warpgroup execute: n is a multiple of 8 from 24 to 256 (PTX
// 9.7.19.5). More than there were (.inc) are waited for, until other warps have given up theirs (.dec).
func (a *agent) SetMaxRegisters(n int) {
	a.enter("SetMaxRegisters")
	if n < 24 || n > mostRegisters || n%registerUnit != 0 {
		a.fail(RuleWGMMA, "setmaxnreg %d, want a multiple of %d from 24 to %d", n, registerUnit, mostRegisters)
	}
	if !a.cta.registers.set(a, n) {
		a.run.block()
	}
}

// set has a's warps have n registers, and reports whether they do: else its runner is among those that wait.
//
//go:norace
func (f *registers) set(a *agent, n int) bool {
	f.lock()
	defer f.unlock()
	if f.warps == nil {
		f.warps = make([]held, len(a.cta.taken))
		inQuarter := (len(f.warps) + quarters - 1) / quarters
		for w := range f.warps {
			f.warps[w].n = min(quarterRegisters/inQuarter/registerUnit*registerUnit, mostRegisters)
		}
	}
	done := f.take(a, n)
	waiters := f.waiters
	f.waiters = waiters[:0]
	for _, r := range waiters {
		if !f.take(r.by, int(r.target)) {
			f.waiters = append(f.waiters, r)
			continue
		}
		r.cta.cluster.progressed()
		r.ready()
	}
	if !done {
		a.run.waits, a.run.target = f, uint64(n)
		f.waiters = append(f.waiters, a.run)
	}
	return done
}

// take sets those of a's warps for which there are enough, and reports whether these are all.
//
//go:norace
func (f *registers) take(a *agent, n int) bool {
	done := true
	for w := a.rank / warpSize; w*warpSize < a.rank+a.lanes; w++ {
		h, free := &f.warps[w], &f.free[w%quarters]
		if more := n - h.n; more > *free {
			done = false
		} else if more != 0 {
			*free -= more
			*h = held{n, mark{a, a.run.site}}
		}
	}
	return done
}

// missing says what somebody lacks who waits for n registers.
//
//go:norace
func (f *registers) missing(n uint64) string {
	f.lock()
	defer f.unlock()
	w := len(f.warps)
	for _, r := range f.waiters {
		for v := r.by.rank / warpSize; r.target == n && v < w; v++ {
			if f.warps[v].n != int(n) {
				w = v
			}
		}
	}
	q := w % quarters
	var of, have []string
	for v := q; v < len(f.warps); v += quarters {
		of, have = append(of, fmt.Sprint(v)), append(have, fmt.Sprint(f.warps[v].n))
	}
	return fmt.Sprintf("setmaxnreg %d of warp %d: it has %d registers and %d are free; warps %s, which share, have %s",
		n, w, f.warps[w].n, f.free[q], strings.Join(of, ", "), strings.Join(have, ", "))
}

// exit checks that the warps of a warpgroup have executed the same.
func (f *registers) exit(c *cta) {
	for i, h := range f.warps {
		first := i / quarters * quarters
		other := f.warps[first]
		if h.n == other.n {
			continue
		}
		if h.by.agent == nil {
			h, other = other, h
		}
		c.blame(h.by.site, RuleSync, "setmaxnreg %d by %v: another warp of its warpgroup has %d registers, but all warps "+
			"of a warpgroup execute the same (PTX 9.7.19.5)", h.n, h.by.agent, other.n)
	}
}
