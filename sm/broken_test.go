package sm_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

var seeds = flag.Int("sm.seeds", 60, "random schedules of each kind that a right kernel is run under")

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
}

var modes = []sm.Config{{}, {Check: true}, {Check: true, Schedule: sm.Eager}, {Check: true, Schedule: sm.Random}}

// mode is what a test's message calls the mode of cfg.
func mode(cfg sm.Config) string {
	if !cfg.Check {
		return "free"
	}
	return fmt.Sprint(cfg.Schedule)
}

// in returns cfg in a mode.
func in(mode, cfg sm.Config) sm.Config {
	cfg.Check, cfg.Schedule = mode.Check, mode.Schedule
	return cfg
}

// launch is sm.Launch, which a test does not wait for for ever.
func launch(t testing.TB, cfg sm.Config, kernel sm.Kernel) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return sm.Launch(ctx, cfg, kernel)
}

// fault returns the fault that err must be.
func fault(t testing.TB, err error) *sm.Fault {
	t.Helper()
	var f *sm.Fault
	if !errors.As(err, &f) {
		t.Fatalf("%v, want a fault", err)
	}
	return f
}

// faultOf is fault of one that breaks a rule, and whose message has what it should.
func faultOf(t testing.TB, err error, rule sm.Rule, want ...string) *sm.Fault {
	t.Helper()
	f := fault(t, err)
	if f.Rule != rule {
		t.Errorf("rule %v, want %v: %v", f.Rule, rule, f)
	}
	contains(t, f, want...)
	return f
}

// contains checks that a message has what it should.
func contains(t testing.TB, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in\n%v", w, err)
		}
	}
}

// TestBroken runs the kernels with a bug: none hangs, in any mode, and each message says what is
// wrong and where.
func TestBroken(t *testing.T) {
	for _, c := range twins() {
		for _, m := range modes {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				if c.races && race.Enabled && !m.Check {
					t.Skip("the race detector finds it first")
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
	return append(all, exitTwins()...)
}

// assert ends a kernel that computes wrong.
func assert(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf(format, args...))
	}
}

// ramp returns 0, 1, 2, …
func ramp(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}
