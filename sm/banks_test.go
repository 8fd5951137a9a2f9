package sm_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// TestReplayBanks has a warp do each access recorded on an H200, in cycles, and as Nsight Compute counted wavefronts.
// Not under Check, where lanes may not write the same.
func TestReplayBanks(t *testing.T) {
	t.Parallel()
	for i, r := range records(t, "banks.txt.gz", 1030, golden.ParseBanks) {
		if text, err := replay.BankCycles(&r, sm.Config{}); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
	}
	for i, r := range records(t, "banks_ncu.txt.gz", 448, golden.ParseBanks) {
		if text, err := replay.BankWavefronts(&r, sm.Config{}); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
	}
}

// banked returns what a kernel's lines take, in the order of Lines, without where they are.
func banked(t *testing.T, cfg sm.Config, kernel sm.Kernel) (lines []string) {
	t.Helper()
	cfg.Banks = new(sm.Banks)
	if err := launch(t, cfg, kernel); err != nil {
		t.Fatal(err)
	}
	for _, l := range cfg.Banks.Lines() {
		_, text, _ := strings.Cut(l.String(), " ")
		lines = append(lines, text)
	}
	return lines
}

// A conflict is a kernel and what its lines take.
type conflict struct {
	name   string
	cfg    sm.Config
	kernel sm.Kernel
	want   []string
}

// transposed is a tile of 32 by 32 float32, written by rows and read by columns, by 32 by 8 threads.
func transposed(pitch int) sm.Kernel {
	return func(b *sm.Block) {
		tile := sm.Shared[float32](b, 32*pitch, 16)
		b.Threads(func(t *sm.Thread) {
			x, y := t.Idx().X, t.Idx().Y
			for i := y; i < 32; i += 8 {
				tile.Store(t, i*pitch+x, float32(32*i+x))
			}
			t.SyncThreads()
			for i := y; i < 32; i += 8 {
				assert(tile.Load(t, x*pitch+i) == float32(32*x+i), "not transposed")
			}
		})
	}
}

// matrixKernel has a warp store a row of 128 bytes a lane, in pieces of 16, and load 8 rows of a column as a matrix.
func matrixKernel(s tile.Swizzle) sm.Kernel {
	return func(b *sm.Block) {
		x := sm.Shared[uint16](b, 32*64, 1024)
		at := func(row, piece int) int { return s.Apply(128*row+16*piece) / 2 }
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			for piece := range 8 {
				for lane := range 32 {
					x.Write(w.Thread(lane), at(lane, piece), make([]uint16, 8))
				}
			}
			w.SyncWarp()
			var r [4][32]uint32
			for piece := range 8 {
				w.LoadMatrix(func(lane int) sm.Region { return x.At(at(lane, piece)) }, r[:])
				w.LoadMatrixTrans(func(lane int) sm.Region { return x.At(at(lane, piece)) }, r[:1])
				w.StoreMatrix(func(lane int) sm.Region { return x.At(at(lane, piece)) }, r[:2])
			}
		}))
	}
}

// words has threads access words of an array.
func words[T any](n int, f func(t *sm.Thread, x *sm.Array[T])) sm.Kernel {
	return func(b *sm.Block) {
		x := sm.Shared[T](b, n, 1024)
		x.Elements() // counts as written
		b.Threads(func(t *sm.Thread) { f(t, x) })
	}
}

