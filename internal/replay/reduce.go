package replay

import (
	"bytes"
	"fmt"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
)

// Reduce does a reduction, with operands of any size, and returns what it leaves in its place; that is r.Before
// after an error.
func Reduce(r *golden.Reduction) (after []byte, err error) {
	op, typ, n := tile.ReduceOp(r.Op), tile.DataType(r.DataType), len(r.Operand)
	source, err := tile.NewShared(n)
	if err != nil {
		return nil, err
	}
	copy(source.Bytes(), r.Operand)
	after = bytes.Clone(r.Before)
	switch r.Place {
	case "tensor":
		elements := uint64(n / typ.Size())
		rows := max(1, elements/256)
		m, err := tile.NewTensorMap(tile.Config{
			DataType: typ, Global: after,
			Dims: []uint64{elements / rows, rows}, Strides: []uint64{uint64(n) / rows},
			Box: []uint32{uint32(elements / rows), uint32(rows)},
		})
		if err != nil {
			return nil, err
		}
		return after, tile.Reduce(m, op, []int32{0, 0}, source, 0)
	case "global":
		return after, tile.ReduceBulk(tile.Global{Bytes: after}, 0, op, typ, source, 0, n)
	}
	there, err := tile.NewShared(n)
	if err != nil {
		return nil, err
	}
	copy(there.Bytes(), r.Before)
	bar, err := barrier.New(1)
	if err != nil {
		return nil, err
	}
	bar.ArriveExpectTx(n)
	err = tile.ReduceShared(there, 0, op, typ, source, 0, n, bar)
	if done := bar.TestWaitParity(0); done != (err == nil) {
		return there.Bytes(), fmt.Errorf("the barrier's phase is over: %v, the reduction: %w", done, err)
	}
	return there.Bytes(), err
}

// Reduction does a reduction and says how what it leaves differs from the GPU's, or "".
func Reduction(r *golden.Reduction) (string, error) {
	what := fmt.Sprintf("%v of %v, %s", tile.ReduceOp(r.Op), tile.DataType(r.DataType), r.Place)
	after, err := Reduce(r)
	if err != nil {
		return fmt.Sprintf("%s: %v", what, err), nil
	}
	memory := "global"
	if r.Place == "cluster" {
		memory = "shared"
	}
	if text := differ(memory, after, r.After); text != "" {
		return fmt.Sprintf("%s: %s", what, text), nil
	}
	return "", nil
}
