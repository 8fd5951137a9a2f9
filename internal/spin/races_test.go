package spin

import (
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/racetest"
)

// Of two who look for an idle P neither comes after the other, for the race detector, which has nothing to report.
func TestRaces(t *testing.T) {
	look, written := func() { Idle() }, 0
	write := func() { Idle(); written++; Idle() }
	for _, meeting := range []struct {
		name  string
		both  func()
		races bool
	}{{"look", look, false}, {"write", write, true}} {
		switch name := racetest.Program(); {
		case name == meeting.name:
			racetest.Unordered(meeting.both, meeting.both)
		case name == "" && !race.Enabled:
			t.Skip("needs go test -race")
		case name == "":
			if n, out, err := racetest.Run("TestRaces", meeting.name); n > 0 != meeting.races || n > 0 != (err != nil) {
				t.Errorf("%s: %d races are reported: %v\n%.2000s", meeting.name, n, err, out)
			}
		}
	}
}