var conflicts = []conflict{
	{"a transposed tile", sm.Config{Block: sm.Dim3{X: 32, Y: 8}}, transposed(32), []string{
		"Load of tile: 32 requests, 1024 wavefronts, 32.0 each, 1.0 at best (32-way)",
		"Store of tile: 32 requests, 32 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"a padded tile, twice", sm.Config{Grid: sm.Dim3{X: 2}, Block: sm.Dim3{X: 32, Y: 8}}, transposed(33), []string{
		"Store of tile: 64 requests, 64 wavefronts, 1.0 each, 1.0 at best",
		"Load of tile: 64 requests, 64 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"rows of 128 bytes", block(32), matrixKernel(tile.SwizzleNone), []string{
		"Write of x: 8 requests, 256 wavefronts, 32.0 each, 4.0 at best (8-way)",
		"LoadMatrix of x: 8 requests, 256 wavefronts, 32.0 each, 4.0 at best (8-way)",
		"StoreMatrix of x: 8 requests, 128 wavefronts, 16.0 each, 2.0 at best (8-way)",
		"LoadMatrixTrans of x: 8 requests, 64 wavefronts, 8.0 each, 1.0 at best (8-way)",
	}},
	{"rows of 128 bytes, swizzled", block(32), matrixKernel(tile.Swizzle128B), []string{
		"Write of x: 8 requests, 32 wavefronts, 4.0 each, 4.0 at best",
		"LoadMatrix of x: 8 requests, 32 wavefronts, 4.0 each, 4.0 at best",
		"StoreMatrix of x: 8 requests, 16 wavefronts, 2.0 each, 2.0 at best",
		"LoadMatrixTrans of x: 8 requests, 8 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"float4", block(64), words(2048, func(t *sm.Thread, x *sm.Array[float32]) {
		v := make([]float32, 8)
		x.Read(t, 4*t.Rank(), v[:4])  // side by side
		x.Read(t, 32*t.Rank(), v[:4]) // one behind 128 bytes
		x.Read(t, 8*t.Rank(), v)      // two float4: of each quarter's lanes half are 128 bytes apart
		x.Read(t, 4*t.Rank()+1, v[:4])
	}), []string{
		"Read of x: 2 requests, 64 wavefronts, 32.0 each, 4.0 at best (8-way)",
		"Read of x: 4 requests, 32 wavefronts, 8.0 each, 4.0 at best (2-way)",
		"Read of x: 6 requests, 24 wavefronts, 4.0 each, 1.3 at best (3-way)", // of 4 bytes, 8 and 4
		"Read of x: 2 requests, 8 wavefronts, 4.0 each, 4.0 at best",
	}},
	{"float3", block(32), words(64, func(t *sm.Thread, x *sm.Array[[3]float32]) {
		x.Load(t, t.Lane())
		t.SyncThreads()
		x.Store(t, t.Lane(), [3]float32{})
	}), []string{
		"Load of x: 3 requests, 3 wavefronts, 1.0 each, 1.0 at best",
		"Store of x: 3 requests, 3 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"the same word", block(64), words(4096, func(t *sm.Thread, x *sm.Array[uint8]) {
		x.Load(t, 5)
		x.Load(t, t.Lane()/2)
		x.Load(t, 128*t.Lane()+t.Lane()%4)
		t.SyncThreads()
		x.Store(t, t.Rank(), 1)
	}), []string{
		"Load of x: 2 requests, 64 wavefronts, 32.0 each, 1.0 at best (32-way)",
		"Load of x: 2 requests, 2 wavefronts, 1.0 each, 1.0 at best",
		"Load of x: 2 requests, 2 wavefronts, 1.0 each, 1.0 at best",
		"Store of x: 2 requests, 2 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"a warpgroup, and its threads", block(128), func(b *sm.Block) {
		x := sm.Shared[float64](b, 128, 16)
		x.Elements()
		b.Warpgroups(func(w *sm.Warpgroup) {
			x.Write(w, 0, make([]float64, 2)) // of which thread each is nobody knows
			x.Store(w, 0, 1)
			x.Load(w.Warp(1), 0)
			for i := range 3 {
				for tid := 16 * i; tid < 128; tid += 2 {
					x.Load(w.Thread(tid), tid)
				}
			}
		})
	}, []string{
		// By lanes 0, 2, … of four warps, then of three and of half a one, and of three.
		"Load of x: 11 requests, 21 wavefronts, 1.9 each, 1.0 at best (1.9-way)",
		"Store of x: 4 requests, 8 wavefronts, 2.0 each, 1.0 at best (2-way)",
		"Load of x: 1 requests, 1 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"lanes that come at different times", block(40), words(2048, func(t *sm.Thread, x *sm.Array[int32]) {
		for s := range 8 {
			if t.Rank()%8 == s {
				x.Load(t, 32*t.Rank()) // four lanes at a time, one of the second warp
			}
			t.SyncThreads()
		}
		for s := 16; s > 0; s /= 2 {
			if t.Lane() < s {
				x.Load(t, t.Lane())
			}
			sm.Shfl(t, sm.FullMask, 0, 0)
		}
	}), []string{
		"Load of x: 16 requests, 40 wavefronts, 2.5 each, 1.0 at best (2.5-way)",
		"Load of x: 10 requests, 10 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"atomics", block(32), func(b *sm.Block) {
		x, y, z := sm.Shared[int32](b, 64, 16), sm.Shared[float32](b, 64, 16), sm.Shared[uint64](b, 64, 16)
		x.Elements()
		y.Elements()
		z.Elements()
		b.Threads(func(t *sm.Thread) {
			sm.AtomicStore(t, x.At(t.Lane()), 0)
			sm.AtomicExch(t, y.At(t.Lane()), 0)
			sm.AtomicExch(t, z.At(t.Lane()), 0)
			t.SyncThreads()
			sm.AtomicAdd(t, x.At(t.Lane()%4), 1)
			sm.AtomicCAS(t, x.At(2*t.Lane()), 0, 1)
			sm.AtomicLoad(t, x.At(0))
			sm.AtomicAdd(t, y, 1) // is a loop
			sm.AtomicAdd(t, z, 1) // likewise
		})
	}, []string{
		"AtomicAdd of x: 1 requests, 8 wavefronts, 8.0 each, 1.0 at best (8-way)",
		"AtomicCAS of x: 1 requests, 4 wavefronts, 4.0 each, 2.0 at best (2-way)",
		"AtomicExch of z: 1 requests, 2 wavefronts, 2.0 each, 2.0 at best",
		"AtomicStore of x: 1 requests, 1 wavefronts, 1.0 each, 1.0 at best",
		"AtomicExch of y: 1 requests, 1 wavefronts, 1.0 each, 1.0 at best",
		"AtomicLoad of x: 1 requests, 1 wavefronts, 1.0 each, 1.0 at best",
	}},
	{"a peer's memory", sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 32}},
		func(b *sm.Block) {
			x := sm.Shared[int32](b, 1024, 16)
			b.Threads(func(t *sm.Thread) {
				x.Store(t, t.Lane(), 0)
				t.ClusterSync()
				x.MapShared(1-b.ClusterRank()).Load(t, 32*t.Lane()%32)
				t.ClusterSync()
			})
		}, []string{"Store of x: 2 requests, 2 wavefronts, 1.0 each, 1.0 at best"}},
}

