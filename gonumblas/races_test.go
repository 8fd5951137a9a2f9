package gonumblas_test

import (
	"testing"

	"gonum.org/v1/gonum/blas"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gonumblas"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/racetest"
)

// TestRaces has routines that put blocks together write one matrix, in an order of which the race detector does not
// know, each in a process of its own. The blocks' memory, which both use, must not be one for it.
func TestRaces(t *testing.T) {
	t.Parallel()
	if k, err := asm.Select(asm.F64, ""); err != nil || k.ISA == "Go" {
		t.Skip("gonum computes all, by assembly of its own")
	}
	const n = 40 // one block
	x, y, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	var i gonumblas.Implementation
	for _, routine := range []struct {
		name string
		call func()
	}{
		{"symm", func() { i.Dsymm(blas.Left, blas.Upper, n, n, 1, x, n, y, n, 0, c, n) }},
		{"syrk", func() { i.Dsyrk(blas.Lower, blas.NoTrans, n, n, 1, x, n, 1, c, n) }},
		{"syr2k", func() { i.Dsyr2k(blas.Upper, blas.Trans, n, n, 1, x, n, y, n, 0, c, n) }},
		{"trmm", func() { i.Dtrmm(blas.Right, blas.Upper, blas.NoTrans, blas.NonUnit, n, n, 1, x, n, c, n) }},
		{"trsm", func() { i.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.Unit, n, n, 1, x, n, c, n) }},
	} {
		switch name := racetest.Program(); {
		case name == routine.name:
			racetest.Unordered(routine.call, routine.call)
		case name == "" && !race.Enabled:
			t.Skip("needs go test -race")
		case name == "":
			t.Run(routine.name, func(t *testing.T) {
				t.Parallel()
				if n, out, err := racetest.Run("TestRaces", routine.name); n == 0 || err == nil {
					t.Errorf("%d races are reported: %v\n%.2000s", n, err, out)
				}
			})
		}
	}
}
