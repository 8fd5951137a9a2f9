//go:build race

package gemm_test

// raceEnabled thins out the tests and leaves out those that count allocations.
const raceEnabled = true