// TestBanks counts the conflicts that CUDA programmers know, in every mode.
func TestBanks(t *testing.T) {
	modes := modes
	if testing.Short() {
		modes = modes[:2]
	}
	for _, c := range conflicts {
		for _, m := range modes {
			cfg := in(m, c.cfg)
			got := banked(t, cfg, c.kernel)
			if text, want := strings.Join(got, "\n"), strings.Join(c.want, "\n"); text != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", c.name, mode(m), text, want)
			}
		}
	}
}

// TestBanksAhead: lanes that are ahead of each other make the same requests, as far as they are kept. Of the others
// none is counted, until all meet.
func TestBanksAhead(t *testing.T) {
	const n, kept = 1100, 1024
	loop := func(x *sm.Array[int32], th *sm.Thread, n int) { // lanes 0 and 16 and so on want the same bank
		for i := range n {
			x.Load(th, (2*th.Lane()+i)%64)
		}
	}
	line := func(requests, skipped int) string {
		text := fmt.Sprintf("Load of x: %d requests, %d wavefronts, 2.0 each, 1.0 at best (2-way)", requests, 2*requests)
		if skipped > 0 {
			text += fmt.Sprintf("; %d requests not counted", skipped)
		}
		return text
	}
	for _, m := range modes {
		// Threads run into each other at will, but not further than is kept.
		few := banked(t, in(m, block(64)), words(64, func(th *sm.Thread, x *sm.Array[int32]) { loop(x, th, 100) }))
		if len(few) != 1 || few[0] != line(200, 0) {
			t.Errorf("%s: threads: %v", mode(m), few)
		}
	}
	// Each thread of a warp does all that it does before the next begins.
	many := banked(t, block(32), func(b *sm.Block) {
		x := sm.Shared[int32](b, 64, 16)
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			for _, n := range []int{n, 10} {
				for lane := range 32 {
					loop(x, w.Thread(lane), n)
				}
				w.SyncWarp()
			}
		}))
	})
	if len(many) != 1 || many[0] != line(kept+10, n-kept) {
		t.Errorf("a warp: %v", many)
	}
	// However far threads are, each request is counted whole or not at all.
	far := new(sm.Banks)
	err := launch(t, sm.Config{Block: sm.Dim3{X: 8}, Banks: far},
		words(256, func(th *sm.Thread, x *sm.Array[int32]) {
			for i := range kept + 200 {
				x.Load(th, 32*th.Lane()+i%32)
			}
		}))
	if l := far.Lines(); err != nil || len(l) != 1 || l[0].Requests < kept || l[0].Requests+l[0].Skipped != kept+200 ||
		l[0].Wavefronts != 8*l[0].Requests || l[0].Ideal != l[0].Requests {
		t.Errorf("%v %v", l, err)
	}
}

