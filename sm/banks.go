package sm

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Banks counts the bank conflicts of a launch: of every line of the kernel that accesses shared memory the requests,
// which are instructions of a warp, and their wavefronts, the cycles of the pipe to shared memory, as Nsight Compute
// calls both. The zero value is ready; a launch that has it in its Config adds to it, and runs slower.
//
// Counted are accesses of an [Array] by Load, Store, Read, Write and atomics, and [Warp.LoadMatrix] and its kin. Copies
// and wgmma are not, nor are accesses of another CTA's shared memory: they go another way.
//
// # Wavefronts
//
// The rule is what an H200 does: recordings of cycles, and of what Nsight Compute counts, follow it in every case
// (banks.txt and banks_ncu.txt in hopper/README.md).
//
// The word of 4 bytes at address a is in bank a/4 % 32. A wavefront brings one word of each bank, to all lanes that
// access it, so that a request of up to 4 bytes a lane takes as many as there are different words in one bank, the
// worst. Of 8 bytes a lane the two halves of a warp come one after the other, of 16 bytes the four quarters. Twice as
// many lanes are loaded together if every two active lanes i and i^1 have the same address, or every two i and i^2.
// Matrices, of 8 rows of 16 bytes, come one after another.
//
// Atomics of 4 bytes, and AtomicExch of 8, are like stores, but lanes that access the same word do so one after
// another; AtomicCAS takes twice as many. AtomicLoad and AtomicStore are a load and a store. Sums of floats, and what
// else is done to 8 bytes, are loops on a GPU, and are not counted.
//
// Of 8 or 16 bytes a request takes 2 or 4 cycles at least, or half of that if lanes are loaded together, also where
// few lanes are active and there are fewer wavefronts.
//
// # Requests
//
// Which accesses are one instruction is a model, since threads come to them here each at its own time. The first of
// each lane of a warp by a call of Load, say, are one request, the second another, and so on, between two operations at
// which all lanes meet: SyncThreads, BarSync, ClusterSync, GridSync, and SyncWarp and exchanges of all lanes. So it is
// as long as lanes do not diverge. Threads of a [Warp] or [Warpgroup] come one after another: an access of a lower lane
// than the last, or after something that they all do, begins the next request. What a Warp or Warpgroup itself loads or
// stores, each of its threads does; of several elements nobody knows which are whose, and they are not counted.
//
// Read and Write of several elements by a thread are as few instructions as there can be, of 1, 2, 4, 8 or 16 bytes at
// multiples of that, such as nvcc makes of a loop over float4. An element is one, or those of its size's largest such
// divisor: of 12 bytes, a float3, three of 4.
//
// For lanes that lag behind up to 1,024 requests of a line are kept. What comes then is not counted, for no lane, until
// all meet: [BankLine.Skipped] says how many requests that are.
type Banks struct {
	mu    sync.Mutex
	lines []*BankLine
}

// A BankLine is what a line of the kernel has taken by one operation on one array, all warps and CTAs together.
type BankLine struct {
	Site  string // "gemm.go:88"
	Op    string // "Store"
	Array string // what the kernel calls it, "sC"

	Requests   int // instructions of a warp
	Wavefronts int // that these took
	Ideal      int // that they would take if the words of each were spread evenly over the 32 banks
	Skipped    int // requests that are not counted, since lanes are too far ahead
}

// Each returns the wavefronts of a request, on average.
func (l BankLine) Each() float64 { return float64(l.Wavefronts) / float64(max(l.Requests, 1)) }

// Best returns what Each would be without conflicts.
func (l BankLine) Best() float64 { return float64(l.Ideal) / float64(max(l.Requests, 1)) }

// Ways returns how many times as many wavefronts it takes as without conflicts: 8 in an 8-way conflict.
func (l BankLine) Ways() float64 { return float64(l.Wavefronts) / float64(max(l.Ideal, 1)) }

// String returns "gemm.go:88 Store of sC: 128 requests, 1024 wavefronts, 8.0 each, 1.0 at best (8-way)".
func (l BankLine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s of %s: %d requests, %d wavefronts, %.1f each, %.1f at best",
		l.Site, l.Op, l.Array, l.Requests, l.Wavefronts, l.Each(), l.Best())
	if l.Wavefronts > l.Ideal {
		fmt.Fprintf(&b, " (%s-way)", strings.TrimSuffix(fmt.Sprintf("%.1f", l.Ways()), ".0"))
	}
	if l.Skipped > 0 {
		fmt.Fprintf(&b, "; %d requests not counted", l.Skipped)
	}
	return b.String()
}

// Lines returns what has been counted, first what loses most wavefronts to conflicts.
func (b *Banks) Lines() []BankLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := make([]BankLine, 0, len(b.lines))
	for _, l := range b.lines {
		lines = append(lines, *l)
	}
	slices.SortFunc(lines, func(x, y BankLine) int {
		return cmp.Or(
			cmp.Compare(y.Wavefronts-y.Ideal, x.Wavefronts-x.Ideal), cmp.Compare(y.Wavefronts, x.Wavefronts),
			cmp.Compare(len(x.Site), len(y.Site)), cmp.Compare(x.Site, y.Site),
			cmp.Compare(x.Op, y.Op), cmp.Compare(x.Array, y.Array),
		)
	})
	return lines
}

// WriteTo writes Lines, one a line.
func (b *Banks) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// String returns what WriteTo writes.
func (b *Banks) String() string {
	var text strings.Builder
	for _, l := range b.Lines() {
		text.WriteString(l.String() + "\n")
	}
	return text.String()
}

// add adds what a warp has counted at a place.
func (b *Banks) add(l BankLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.lines, func(k *BankLine) bool {
		return k.Site == l.Site && k.Op == l.Op && k.Array == l.Array
	})
	if i < 0 {
		i = len(b.lines)
		b.lines = append(b.lines, &BankLine{Site: l.Site, Op: l.Op, Array: l.Array})
	}
	sum := b.lines[i]
	sum.Requests += l.Requests
	sum.Wavefronts += l.Wavefronts
	sum.Ideal += l.Ideal
	sum.Skipped += l.Skipped
}
