package sm_test

import (
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

// A twin is a kernel with a bug and without.
type twin struct {
	name   string
	cfg    sm.Config
	kernel func(broken bool) sm.Kernel
	rule   sm.Rule
	want   []string // in the message, in every mode
	// A bug whose copies land at another moment may show in another way.
	also  map[sm.Rule][]string
	races bool // in free mode
	order bool // only Check knows it
}

// TestBroken runs the kernels with a bug: none hangs, in any mode, and each message says what is
// wrong and where.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range twins() {
		for _, m := range modes {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				if c.races && race.Enabled && !m.Check {
					t.Skip("the race detector finds it first")
				}
				if c.order && !m.Check {
					t.Skip("happens-before is known under Check")
				}
				for seed := range uint64(4) {
					cfg := in(m, c.cfg)
					cfg.Seed = seed
					f := fault(t, launch(t, cfg, c.kernel(true)))
					if seed == 0 {
						t.Log(f)
					}
					want := c.want
					if also, ok := c.also[f.Rule]; ok {
						want = also
					} else if f.Rule != c.rule {
						t.Errorf("rule %v, want %v", f.Rule, c.rule)
					}
					contains(t, f, append(want, "broken_", "_test.go:")...)
					if !m.Check {
						break
					}
				}
			})
		}
	}
}

// TestCorrected runs the twins without the bug, under many schedules.
func TestCorrected(t *testing.T) {
	t.Parallel()
	n := *seeds
	if testing.Short() || race.Enabled {
		n = min(n, 10)
	}
	for _, c := range twins() {
		t.Run(c.name, func(t *testing.T) {
			kernel := c.kernel(false)
			for _, m := range modes {
				var err error
				if m.Check {
					err = sm.Explore(t.Context(), in(m, c.cfg), n, kernel)
				} else {
					err = launch(t, c.cfg, kernel)
				}
				if err != nil {
					t.Errorf("%s: %v", mode(m), err)
				}
			}
		})
	}
}

func twins() (all []twin) {
	all = append(all, ringTwins()...)
	all = append(all, clusterTwins()...)
	all = append(all, gridTwins()...)
	all = append(all, orderTwins()...)
	all = append(all, globalTwins()...)
	return append(all, exitTwins()...)
}