// TestBanksMemory: what a thread does alone for long takes no more memory than what it does for a while.
func TestBanksMemory(t *testing.T) {
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		banked(t, sm.Config{Block: sm.Dim3{X: 32}}, words(64, func(th *sm.Thread, x *sm.Array[int32]) {
			if th.Rank() == 0 {
				for i := range n {
					x.Store(th, i%64, 0)
				}
			}
		}))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(1)
	if few, many := allocated(2000), allocated(60_000); many > few+50_000 {
		t.Errorf("%d bytes for 2,000 stores, %d for 60,000", few, many)
	}
}

// TestBanksAdd: launches add to what is there, several at once and one that stops.
func TestBanksAdd(t *testing.T) {
	banks := new(sm.Banks)
	if text := banks.String(); text != "" || len(banks.Lines()) != 0 {
		t.Errorf("of nothing: %q", text)
	}
	kernel := words(32, func(th *sm.Thread, x *sm.Array[int32]) {
		x.Store(th, th.Rank(), 1)
		th.SyncThreads()
		assert(th.Rank() < 40, "a thread too many")
		x.Load(th, 0)
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := launch(t, sm.Config{Grid: sm.Dim3{X: 5}, Block: sm.Dim3{X: 32}, Banks: banks}, kernel); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var text strings.Builder
	if n, err := banks.WriteTo(&text); err != nil || int(n) != text.Len() || text.String() != banks.String() {
		t.Errorf("%d %v %q", n, err, &text)
	}
	where := regexp.MustCompile(`banks_test\.go:\d+ `)
	const want = "AT Store of x: 20 requests, 20 wavefronts, 1.0 each, 1.0 at best\n" +
		"AT Load of x: 20 requests, 20 wavefronts, 1.0 each, 1.0 at best\n"
	if got := where.ReplaceAllString(text.String(), "AT "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	faultOf(t, launch(t, sm.Config{Block: sm.Dim3{X: 32}, Banks: banks}, func(b *sm.Block) {
		x := sm.Shared[int32](b, 32, 4)
		b.Threads(func(th *sm.Thread) {
			x.Store(th, th.Rank(), 1)
			th.SyncThreads()
			x.Load(th, 32)
		})
	}), sm.RuleShared)
	if l := banks.Lines(); len(l) != 3 || l[2].Requests != 1 || l[2].Op != "Store" {
		t.Errorf("%v", l)
	}
}
