//go:build amd64 && !purego

package asm

import "math/bits"

// A streamSet is the kernels for 1, 2, 4 and, but for AVX2, 6 and 8 rows of A, and some along K for 16: two panels.
type streamSet []func(c *streamCall)

// of returns the index of the kernel that multiplies m rows.
func (streamSet) of(m int) int {
	n := bits.Len(uint(m - 1))
	if m > 6 {
		n++
	}
	return n
}

// A streamShape is what the stream kernels of an instruction set have in common.
type streamShape struct {
	sum    Type // of sums, and of words of A
	mr, nr int
	vec    int   // columns of a vector: of a slot, along
	masks  bool  // across takes any number of columns, otherwise whole vectors
	slots  []int // along, by kernel
	widths []int // columns of panels, by kernel
	deep   []int // columns that across, by kernel, takes down K without another call, or nil
}

// A streamReach is how many rows of K across takes at a time, and how many bytes ahead it prefetches in each.
type streamReach struct{ rows, ahead int }

// The reach for rows of K, for those that lie whole pages apart, and for these with one or two rows of A. A cache of
// 12 ways keeps few lines of rows that are whole pages apart, and the processor follows 16 streams. GB/s of 32 MB of
// bf16 in pairs on a Zen 5, one row of A: rows of 8 KB 34 with 16 rows and 512 bytes, 37 with 8 and 2048, 43 with 4
// and 2048; rows of 10 KB 40, 37, 33, and with 16 and 1024 43.
var (
	reachPairs = [3]streamReach{{16, 1024}, {16, 512}, {4, 2048}}
	// Rows of fp8 are half as long, and sums are added to once for the rows of a call. Zen 4, 4096 x 4096 in pages of
	// 4 KB: with 1 row of A 14.9 GB/s with 4 rows and 2048 bytes, 18.5 with 8 and 2048, 20.3 with 16 and 1024; with 8
	// rows of A 8.1 with 16 and 512, 8.7 with 32 and 1024.
	reachPairs8 = [3]streamReach{{16, 1024}, {32, 1024}, {16, 1024}}
	reachWords  = [3]streamReach{{16, 1024}, {8, 2048}, {8, 2048}}
	reach256    = [3]streamReach{{8, 2048}, {8, 2048}, {8, 2048}}
)

// The reach of the kernels that prefetch to the second-level cache, for 1, 2, up to 4, up to 6 and up to 8 rows of A,
// wherever rows of K lie, measured on Zen 4.
var (
	reachFar      = [5]streamReach{{8, 2048}, {8, 2048}, {16, 1024}, {32, 1024}, {32, 1024}}
	reachFarPairs = [5]streamReach{{8, 2048}, {8, 2048}, {32, 1024}, {48, 1024}, {32, 1024}}
)

// A streamTuning is what the kernels for few rows know of the processor. What else differs between processors is in
// package plan.
type streamTuning struct {
	// B is prefetched to the second-level cache, where a first-level one of 8 ways would not keep it. Those of Intel
	// and Zen 5 have 12: Intel's take 3 to 23 % longer so along K if B comes from further away, and on a Zen 5 ten
	// products of 1 to 16 rows make 0.93 (float32) and 1.00 (bf16).
	far bool
	// The reach of kernels of floats with AVX-512. On an Emerald Rapids eight rows of float32 by 4096 x 4096 make 45
	// GFLOP/s on one core, and 450 on 16, with that of its row, and 43 and 380 with the others'.
	words [3]streamReach
	// Columns of few bytes are read best a few rows ahead, and down K in one call if the accumulators stay in
	// registers: on 16 workers of an Emerald Rapids 1, 4 and 8 rows of float32 by 4096 x 4096 read B at 156, 139 and
	// 103 GB/s so, and at 147, 116 and 102 otherwise.
	thin bool
}

var (
	streamTunings = map[string]streamTuning{
		"zen3":  {far: true, words: reachWords},
		"zen4":  {far: true, words: reachWords},
		"zen5":  {words: reachWords},
		"intel": {words: [3]streamReach{{32, 256}, {32, 256}, {8, 2048}}, thin: true},
		"other": {words: reachWords},
	}
	streamTuned = streamTunings[Processor()]
)

// A streamKernel is the stream kernels of a type.
type streamKernel struct {
	*streamShape
	size, kpack           int
	sums                  int // elements of K in a block of sums
	across, along, panels streamSet
	reach                 *[3]streamReach // of across
	far                   *farStream      // see farther, or nil
	block                 int             // along: bytes of a block of a row
	pack                  PackFunc        // of panels, from rows along K
	table                 *table8         // of fp8
	narrow                streamSet       // for stored panels, if they are not what panels takes
	vector                VectorFunc      // along: see isVector
}

