package sm

import (
	"math/rand/v2"
	"slices"
)

// A flight is a copy under way.
type flight struct {
	copyOp
	choice
	since int // the scheduler's step at which it was issued
}

// fly makes a copy that r issues one of those that land later.
func (s *scheduler) fly(r *runner, c copyOp) {
	r.copies++
	f := &flight{c, choice{r.number, r.copies}, s.step}
	c.cta.cluster.count(1)
	c.Split(rand.New(rand.NewPCG(s.launch.Seed, 2+uint64(f.runner)<<32+uint64(f.copy)))) // the same whatever the order
	s.copies = append(s.copies, f)
}

// adrift returns how many copies may land while agents can go on.
func (s *scheduler) adrift() int {
	if s.launch.Schedule == Random {
		return len(s.copies)
	}
	return 0
}

// starved reports whether the oldest copy has been under way while all agents that can go on have done, on
// average, as much as longTurn: they may be looping until memory changes, as it does when the copy has landed.
func (s *scheduler) starved() bool {
	return len(s.copies) > 0 && s.step-s.copies[0].since > longTurn*(1+len(s.turns))
}

// land lands the next piece of the copy number i.
func (s *scheduler) land(i int) {
	f := s.copies[i]
	if !f.step() {
		return
	}
	s.copies = slices.Delete(s.copies, i, i+1)
	f.over()
}

// over counts that the copy is under way no more.
func (f *flight) over() {
	f.cta.launch.Trace.copied(&f.copyOp)
	f.cta.cluster.idle()
}

// settle takes out copies that a wait has brought to their end. Without Check there are none.
func (s *scheduler) settle() {
	if s == nil {
		return
	}
	s.copies = slices.DeleteFunc(s.copies, func(f *flight) bool {
		if f.Done() {
			f.over()
		}
		return f.Done()
	})
}

// into returns a copy under way that writes or reads c's shared memory, nil if there is none.
func (s *scheduler) into(c *cta) *flight {
	if s == nil {
		return nil
	}
	for _, f := range s.copies {
		if !f.Grouped() && (f.cta == c && (f.reads || f.bar == nil) || f.bar != nil && f.bar.cta == c) {
			return f
		}
	}
	return nil
}
