// Package racetest tests what the race detector reports of a program, which ends the test that it finds a race in: so
// the program is a test in a process of its own.
package racetest

import (
	"bytes"
	"os"
	"os/exec"
	"sync"

	"example.com/leafhopper/internal/race"
)

const env = "LEAFHOPPER_RACE_TEST"

// Program returns what [Run] has named for this process, or "" if it is not one of Run's.
func Program() string { return os.Getenv(env) }

// Run has a test of this binary run by itself, with the name of a program that [Program] returns there, and returns
// how many races are reported, and the output. The process does not wait a second when it ends, and remembers more
// accesses than by default.
func Run(test, program string) (races int, out []byte, err error) {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env+"="+program,
		"GORACE=atexit_sleep_ms=0 history_size=7 suppress_equal_stacks=0")
	out, err = cmd.CombinedOutput()
	return bytes.Count(out, []byte("DATA RACE")), out, err
}

// Unordered calls first and then second, each on a goroutine of its own, in an order of which the race detector does
// not know.
func Unordered(first, second func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		first()
		race.Hide()
		defer race.Show()
		close(done)
	})
	wg.Go(func() {
		race.Hide()
		<-done
		race.Show()
		second()
	})
	wg.Wait()
}
