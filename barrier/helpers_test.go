package barrier

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/internal/race"
)

const raceEnabled = race.Enabled

// setSpin changes how long waits spin before they park, until tb ends. No
// wait may be under way.
func setSpin(tb testing.TB, d time.Duration) {
	old := spinFor
	spinFor = d
	tb.Cleanup(func() { spinFor = old })
}

// setHook installs h in every park, until tb ends. No wait may be under way.
func setHook(tb testing.TB, h func(stage int)) {
	parkHook = h
	tb.Cleanup(func() { parkHook = nil })
}

// caught runs f and returns the Misuse it panicked with.
func caught(f func()) (m *Misuse, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
			err = errors.New("no panic")
		case *Misuse:
			m = r
		default:
			err = fmt.Errorf("panic with %T: %v", r, r)
		}
	}()
	f()
	return nil, nil
}

// wantMisuse checks the rule of a misuse, and that its text names the package, the
// operation and all of the parts.
func wantMisuse(t *testing.T, m *Misuse, op string, rule Rule, parts ...string) {
	t.Helper()
	if m.Op != op || m.Rule != rule {
		t.Errorf("got %q by %s, want %q by %s", m.Rule, m.Op, rule, op)
	}
	text := m.Error()
	for _, p := range append(parts, "barrier: "+op+": ", rule.String()) {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not contain %q", text, p)
		}
	}
}

// waitParked returns when n goroutines are parked on b.
func waitParked(t *testing.T, b *Barrier, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); b.State().Parked != n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines parked, want %d: %v", b.State().Parked, n, b)
		}
		runtime.Gosched()
	}
}

// within fails the test if f, run in a goroutine, takes longer than 60 s (times
// the soak factor), which is what a lost wake-up looks like.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(60 * time.Second * time.Duration(max(*soak, 1))):
		buf := make([]byte, 1<<16)
		t.Fatalf("%s did not finish\n%s", what, buf[:runtime.Stack(buf, true)])
	}
}
