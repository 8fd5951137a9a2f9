package tile

import (
	"fmt"
	"sync"
	"unsafe"
)

// ReduceOp is the operation of a [Reduce].
type ReduceOp uint8

// The operations, for these types:
//
//	ReduceAdd                      Uint32 Int32 Uint64 Float16 BFloat16 Float32
//	ReduceMin, ReduceMax           Uint32 Int32 Uint64 Int64 Float16 BFloat16
//	ReduceInc, ReduceDec           Uint32
//	ReduceAnd, ReduceOr, ReduceXor Uint32 Int32 Uint64 Int64
//
// ReduceInc counts up and wraps to 0 behind the operand x: old < x ? old+1 : 0.
// ReduceDec counts down and wraps to x: 0 < old <= x ? old-1 : x.
const (
	ReduceAdd ReduceOp = iota + 1
	ReduceMin
	ReduceMax
	ReduceInc
	ReduceDec
	ReduceAnd
	ReduceOr
	ReduceXor
)

var reduceNames = [...]string{
	ReduceAdd: "ReduceAdd",
	ReduceMin: "ReduceMin",
	ReduceMax: "ReduceMax",
	ReduceInc: "ReduceInc",
	ReduceDec: "ReduceDec",
	ReduceAnd: "ReduceAnd",
	ReduceOr:  "ReduceOr",
	ReduceXor: "ReduceXor",
}

// String returns the name of the constant.
func (op ReduceOp) String() string {
	if op == 0 || int(op) >= len(reduceNames) {
		return fmt.Sprintf("ReduceOp(%d)", uint8(op))
	}
	return reduceNames[op]
}

// Reduce combines a box of shared memory at offset with the box at coord of the
// tensor, element by element, and leaves the results in the tensor (PTX
// cp.reduce.async.bulk.tensor.global.shared::cta). The type comes from the map;
// op says which are defined. Elements outside are dropped like those of a
// [Store], and the padding behind a row is combined like the row.
//
// Floating-point addition rounds to nearest even and keeps subnormals, those of
// Float32 too (PTX has them flushed, the H200 does not); a NaN becomes 0x7fff or,
// for Float32, 0x7fffffff. Minimum and maximum of a number and a NaN are the
// number, and -0 is less than +0.
//
// Each element is combined atomically with respect to other calls of Reduce,
// through whichever map, but not to loads, stores and plain accesses.
//
// Reduce reports an error, and changes nothing, under the conditions of Store
// and for an op that the type does not have.
func Reduce(m *TensorMap, op ReduceOp, coord []int32, src *Shared, offset int) error {
	if err := m.checkWrite("reduce", coord); err != nil {
		return err
	}
	combine := combinerOf(op, m.typ)
	if combine == nil {
		return fmt.Errorf("tile: reduce: %v is not defined for %v", op, m.typ)
	}
	if err := src.checkTile("reduce", "source", m, offset); err != nil {
		return err
	}
	m.reduce(coord, src.mem, offset, combine)
	return nil
}

func (m *TensorMap) reduce(coord []int32, src []byte, offset int, combine combiner) {
	w := m.window(coord)
	n := m.granules(&w)
	m.planes(&w, offset, func(p plane) {
		to, from := p.global, p.shared
		for range p.rows {
			m.reduceRow(m.global[to:min(to+n, len(m.global))], src, from, combine)
			to += int(m.stride[1])
			from += m.pitch
		}
	})
}

func (m *TensorMap) reduceRow(row, src []byte, from int, combine combiner) {
	first, last := lockRow(row)
	defer unlockRow(first, last)
	x := m.flip(from)
	for len(row) > 0 {
		n := min(chunk, len(row))
		combine(row[:n], src[from^x:])
		row = row[n:]
		from += chunk
	}
}

const (
	stripes     = 64
	stripeBytes = 4096
)

// reduceLocks make reductions atomic: a row takes the locks of the stretches
// of real memory that it touches, so maps that share memory share locks.
var reduceLocks [stripes]struct {
	sync.Mutex
	_ [56]byte
}

// lockRow locks the memory of row, at most 2 KB and not empty, and returns what
// unlockRow needs.
func lockRow(row []byte) (first, last int) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(row)))
	first = int(at / stripeBytes % stripes)
	last = int((at + uintptr(len(row)) - 1) / stripeBytes % stripes)
	first, last = min(first, last), max(first, last)
	reduceLocks[first].Lock()
	if last != first {
		reduceLocks[last].Lock()
	}
	return first, last
}

func unlockRow(first, last int) {
	if last != first {
		reduceLocks[last].Unlock()
	}
	reduceLocks[first].Unlock()
}
