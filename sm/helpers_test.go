package sm_test

// Besides the tests that are named like what they are of, there are
//
//	broken_*            kernels with a bug and without: a bug is found in every mode, and nothing else
//	ordered_*           kernels that order an access too little, which is found in whatever order things happen
//	ordered_quiet_*     kernels that order it by ways that are hard to see, as in trap, where nothing is to be found
//	*_random_*, stress  random kernels, of which a model knows what is wrong
//	race                what the race detector says of a kernel in free mode
//	table, hostile      every operation by every agent; contexts that break their contract

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/sm"
)

var seeds = flag.Int("sm.seeds", 60, "random schedules of each kind that a right kernel is run under")

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

// faultOf checks that err is a fault that breaks a rule, and whose message has what it should.
func faultOf(t testing.TB, err error, rule sm.Rule, want ...string) {
	t.Helper()
	f := fault(t, err)
	if f.Rule != rule {
		t.Errorf("rule %v, want %v: %v", f.Rule, rule, f)
	}
	contains(t, f, want...)
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

// records reads a file of n.
func records[T any](t *testing.T, file string, n int, parse func([]byte) ([]T, error)) []T {
	all, err := golden.Records("testdata/"+file, parse)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != n {
		t.Errorf("%d records, want %d", len(all), n)
	}
	return all
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

// soon checks how long f takes at best, which is to be below d on a machine with nothing else to do:
// this one may be ten times slower, and the race detector makes it a hundred times.
func soon(t *testing.T, what string, d time.Duration, f func()) {
	t.Helper()
	limit := 10 * d
	if race.Enabled {
		limit *= 10
	}
	var best time.Duration
	for i := range 5 {
		start := time.Now()
		f()
		if took := time.Since(start); i == 0 || took < best {
			best = took
		}
		if best < limit {
			return
		}
	}
	t.Errorf("%s takes %v at best, want %v or at most %v here", what, best, d, limit)
}

// settles has the test end by a check that it has left no goroutine behind.
func settles(t *testing.T) {
	n := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<16)
				t.Fatalf("%d goroutines, there were %d\n%s", runtime.NumGoroutine(), n, buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

func bf16Bytes(x []bf16.BF16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}
