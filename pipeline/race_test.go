//go:build race

package pipeline

// raceEnabled skips the tests that count allocations.
const raceEnabled = true
