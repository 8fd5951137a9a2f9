package plan

import "example.com/leafhopper/asm"

// A Problem is all that decisions know of a product: sizes, types, how the operands lie and who may
// share it, but not where they are. Problems that are equal are computed alike.
type Problem struct {
	M, N, K                int
	Kernel                 *asm.Kernel
	On                     *Tuning // of the kernel, on a machine
	PitchA, PitchB, PitchC int     // bytes from one row of memory to the next
	Part                   int     // elements of K in a part, if Hopper's arithmetic splits or promotes it
	Workers                int     // goroutines that may compute
	Procs                  int     // of which so many run at once
	Asked                  Asked   // of a ring

	Elem              asm.Type // whose arithmetic it is: that of A and B, or of the wider if the other is fp8
	ElemA, ElemB, Out asm.Type // of A, B and C
	TransA, TransC    bool
	FormB             Form
	LineA             uint8 // bytes of a cache line before A's first element
	Plain             bool  // alpha is 1, beta 0 and C the sums, of one chain if there are parts of K
	Waits             bool  // a context may end it
}

// Asked is the shape of a ring that a caller names; zeros are left to the engine.
type Asked struct {
	Depth, M, N, K int
	Any            bool // it is to be a ring: the caller names something of it, or parts of K need one
}

// Hash returns a number that problems have which are equal, and few others. A small product notices multiplications
// that wait for each other.
func (q *Problem) Hash() uint {
	h := uint(q.M)*0x9e3779b1 + uint(q.N)*0x85ebca6b + uint(q.K)*0xc2b2ae35 +
		uint(q.Workers)*0x27d4eb2f + uint(q.Elem)*0x165667b1 + uint(q.FormB)*0x61c88647
	// What calls differ in that take turns with the same sizes: parts of a matrix, types of C.
	h += uint(q.PitchA)*0x7feb352d + uint(q.PitchB)*0x846ca68b + uint(q.PitchC)*0x9e6c63d1 + uint(q.LineA)*0x2c1b3c6d
	return h>>20 ^ h>>9
}

// Equal reports whether q is p. A small product notices that == loads vectors, which wait for the words, and words,
// which wait for the bytes, that have just been stored in a problem.
func (q *Problem) Equal(p *Problem) bool {
	sizes := (q.M ^ p.M) | (q.N ^ p.N) | (q.K ^ p.K) | (q.Part ^ p.Part) | (q.Workers ^ p.Workers) | (q.Procs ^ p.Procs)
	pitches := (q.PitchA ^ p.PitchA) | (q.PitchB ^ p.PitchB) | (q.PitchC ^ p.PitchC) | int(q.LineA^p.LineA)
	is, was := &q.Asked, &p.Asked
	asked := (is.Depth ^ was.Depth) | (is.M ^ was.M) | (is.N ^ was.N) | (is.K ^ was.K)
	types := int(q.ElemA^p.ElemA) | int(q.ElemB^p.ElemB) | int(q.Out^p.Out) | int(q.FormB^p.FormB)
	return sizes|pitches|asked|types == 0 && q.On == p.On && // and so Kernel, Elem and Asked.Any are the same
		q.TransA == p.TransA && q.TransC == p.TransC && q.Plain == p.Plain && q.Waits == p.Waits
}

// Words returns the depth in words of the kernel's panels of n elements of K.
func (q *Problem) Words(n int) int { return q.Kernel.Words(q.Elem, n) }

const (
	StageWords = 256      // words of K in a panel, if that leaves a panel of B in panelBytes
	panelBytes = 32 << 10 // bytes of a panel of B, at most
	// SplitUnit is what the parts of a split K are multiples of: the depth of a stage of cuBLAS's kernels, and of the
	// steps of every kernel here.
	SplitUnit = 64
	// PromotionUnit is the same for parts of elements: no step of a kernel crosses it.
	PromotionUnit = 32
)

// ChainK returns the elements of K that are summed in a chain, before the sums are added up.
func (q *Problem) ChainK() int {
	switch {
	case q.Kernel.Arithmetic == asm.Native:
		return q.Elem.Block()
	case q.Part > 0:
		return q.Part
	}
	return q.K
}

// StageK returns the elements of K that a panel of B holds at most.
func (q *Problem) StageK() int {
	switch {
	case q.FormB == InPanels:
		return min(StageElements(q.Kernel, q.ElemB), q.ChainK())
	case q.Kernel.Arithmetic == asm.Native || q.Part > 0:
		return q.ChainK()
	}
	return q.panelWords() * q.Kernel.KPack
}

// StageElements returns the elements of K in a stage of a packed B. In Hopper's
// arithmetic K can then be split wherever cuBLAS splits it.
func StageElements(k *asm.Kernel, t asm.Type) int {
	if k.Arithmetic == asm.Hopper {
		return SplitUnit
	}
	return t.Block()
}

