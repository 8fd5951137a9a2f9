package plan

// A Tuning is what was measured of a kernel on a machine, and all that decisions know of them beside what a
// kernel can do. Every field names its unit; where a letter is given, gemmbench compare -depth 0 -dtype bf16,f32
// -workers 1,2,4,16 -trans NN,NT measures it, of two builds by turns (bench/peers/README.md) or of one, with
//
//	S  -size 32,64,96,100,128,256,512                                            squares
//	L  -size 1x64x64,4x256x256,8x64x512,8x32x4096,1x32x16384,64x64x8192          little of C, or of B
//	F  -size 1x4096x4096,4x1024x1024,8x4096x4096,16x1024x1024,31x4096x1024,32x4096x4096,128x1024x4096
//	   and the same with -prepacked true                                         few rows
//	R  -size 1000,2048,4096,512x4096x4096                                        what is large
type Tuning struct {
	l2, l3 int  // bytes of the machine's caches
	vbmi   bool // see Machine.VBMI

	// Who shares a product.
	shared    [crowds]float64 // flops up to which to hand over takes longer than it saves (S)
	leastRows [forms]int      // rows as which fewer count where more than two would wait for B (F)
	FetchRows int             // rows that could be multiplied while their B comes from the last cache (F)
	columns   [crowds]limits  // rows up to which workers share out the columns of a large B (F)
	slabs     [crowds]float64 // flops of each worker up to which it fetches what its slabs need; 0: see nearA (R)
	slabsPack [crowds]float64 // the same if it has to pack A for them (R)
	slabsOnce [crowds]int     // panels of B up to which slabs have all columns, for which A is packed once (R)
	nearA     float64         // second-level caches of A, of a block of K, that come to a worker soon enough (R)
	nearB     float64         // the same of B (R)
	nearC     int             // bytes of C that one or two workers find again (R)
	nearFlops float64         // flops up to which they fetch what is read once, or from near caches (R)
	helpFlops int             // flops in the time for which each worker keeps each other waiting (S, -workers 8,16,32)
	slabFlops int             // the same that it takes to claim a slab and to find what it needs (S)
	sumFlops  int             // flops of float32 in the time to write a sum of a block and to add it elsewhere (L)
	ownC      bool            // C outgrows second-level caches, not the last (R)
	panelA    int             // quarters of the time of a tile: to bring a panel of A in rows closer (S)
	panelB    int             // and to bring and pack one of B (S)

	// How few rows are multiplied.
	fewRows     [forms]int  // rows up to which kernels for few are faster than tiles where B stays in a cache (F)
	fewLeast    int         // bytes of a B along K up to which they are not (L)
	fewPanel    int         // bytes of no more than a panel of pairs in rows from which on they are not (L)
	streamed    [forms]int  // rows up to which they take a B in a stream, as it lies or is packed (F)
	turnedSpare int         // rows that may be missing to whole panels where columns of B are read as rows of A (F)
	swept       [crowds]int // rows up to which a kernel packs pieces of B as it multiplies them (F)
	fresh       [forms]int  // words of K in a panel that is packed behind products (F)
	sweptSlabs  [crowds]int // slabs of each worker that sweeps: long rows are read fastest (F)

	// What is not packed: float32 and float64.
	unpacked      int        // bytes of B, or four second-level caches, up to which few rows or columns do so (S, L)
	unpackedThin  [forms]int // the same for fewer than thinRows, or of panels for one (L, F)
	unpackedHeld  float64    // second-level caches of B up to which several workers multiply a tile of rows so (F)
	unpackedTall  int        // rows that are few there: to pack B takes as long as to multiply three (S)
	unpackedSmall float64    // flops up to which nothing is packed in any case (S)

	// The ring.
	packsFrom [crowds]int // panels of B of each worker from which workers pack B themselves; 0: never (R)
	group     int         // panels of B that they pack at once, as their rows are pages apart (R)
	slabTiles int         // tiles of the kernel that a slab may be high in any case (R)
	extent    [crowds]int // rows and columns of a cluster tile (R)
}

