//go:build race

// Package race says whether the race detector is on, for tests that it would make
// slow, or that count allocations.
package race

const Enabled = true