// panelWords returns the words of K that a panel of B holds at most, unless it is packed or a block: whole steps.
func (q *Problem) panelWords() int {
	step := q.Kernel.KStep(q.Elem)
	return max(step, min(StageWords, panelBytes*step/q.Kernel.PanelB(step))/step*step)
}

// cutSteps returns how many steps of depth elements a unit of K has, which none of them crosses, and how many all of K.
func (q *Problem) cutSteps(unit, depth int) (each, steps int) {
	before := (q.K - 1) / unit
	each = CeilDiv(unit, depth)
	return each, before*each + CeilDiv(q.K-before*unit, depth)
}

// stepOf returns the first of k elements of K of such a step, and how many it has.
func stepOf(step, each, unit, depth, k int) (first, n int) {
	first = step/each*unit + step%each*depth
	return first, min(depth, (step/each+1)*unit-first, k-first)
}

// Flops returns the floating-point operations of the product, of which an int of 32 bits may not count so many.
func (q *Problem) Flops() float64 { return 2 * float64(q.M) * float64(q.N) * float64(q.K) }

// counted returns the flops as which the product counts for such a crowd: those of more rows if it would wait for B.
func (q *Problem) counted(c Crowd) float64 {
	rows := q.M + q.On.FetchRows
	if c >= several {
		rows = max(rows, q.On.leastRows[q.FormB])
	}
	return 2 * float64(rows) * float64(q.N) * float64(q.K)
}

// FlopsOf returns the flops of n elements of K of some rows and columns.
func FlopsOf(rows, cols, n int) int { return 2 * rows * cols * n }

// sizeB returns the bytes of B's elements.
func (q *Problem) sizeB() int { return q.N * q.K * q.ElemB.Size() }

// AtOnce returns how many workers run at once.
func (q *Problem) AtOnce() int { return min(q.Workers, q.Procs) }

// Direct reports whether sums, as they are summed row by row, are the elements of C, Rounds whether they are once the
// kernel has rounded them.
func (q *Problem) Direct() bool { return q.Out == q.Kernel.Sum && q.Plain && !q.TransC }
func (q *Problem) Rounds() bool { return q.Kernel.Stores(q.Out) != 0 && q.Plain && !q.TransC }

// Ready reports whether B's panels are what the kernel multiplies, narrow whether they are packed but have
// to be widened.
func (q *Problem) Ready() bool  { return q.FormB == InPanels && !q.Kernel.Narrow(q.ElemB) }
func (q *Problem) narrow() bool { return q.FormB == InPanels && q.Kernel.Narrow(q.ElemB) }

// readsA reports whether the kernel reads A where it lies: in rows as it wants them. What K lacks to a
// whole tile would have to be padded again for every panel of B.
func (q *Problem) readsA() bool {
	k := q.Kernel
	return k.InRows(q.ElemA) && !q.TransA && q.Words(q.K)*k.KPack == q.K &&
		(uintptr(q.LineA)|uintptr(q.PitchA))&(k.RowsAlign()-1) == 0
}

// pastBytes are the least bytes of a C to be stored past caches of unknown or smaller size.
const pastBytes = 32 << 20

// exceeds reports whether C fills the caches where workers that each store a part of it would find it again: beside A
// and B it has no room there.
func (q *Problem) exceeds(workers int) bool {
	cached := max(q.On.l3, pastBytes)
	if q.On.ownC {
		cached = q.On.l2 * workers
	}
	return float64(q.M)*float64(q.PitchC) >= float64(cached)
}

// streams reports whether kernels stream B: from panels, or from where it lies if its blocks of K are the product's.
func (q *Problem) streams() bool {
	rows := q.Kernel.StreamRows(q.ElemB, q.FormB == AlongK)
	if q.ElemB.Size() == 1 && !q.On.vbmi {
		return false
	}
	return q.FormB == InPanels && rows > 0 || q.M <= rows && q.ElemB.Block() == q.Elem.Block()
}

// held reports whether B takes no more than a part of the second-level caches of so many workers.
func (q *Problem) held(workers int, part float64) bool {
	return float64(q.sizeB()) <= part*float64(workers*q.On.l2)
}

// severalWorkers are the most that are several.
const severalWorkers = 4

// CrowdOf returns what workers are.
func CrowdOf(workers int) Crowd {
	switch {
	case workers <= 2:
		return Crowd(workers - 1)
	case workers <= severalWorkers:
		return several
	}
	return Many
}

// balance returns the size of the parts when n is cut into as few nearly equal parts as have at most limit.
func balance(n, limit int) int { return CeilDiv(n, CeilDiv(n, limit)) }

// CeilDiv returns n/d, rounded up.
func CeilDiv(n, d int) int { return (n + d - 1) / d }

// RoundUp returns n, rounded up to a multiple.
func RoundUp(n, to int) int { return (n + to - 1) / to * to }