// A Form is how B lies in memory.
type Form uint8

const (
	InRows   Form = iota // rows of K
	AlongK               // its columns lie along K
	InPanels             // it is packed
	forms
)

// A Crowd is how many workers share a product, as far as that decides anything.
type Crowd uint8

const (
	one     Crowd = iota // the caller
	two                  // who hardly wait for each other
	several              // three or four
	Many                 // more, of which the slowest would keep the others waiting
	crowds
)

// limits are rows of A for each form of B: most, or held if B takes no more than a part of second-level caches.
type limits struct {
	most, held [forms]int
	part       [forms]float64
}

// all returns v for every crowd.
func all[T any](v T) [crowds]T { return [crowds]T{v, v, v, v} }

// words is the tuning of a kernel of float32 with AVX-512 on a Zen 5, from which the others differ.
var words = Tuning{
	shared:    all(5.0 * (1 << 17)),
	leastRows: [forms]int{4, 8, 4},
	columns: [crowds]limits{
		{most: [forms]int{128, 128, 64}, held: [forms]int{64, 64, 64}, part: [forms]float64{1, 1, 0}},
		{most: [forms]int{128, 128, 64}, held: [forms]int{64, 64, 64}, part: [forms]float64{0.5, 0.5, 0}},
		{most: [forms]int{128, 128, 128}, held: [forms]int{8, 8, 8}, part: [forms]float64{0.5, 0.5, 1}},
		{most: [forms]int{64, 128, 64}, held: [forms]int{8, 8, 8}, part: [forms]float64{0.5, 0.5, 1}},
	},
	slabs:     [crowds]float64{several: 3 << 27, Many: 3 << 27},
	slabsPack: [crowds]float64{0, 3 << 21, 3 << 23, 3 << 23},
	slabsOnce: [crowds]int{two: 8},
	nearA:     2,
	nearB:     1.5,
	nearC:     16 << 20,
	nearFlops: 1 << 30,
	helpFlops: 1 << 10,
	slabFlops: 32 << 10,
	sumFlops:  64,
	panelA:    1,
	panelB:    6,

	fewRows:     [forms]int{8, 8, 4},
	fewLeast:    32 << 10,
	streamed:    [forms]int{8, 16, 32},
	turnedSpare: 4,
	fresh:       [forms]int{256, 256, 0},
	sweptSlabs:  [crowds]int{1, 4, 4, 2},

	unpacked:      4 << 20,
	unpackedThin:  [forms]int{InRows: 1 << 20, InPanels: 1 << 20},
	unpackedHeld:  1.25,
	unpackedTall:  48,
	unpackedSmall: 8 << 20,

	packsFrom: [crowds]int{2, 2, 2, 0},
	group:     1,
	slabTiles: 16,
	extent:    all(1024),
}

// tunings are the rows of the table: what differs from those before that apply, too. An empty name is any.
var tunings = []struct {
	machine, kernel string
	set             func(t *Tuning)
}{
	{"intel", "", func(t *Tuning) {
		t.nearA, t.nearB = 0.5, 0.875
		t.extent = [crowds]int{1024, 1024, 1024, 2048}
	}},
	{"", "avx512bf16", func(t *Tuning) {
		t.shared = all(5.0 * (1 << 18))
		t.helpFlops = 2 << 10
		for c := several; c < crowds; c++ {
			t.columns[c].part[InRows] = 1. / 3
		}
	}},
	{"", "avx2", avx2Tuning},
	{"zen3", "", func(t *Tuning) {
		t.shared = all(5.0 * (1 << 16))
	}},
	{"zen4", "avx512", zen4Tuning},
	{"zen4", "avx512bf16", func(t *Tuning) {
		t.shared = all(5.0 * (1 << 17))
	}},
	{"intel", "avx512bf16", func(t *Tuning) {
		t.streamed[AlongK] = 8
	}},
	{"intel", "avx512", func(t *Tuning) {
		t.fresh = [forms]int{52, 128, 0}
	}},
	{"", "amx", amxTuning},
	{"", "goamx", amxTuning},
	{"", "go", noStreams},
	{"", "gobf16", noStreams},
	{"zen4", "avx512f64", zen4Tuning},
	{"", "avx512f64", doubleTuning},
	{"", "avx2f64", func(t *Tuning) {
		avx2Tuning(t)
		doubleTuning(t)
		t.turnedSpare = 12 // any, as nothing along K is packed behind products, and panels are of few columns
	}},
	{"", "gof64", func(t *Tuning) {
		noStreams(t)
		t.extent = all(1024)
	}},
	{"", "hopper-avx512", hopperTuning},
	{"", "hopper-avx2", hopperTuning},
	{"", "hopper-go", hopperTuning},
}

