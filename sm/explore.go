package sm

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// maxShrinks bounds how many launches Explore makes to find a shorter schedule.
const maxShrinks = 400

// Explore launches the kernel n times under Check, with the seeds cfg.Seed to
// cfg.Seed+n-1, and returns the first fault, or nil. The fault's Seed reproduces it; its
// Switches are as few as Explore has found to be enough. Copies land as cfg.Schedule says. Under
// every second seed some agents, or CTAs, begin late. A kernel that changes what it reads in
// global memory is the same the next time only if cfg.Reset restores that; a wrong result is a fault
// only if cfg.Verify says so.
func Explore(ctx context.Context, cfg Config, n int, kernel Kernel) error {
	if n < 1 {
		return fmt.Errorf("sm: explore: %d seeds, want at least 1", n)
	}
	cfg.Check = true
	first := cfg.Seed
	for i := range n {
		cfg.Seed = first + uint64(i)
		err := Launch(ctx, cfg, kernel)
		var f *Fault
		if errors.As(err, &f) {
			f = shrink(ctx, cfg, kernel, f)
			f.explored = true
			return f
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink looks for a schedule with fewer switches that has f's fault.
func shrink(ctx context.Context, cfg Config, kernel Kernel, f *Fault) *Fault {
	best, launches := f, 0
	// try launches with a plan, and returns some of the switches that it could have had.
	try := func(switches []Switch, survey int) (found bool, options []Switch) {
		launches++
		l, err := newLaunch(cfg, kernel)
		if err != nil {
			return false, nil
		}
		l.sched.plan = make(map[moment]choice, len(switches))
		for _, s := range switches {
			l.sched.plan[s.at] = s.to
		}
		l.sched.survey = survey
		var g *Fault
		if !errors.As(l.run(ctx), &g) || g.Rule != f.Rule || g.Site != f.Site || len(g.Switches) >= len(best.Switches) {
			return false, l.sched.options
		}
		best = g
		return true, nil
	}
	if len(f.Switches) == 0 {
		return f
	}
	none, options := try(nil, maxShrinks/2)
	if none {
		return best
	}
	// Delta debugging: leave out ever smaller stretches of the schedule.
	for size := (len(best.Switches) + 1) / 2; size > 0 && launches < maxShrinks; {
		shorter := false
		for at := 0; at < len(best.Switches) && launches < maxShrinks; {
			s := best.Switches
			end := min(at+size, len(s))
			if found, _ := try(slices.Concat(s[:at], s[end:]), 0); found {
				shorter = true
			} else {
				at = end
			}
		}
		if size = min(size, len(best.Switches)); !shorter || size > 1 {
			size /= 2
		}
	}
	// What takes several of its switches may take one other.
	for _, s := range options {
		if len(best.Switches) <= 1 {
			break
		}
		try([]Switch{s}, 0)
	}
	return best
}