// farStream is what streamKernel has for processors on which B is prefetched to the second-level cache: along
// and panels may be nil.
type farStream struct {
	across, along, panels streamSet
	reach                 *[5]streamReach
	lag                   int // of along
}

// farther returns the kernels that prefetch B to the second-level cache if the processor wants them and s has some, and
// nil otherwise.
func (s *streamKernel) farther() *farStream {
	if !streamTuned.far {
		return nil
	}
	return s.far
}

// farAlong returns those for rows along K, or nil.
func (s *streamKernel) farAlong() streamSet {
	if far := s.farther(); far != nil {
		return far.along
	}
	return nil
}

// lag returns the bytes that one slot is behind another along K.
func (s *streamKernel) lag() int {
	if s.farAlong() != nil {
		return s.far.lag
	}
	return streamLag
}

var (
	stream512 = streamShape{sum: F32, mr: 8, nr: 32, vec: 16, masks: true,
		slots: []int{2, 2, 2, 1, 1, 1}, widths: []int{128, 128, 64, 32, 32}, deep: []int{64, 64, 64, 32, 32}}
	stream256 = streamShape{sum: F32, mr: avx2MR, nr: avx2NR, vec: avx2Vector,
		slots: []int{4, 4, 2}, widths: []int{avx2NR, avx2NR, avx2NR}}
	stream512F64 = streamShape{sum: F64, mr: 8, nr: 16, vec: 8, masks: true,
		slots: stream512.slots, widths: []int{64, 64, 32, 16, 16}, deep: []int{32, 32, 32, 16, 16}}
	stream256F64 = streamShape{sum: F64, mr: avx2MR, nr: avx2NR / 2, vec: avx2Vector / 2,
		slots: stream256.slots, widths: []int{avx2NR / 2, avx2NR / 2, avx2NR / 2}}

	streamPairs = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 2, kpack: 2, block: 64,
		pack: packAlong512Pairsx32, reach: &reachPairs,
		across: streamSet{streamAcross512Pairsx1, streamAcross512Pairsx2, streamAcross512Pairsx4,
			streamAcross512Pairsx6, streamAcross512Pairsx8},
		along: streamSet{streamAlong512Pairsx1, streamAlong512Pairsx2, streamAlong512Pairsx4,
			streamAlong512Pairsx6, streamAlong512Pairsx8, streamAlong512Pairsx16},
		panels: streamSet{streamPanels512Pairsx1, streamPanels512Pairsx2, streamPanels512Pairsx4,
			streamPanels512Pairsx6, streamPanels512Pairsx8},
		far: &farStream{reach: &reachFarPairs,
			across: streamSet{streamAcrossFar512Pairsx1, streamAcrossFar512Pairsx2, streamAcrossFar512Pairsx4,
				streamAcrossFar512Pairsx6, streamAcrossFar512Pairsx8},
			along: streamSet{streamAlongFar512Pairsx1, streamAlongFar512Pairsx2, streamAlongFar512Pairsx4,
				streamAlongFar512Pairsx6, streamAlongFar512Pairsx8, streamAlongFar512Pairsx16},
			panels: streamSet{streamPanelsFar512Pairsx1, streamPanelsFar512Pairsx2, streamPanelsFar512Pairsx4,
				streamPanelsFar512Pairsx6, streamPanelsFar512Pairsx8}}}
	streamWords = streamKernel{streamShape: &stream512, sums: F32.Block(), size: 4, kpack: 1, block: 64,
		pack: packAlong512Wordsx32, reach: &streamTuned.words,
		across: streamSet{streamAcross512Wordsx1, streamAcross512Wordsx2, streamAcross512Wordsx4,
			streamAcross512Wordsx6, streamAcross512Wordsx8},
		along: streamSet{streamAlong512Wordsx1, streamAlong512Wordsx2, streamAlong512Wordsx4,
			streamAlong512Wordsx6, streamAlong512Wordsx8, streamAlong512Wordsx16},
		panels: streamSet{streamPanels512Wordsx1, streamPanels512Wordsx2, streamPanels512Wordsx4,
			streamPanels512Wordsx6, streamPanels512Wordsx8},
		vector: vector512,
		far: &farStream{reach: &reachFar,
			across: streamSet{streamAcrossFar512Wordsx1, streamAcrossFar512Wordsx2, streamAcrossFar512Wordsx4,
				streamAcrossFar512Wordsx6, streamAcrossFar512Wordsx8},
			along: streamSet{nil, streamAlongFar512Wordsx2, streamAlongFar512Wordsx4,
				streamAlongFar512Wordsx6, streamAlongFar512Wordsx8, streamAlongFar512Wordsx16},
			panels: streamSet{streamPanelsFar512Wordsx1, streamPanelsFar512Wordsx2, streamPanelsFar512Wordsx4,
				streamPanelsFar512Wordsx6, streamPanelsFar512Wordsx8}}}
	streamDoubles = streamKernel{streamShape: &stream512F64, sums: F64.Block(), size: 8, kpack: 1, block: 64,
		pack: packAlong512Doublesx16, reach: &streamTuned.words,
		across: streamSet{streamAcross512Doublesx1, streamAcross512Doublesx2, streamAcross512Doublesx4,
			streamAcross512Doublesx6, streamAcross512Doublesx8},
		along: streamSet{streamAlong512Doublesx1, streamAlong512Doublesx2, streamAlong512Doublesx4,
			streamAlong512Doublesx6, streamAlong512Doublesx8, streamAlong512Doublesx16},
		panels: streamSet{streamPanels512Doublesx1, streamPanels512Doublesx2, streamPanels512Doublesx4,
			streamPanels512Doublesx6, streamPanels512Doublesx8},
		vector: vector512F64,
		far: &farStream{reach: &reachFar,
			across: streamSet{streamAcrossFar512Doublesx1, streamAcrossFar512Doublesx2, streamAcrossFar512Doublesx4,
				streamAcrossFar512Doublesx6, streamAcrossFar512Doublesx8},
			along: streamSet{nil, streamAlongFar512Doublesx2, streamAlongFar512Doublesx4,
				streamAlongFar512Doublesx6, streamAlongFar512Doublesx8, streamAlongFar512Doublesx16},
			panels: streamSet{streamPanelsFar512Doublesx1, streamPanelsFar512Doublesx2, streamPanelsFar512Doublesx4,
				streamPanelsFar512Doublesx6, streamPanelsFar512Doublesx8}}}
	streamBF16 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 2, kpack: 1, block: 32,
		pack: packAlong512BF16x32, reach: &streamTuned.words,
		across: streamSet{streamAcross512BF16x1, streamAcross512BF16x2, streamAcross512BF16x4,
			streamAcross512BF16x6, streamAcross512BF16x8},
		along: streamSet{streamAlong512BF16x1, streamAlong512BF16x2, streamAlong512BF16x4,
			streamAlong512BF16x6, streamAlong512BF16x8},
		panels: streamWords.panels,
		narrow: streamSet{streamPanels512BF16x1, streamPanels512BF16x2, streamPanels512BF16x4,
			streamPanels512BF16x6, streamPanels512BF16x8},
		far: &farStream{reach: &reachFar,
			across: streamSet{streamAcrossFar512BF16x1, streamAcrossFar512BF16x2, streamAcrossFar512BF16x4,
				streamAcrossFar512BF16x6, streamAcrossFar512BF16x8},
			panels: streamSet{streamPanelsFar512BF16x1, streamPanelsFar512BF16x2, streamPanelsFar512BF16x4,
				streamPanelsFar512BF16x6, streamPanelsFar512BF16x8}}}
	streamF16 = streamKernel{streamShape: &stream512, sums: F16.Block(), size: 2, kpack: 1, block: 32,
		pack: packAlong512F16x32, reach: &streamTuned.words,
		across: streamSet{streamAcross512F16x1, streamAcross512F16x2, streamAcross512F16x4,
			streamAcross512F16x6, streamAcross512F16x8},
		along: streamSet{streamAlong512F16x1, streamAlong512F16x2, streamAlong512F16x4,
			streamAlong512F16x6, streamAlong512F16x8},
		panels: streamWords.panels,
		narrow: streamSet{streamPanels512F16x1, streamPanels512F16x2, streamPanels512F16x4,
			streamPanels512F16x6, streamPanels512F16x8},
		far: &farStream{reach: &reachFar,
			across: streamSet{streamAcrossFar512F16x1, streamAcrossFar512F16x2, streamAcrossFar512F16x4,
				streamAcrossFar512F16x6, streamAcrossFar512F16x8},
			panels: streamSet{streamPanelsFar512F16x1, streamPanelsFar512F16x2, streamPanelsFar512F16x4,
				streamPanelsFar512F16x6, streamPanelsFar512F16x8}}}

	streamPairs8 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 1, kpack: 2, block: 64,
		reach: &reachPairs8,
		across: streamSet{streamAcross512Pairs8x1, streamAcross512Pairs8x2, streamAcross512Pairs8x4,
			streamAcross512Pairs8x6, streamAcross512Pairs8x8},
		along: streamSet{streamAlong512Pairs8x1, streamAlong512Pairs8x2, streamAlong512Pairs8x4,
			streamAlong512Pairs8x6, streamAlong512Pairs8x8},
		panels: streamPairs.panels,
		narrow: streamSet{streamPanels512Pairs8x1, streamPanels512Pairs8x2, streamPanels512Pairs8x4,
			streamPanels512Pairs8x6, streamPanels512Pairs8x8}}
	streamWords8 = streamKernel{streamShape: &stream512, sums: BF16.Block(), size: 1, kpack: 1, block: 64,
		reach: &streamTuned.words,
		across: streamSet{streamAcross512Words8x1, streamAcross512Words8x2, streamAcross512Words8x4,
			streamAcross512Words8x6, streamAcross512Words8x8},
		along: streamSet{streamAlong512Words8x1, streamAlong512Words8x2, streamAlong512Words8x4,
			streamAlong512Words8x6, streamAlong512Words8x8},
		panels: streamWords.panels,
		narrow: streamSet{streamPanels512Words8x1, streamPanels512Words8x2, streamPanels512Words8x4,
			streamPanels512Words8x6, streamPanels512Words8x8}}

	stream256Words = streamKernel{streamShape: &stream256, sums: F32.Block(), size: 4, kpack: 1, block: 64,
		pack: transposing256(F32, avx2NR, groupsAlongWords), reach: &reach256,
		across: streamSet{streamAcross256Wordsx1, streamAcross256Wordsx2, streamAcross256Wordsx4},
		along:  streamSet{streamAlong256Wordsx1, streamAlong256Wordsx2, streamAlong256Wordsx4},
		panels: streamSet{streamPanels256Wordsx1, streamPanels256Wordsx2, streamPanels256Wordsx4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			across: streamSet{streamAcrossFar256Wordsx1, streamAcrossFar256Wordsx2, streamAcrossFar256Wordsx4},
			along:  streamSet{streamAlongFar256Wordsx1, streamAlongFar256Wordsx2, streamAlongFar256Wordsx4}}}
	stream256Doubles = streamKernel{streamShape: &stream256F64, sums: F64.Block(), size: 8, kpack: 1, block: 64,
		pack: transposing256(F64, avx2NR/2, groupsAlongDoubles), reach: &reach256,
		across: streamSet{streamAcross256Doublesx1, streamAcross256Doublesx2, streamAcross256Doublesx4},
		along:  streamSet{streamAlong256Doublesx1, streamAlong256Doublesx2, streamAlong256Doublesx4},
		panels: streamSet{streamPanels256Doublesx1, streamPanels256Doublesx2, streamPanels256Doublesx4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			across: streamSet{streamAcrossFar256Doublesx1, streamAcrossFar256Doublesx2, streamAcrossFar256Doublesx4},
			along:  streamSet{streamAlongFar256Doublesx1, streamAlongFar256Doublesx2, streamAlongFar256Doublesx4}}}
	stream256BF16 = streamKernel{streamShape: &stream256, sums: BF16.Block(), size: 2, kpack: 1, block: 64,
		pack: transposing256(BF16, avx2NR, groupsAlongBF16), reach: &reach256,
		across: streamSet{streamAcross256BF16x1, streamAcross256BF16x2, streamAcross256BF16x4},
		along:  streamSet{streamAlong256BF16x1, streamAlong256BF16x2, streamAlong256BF16x4},
		panels: stream256Words.panels,
		narrow: streamSet{streamPanels256BF16x1, streamPanels256BF16x2, streamPanels256BF16x4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			across: streamSet{streamAcrossFar256BF16x1, streamAcrossFar256BF16x2, streamAcrossFar256BF16x4},
			along:  streamSet{streamAlongFar256BF16x1, streamAlongFar256BF16x2, streamAlongFar256BF16x4}}}
	stream256F16 = streamKernel{streamShape: &stream256, sums: F16.Block(), size: 2, kpack: 1, block: 64,
		pack: transposing256(F16, avx2NR, groupsAlongF16), reach: &reach256,
		across: streamSet{streamAcross256F16x1, streamAcross256F16x2, streamAcross256F16x4},
		along:  streamSet{streamAlong256F16x1, streamAlong256F16x2, streamAlong256F16x4},
		panels: stream256Words.panels,
		narrow: streamSet{streamPanels256F16x1, streamPanels256F16x2, streamPanels256F16x4},
		far: &farStream{reach: &reachFar, lag: streamLag,
			across: streamSet{streamAcrossFar256F16x1, streamAcrossFar256F16x2, streamAcrossFar256F16x4},
			along:  streamSet{streamAlongFar256F16x1, streamAlongFar256F16x2, streamAlongFar256F16x4}}}
)

// roles returns what s does for a kernel.
func (s *streamKernel) roles() streamFuncs {
	rows := [2]int{s.mr, s.mr}
	if len(s.along) > len(s.across) {
		rows[packSlot(true)] = 2 * s.mr
	}
	return streamFuncs{by: [2]StreamFunc{s.readAcross, s.readAlong}, rows: rows, panels: s.readPanels, width: s.wide}
}
