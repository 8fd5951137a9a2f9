package tile

import (
	"sync"
	"unsafe"

	"example.com/leafhopper/internal/enum"
)

// ReduceOp is the operation of a [Reduce], [ReduceBulk] or [ReduceShared].
type ReduceOp uint8

// The operations, for these types. A star marks what [ReduceShared] has too, a
// T what needs a tensor map and a B what [ReduceBulk] alone has:
//
//	ReduceAdd                      Uint32* Int32* Uint64* Float16 BFloat16 Float32 Float64
//	                               Float32FTZ(T) TFloat32(T) TFloat32FTZ(T)
//	ReduceMin, ReduceMax           Uint32* Int32* Uint64 Int64 Float16 BFloat16
//	ReduceInc, ReduceDec           Uint32*
//	ReduceAnd, ReduceOr, ReduceXor Uint32* Int32* Uint64 Int64(B)
//
// An H200 has exactly these: it raises an illegal instruction for any other
// tensor map, and the assembler refuses any other bulk reduction.
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
func (op ReduceOp) String() string { return enum.Name("ReduceOp", reduceNames[:], op) }

// Reduce combines a box of shared memory at offset with the box at coord of the
// tensor, element by element, and leaves the results in the tensor (PTX
// cp.reduce.async.bulk.tensor.global.shared::cta). The type comes from the map;
// op says which are defined. Elements outside are dropped like those of a
// [Store], and the padding behind a row is combined like the row.
//
// Floating-point addition rounds to nearest even; a NaN becomes 0x7fff or, in 32
// bits, 0x7fffffff. Subnormals are kept, those of Float32 too (PTX has them
// flushed, the H200 does not), except that the FTZ types flush operands and
// results to zeros of their sign. The TF32 types add like Float32, rounding
// nothing to tf32. Float64 hands on the NaN of shared memory or else that of the
// tensor as it is, and infinity less infinity is 0xfff8000000000000. Minimum and
// maximum of a number and a NaN are the number, and -0 is less than +0.
//
// Each element is combined atomically with respect to other reductions, through
// whichever map or in bulk, but not to loads, stores and plain accesses.
//
// Reduce reports an error, and changes nothing, under the conditions of Store
// and for an op that the type does not have.
func Reduce(m *TensorMap, op ReduceOp, coord []int32, src *Shared, offset int) error {
	combine, err := checkReduce(m, op, coord, src, offset)
	if err != nil {
		return err
	}
	m.reduce(coord, src.mem, offset, combine)
	return nil
}

func checkReduce(m *TensorMap, op ReduceOp, coord []int32, src *Shared, offset int) (combiner, error) {
	if err := m.checkWrite("reduce", coord); err != nil {
		return nil, err
	}
	combine, err := pickCombiner("reduce", op, m.cfg.DataType, inTensor)
	if err != nil {
		return nil, err
	}
	return combine, src.checkTile("reduce", "source", m, offset)
}

// pickCombiner returns the combiner of op for a type in a place, which verb is the reduction of.
func pickCombiner(verb string, op ReduceOp, typ DataType, at place) (combiner, error) {
	if int(op) < len(combiners) && typ.valid() {
		if c := combiners[op][typ]; c.at&at != 0 {
			return c.combine, nil
		}
	}
	return nil, misuse(RuleMap, "%s: %v is not defined for %v", verb, op, typ)
}

func (m *TensorMap) reduce(coord []int32, src []byte, offset int, combine combiner) {
	w := m.window(coord)
	n := m.granules(&w)
	m.planes(&w, offset, func(p plane) {
		to, from := p.global, p.shared
		for range p.rows {
			m.reduceRow(m.cfg.Global[to:min(to+n, len(m.cfg.Global))], src, from, combine)
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
	maxLocked   = 2048 // bytes, so that a row touches at most two stripes
)

// reduceLocks make reductions atomic: a row takes the locks of the stretches
// of real memory that it touches, so maps that share memory share locks.
var reduceLocks [stripes]struct {
	sync.Mutex
	_ [56]byte
}

// lockRow locks the memory of row, at most maxLocked bytes and not empty, and returns what
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
