package main

import (
	"errors"
	"testing"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

func reference() []course.Output {
	var matrix []int32
	for i := range uint32(64 * 32) {
		block, row := i/(16*32), i/32%16
		matrix = append(matrix, int32(2*course.Element(i, 1)+1000*block+row))
	}
	return []course.Output{{Name: "quarters.matrix", Data: matrix}, {Name: "quarters.parities", Data: []int32{
		0, 1, // after init
		0, 1, // after arrive.expect_tx
		1, 0, // after the first tile landed
		1, 0, // after arrive.expect_tx
		0, 1, // after the second tile landed
	}}}
}

func TestKernels(t *testing.T) {
	if err := course.Check(t.Context(), run, recorded, reference()); err != nil {
		t.Fatal(err)
	}
}

// TestParityOne: waiting for parity 1 is a race between working without a tile and waiting
// forever.
func TestParityOne(t *testing.T) {
	matrix := make([]int32, rows*columns)
	m, err := sm.NewTensorMap(matrix, tile.Config{Dims: []uint64{columns, rows}, Box: []uint32{columns, tileRows}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  sm.Config
		rule sm.Rule
	}{
		{sm.Config{}, sm.RuleDeadlock},
		{sm.Config{Check: true, Schedule: sm.Late}, sm.RuleRace},
	} {
		c.cfg.Grid, c.cfg.Block = sm.Dim3{X: blocks}, sm.Dim3{X: threads}
		err := sm.Launch(t.Context(), c.cfg, quarter(m, 1))
		var f *sm.Fault
		if !errors.As(err, &f) || f.Rule != c.rule {
			t.Errorf("checked %v: %v, want a fault of rule %v", c.cfg.Check, err, c.rule)
		}
	}
}

func Example() {
	main()
	// Output:
	// quarters.matrix bytes=8192 crc32=11cb0961
	// quarters.parities bytes=40 crc32=ead887ea
	// As on an H100: parity 1 passes before the tile has landed, and waits after that.
	// # after init 1           parity 0: 0  parity 1: 1
	// # after arrive.expect_tx parity 0: 0  parity 1: 1
	// # after bytes landed     parity 0: 1  parity 1: 0
	// # after arrive.expect_tx parity 0: 1  parity 1: 0
	// # after bytes landed     parity 0: 0  parity 1: 1
}