// amxTuning is that of tiles of AMX, which multiply faster than operands come from the last cache, so that
// fetching them decides.
func amxTuning(t *Tuning) {
	t.shared = [crowds]float64{32 << 20, 32 << 20, 32 << 20, 16 << 20}
	t.FetchRows = 128
	t.columns = [crowds]limits{
		{most: [forms]int{128, 128, 64}, held: [forms]int{64, 64, 64}, part: [forms]float64{0.5, 0.5, 1}},
		{most: [forms]int{32, 128, 64}, held: [forms]int{31, 64, 2}, part: [forms]float64{0.5, 1, 1. / 3}},
		{most: [forms]int{64, 128, 64}, held: [forms]int{16, 4, 2}, part: [forms]float64{0.5, 0.25, 1. / 3}},
		{most: [forms]int{256, 128, 8}, held: [forms]int{4, 4, 2}, part: [forms]float64{1. / 3, 0.5, 1. / 3}},
	}
	t.slabs = [crowds]float64{0, 9 << 24, 1 << 29, 1 << 29}
	t.slabsPack = t.slabs
	t.nearA = 0
	t.ownC = true
	t.panelA, t.panelB, t.slabFlops, t.helpFlops = 10, 32, 256<<10, 16<<10
	t.fewRows = [forms]int{4, 4, 2}
	t.fewLeast, t.fewPanel = 8<<10, 8<<10
	t.streamed = [forms]int{8, 4, 4}
	t.turnedSpare = 32
	t.swept = [crowds]int{64, 48, 48, 32}
	t.group, t.packsFrom[Many], t.slabTiles = 4, 8, 32
}

// hopperTuning is that of Hopper's arithmetic.
func hopperTuning(t *Tuning) {
	noStreams(t)
	t.slabsOnce = [crowds]int{}
}

// avx2Tuning is that of float32 with AVX2.
func avx2Tuning(t *Tuning) {
	for c := range t.columns {
		t.columns[c].most[AlongK] = 64 // nothing along K is packed behind products
	}
	t.helpFlops = 512
	t.fewRows = [forms]int{4, 4, 3}
	t.fewLeast = 64 << 10
	t.streamed = [forms]int{4, 4, 8}
	t.fresh[InRows] = 128
	t.unpackedThin[InPanels] = 1 << 30
	t.turnedSpare = 8 // a vector, which kernels for edges spare
}

// zen4Tuning is that of floats with AVX-512 on a Zen 4.
func zen4Tuning(t *Tuning) {
	t.shared = all(5.0 * (1 << 16))
	t.unpackedThin[InPanels] = 12 << 20
}

// doubleTuning is that of float64: twice the bytes in each slot and sum, and half of the flops in a vector.
func doubleTuning(t *Tuning) {
	for c := range t.shared {
		t.shared[c] /= 2
	}
	t.helpFlops /= 2
	t.turnedSpare /= 2
	t.extent = all(1024)
}

// noStreams is that of kernels in Go, and of Hopper's arithmetic: they have none for few rows.
func noStreams(t *Tuning) {
	t.columns = all(limits{most: [forms]int{64, 64, 64}})
	t.leastRows, t.packsFrom, t.helpFlops = [forms]int{}, [crowds]int{}, 128
}
