package sm

import (
	"context"
	"errors"
	"fmt"
)

// maxShrinks bounds how many launches Explore makes to find a shorter schedule.
const maxShrinks = 400

// Explore launches the kernel n times under Check, with the seeds cfg.Seed to
// cfg.Seed+n-1, and returns the first fault, or nil. The fault's Seed reproduces it; its
// Switches are as few as Explore has found to be enough. A kernel that changes what it reads
// in global memory is not the same the next time: launch those in a loop of your own.
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
			return shrink(ctx, cfg, kernel, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink looks for a schedule with fewer switches that has f's fault.
func shrink(ctx context.Context, cfg Config, kernel Kernel, f *Fault) error {
	best, launches := f, 0
	try := func(switches []Switch) bool {
		if launches++; launches > maxShrinks {
			return false
		}
		l, err := newLaunch(cfg, kernel)
		if err != nil {
			return false
		}
		l.sched.plan = make(map[int]choice, len(switches))
		for _, s := range switches {
			l.sched.plan[s.Step] = s.to
		}
		var g *Fault
		if !errors.As(l.run(ctx), &g) || g.Rule != f.Rule || g.Site != f.Site || len(g.Switches) >= len(best.Switches) {
			return false
		}
		best = g
		return true
	}
	// Delta debugging: leave out ever smaller stretches of the schedule.
	for size := len(best.Switches); size > 0 && launches <= maxShrinks; {
		shorter := false
		for at := 0; at < len(best.Switches) && launches <= maxShrinks; {
			s := best.Switches
			end := min(at+size, len(s))
			if try(append(append([]Switch{}, s[:at]...), s[end:]...)) {
				shorter = true
			} else {
				at = end
			}
		}
		if size = min(size, len(best.Switches)); !shorter || size > 1 {
			size /= 2
		}
	}
	return best
}
