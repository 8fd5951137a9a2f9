//go:build invariants

package barrier

// invariants adds the checks that cost an operation more than a comparison.
const invariants = true
