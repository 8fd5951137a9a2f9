package gemm

import (
	"example.com/leafhopper/asm"
)

// A problem is all that decisions know of a product: sizes, types, how the operands lie and who may
// share it, but not where they are. Problems that are equal are computed alike.
type problem struct {
	m, n, k                int
	kernel                 *asm.Kernel
	on                     *tuning  // of the kernel, on a machine
	elem                   asm.Type // whose arithmetic it is: that of A and B, or of the wider if the other is fp8
	elemA, elemB, out      asm.Type // of A, B and C
	pitchA, pitchB, pitchC int      // bytes from one row of memory to the next
	transA, transC         bool
	formB                  form
	lineA, lineB           uint8 // bytes of a cache line before the first element
	plain                  bool  // alpha is 1, beta 0 and C the sums
	part                   int   // elements of K in a part, if Hopper's arithmetic splits or promotes it
	workers                int   // goroutines that may compute
	procs                  int   // of which so many run at once
	waits                  bool  // a context may end it
	asked                  asked // of a ring, by the caller
}

// asked is the shape of a ring that a caller names; zeros are left to the engine.
type asked struct {
	depth, m, n, k int
	any            bool // it is to be a ring
}

// A form is how B lies in memory.
type form uint8

const (
	inRows   form = iota // rows of K
	alongK               // its columns lie along K
	inPanels             // it is packed
	forms
)

// hash returns a number that problems have which are equal, and few others. A small product notices multiplications
// that wait for each other.
func (q *problem) hash() uint {
	h := uint(q.m)*0x9e3779b1 + uint(q.n)*0x85ebca6b + uint(q.k)*0xc2b2ae35 +
		uint(q.workers)*0x27d4eb2f + uint(q.elem)*0x165667b1 + uint(q.formB)*0x61c88647
	return h>>20 ^ h>>9
}

// words returns the depth in words of the kernel's panels of n elements of K.
func (q *problem) words(n int) int { return q.kernel.Words(q.elem, n) }

const (
	stageWords = 256      // words of K in a panel, if that leaves a panel of B in panelBytes
	panelBytes = 32 << 10 // bytes of a panel of B, at most
	// splitUnit is what the parts of a split K are multiples of: the depth of a
	// stage of cuBLAS's kernels, and of the steps of every kernel here.
	splitUnit = 64
	// promotionUnit is the same for parts of elements: no step of a kernel crosses it.
	promotionUnit = 32
)

// chainK returns the elements of K that are summed in a chain, before the sums are added up.
func (q *problem) chainK() int {
	switch {
	case q.kernel.Arithmetic == asm.Native:
		return q.elem.Block()
	case q.part > 0:
		return q.part
	}
	return q.k
}

// stageK returns the elements of K that a panel of B holds at most.
func (q *problem) stageK() int {
	switch {
	case q.formB == inPanels:
		return min(stageElements(q.kernel, q.elemB), q.chainK())
	case q.kernel.Arithmetic == asm.Native || q.part > 0:
		return q.chainK()
	}
	return stageDepth(q.kernel, q.kernel.KStep(q.elem)) * q.kernel.KPack
}

// stageElements returns the elements of K in a stage of a packed B. In Hopper's
// arithmetic K can then be split wherever cuBLAS splits it.
func stageElements(k *asm.Kernel, t asm.Type) int {
	if k.Arithmetic == asm.Hopper {
		return splitUnit
	}
	return t.Block()
}

// stageDepth returns the words of K in a stage, a multiple of step.
func stageDepth(k *asm.Kernel, step int) int {
	return max(step, min(stageWords, panelBytes*step/k.PanelB(step))/step*step)
}

// flops returns the floating-point operations of the product.
func (q *problem) flops() float64 { return 2 * float64(q.m) * float64(q.n) * float64(q.k) }

// counted returns the flops as which the product counts there. Rows for which workers would wait for B are more.
func (q *problem) counted(c crowd) float64 {
	rows := max(q.m+q.on.fetchRows, q.on.leastRows[c][q.formB])
	return 2 * float64(rows) * float64(q.n) * float64(q.k)
}

// flopsOf returns the same of n elements of K of some rows and columns.
func flopsOf(rows, cols, n int) int { return 2 * rows * cols * n }

// sizeB returns the bytes of B's elements.
func (q *problem) sizeB() int { return q.n * q.k * q.elemB.Size() }

// atOnce returns how many workers run at once.
func (q *problem) atOnce() int { return min(q.workers, q.procs) }

// direct reports whether accumulators are C's elements as they are, rounds whether those are that the
// kernel has rounded.
func (q *problem) direct() bool { return q.out == asm.F32 && q.asSummed() }
func (q *problem) rounds() bool { return q.kernel.Stores(q.out) != 0 && q.asSummed() }

// asSummed reports whether C has the sums as its elements, and as they are summed row by row.
func (q *problem) asSummed() bool { return q.plain && !q.transC }

// ready reports whether B's panels are what the kernel multiplies, narrow whether they are packed but have
// to be widened.
func (q *problem) ready() bool  { return q.formB == inPanels && !q.kernel.Narrow(q.elemB) }
func (q *problem) narrow() bool { return q.formB == inPanels && q.kernel.Narrow(q.elemB) }

// readsA reports whether the kernel reads A where it lies: in rows as it wants them. What K lacks to a
// whole tile would have to be padded again for every panel of B.
func (q *problem) readsA() bool {
	k := q.kernel
	return k.InRows(q.elemA) && !q.transA && q.words(q.k)*k.KPack == q.k && (uintptr(q.lineA)|uintptr(q.pitchA))&(k.RowsAlign()-1) == 0
}

// pastBytes are the least bytes of a C to be stored past caches of unknown or smaller size.
const pastBytes = 32 << 20

// exceeds reports whether C is larger than the caches where workers that each store a part of it would find it again.
func (q *problem) exceeds(workers int) bool {
	cached := max(q.on.l3, pastBytes)
	if q.on.ownC {
		cached = q.on.l2 * workers
	}
	return float64(q.m)*float64(q.pitchC) > float64(cached)
}

// streams reports whether kernels stream B, where it lies in blocks of K of the product's.
func (q *problem) streams() bool {
	return q.kernel.StreamRows(q.elemB) > 0 && (q.formB == inPanels || q.elemB.Block() == q.elem.Block())
}

// held reports whether B takes no more than a part of the second-level caches of so many workers.
func (q *problem) held(workers int, part float64) bool {
	return float64(q.sizeB()) <= part*float64(workers*q.on.l2)
}

// fewWorkers are the most that are a few.
const fewWorkers = 4

// widePanels are the panels of B for each of many workers from which they are wide.
const widePanels = 8

// A crowd is how many workers share a product, as far as that decides anything.
type crowd uint8

const (
	one  crowd = iota // the caller
	two               // who hardly wait for each other
	few               // three or four
	many              // more, of which the slowest would keep the others waiting
	wide              // so many, and each has many columns
	crowds
)

// crowd returns what workers are.
func (q *problem) crowd(workers int) crowd {
	switch {
	case workers <= 2:
		return crowd(workers - 1)
	case workers <= fewWorkers:
		return few
	case ceilDiv(q.n, q.kernel.NR) >= widePanels*workers:
		return wide
	}
	return many
}

// balance returns the size of the parts when n is cut into as few nearly equal
// parts as have at most limit.
func balance(n, limit int) int { return ceilDiv(n, ceilDiv(n, limit)) }

func ceilDiv(n, d int) int { return (n + d - 1) / d }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
