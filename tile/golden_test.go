package tile_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
)

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := golden.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// observe has somebody look at the phase of b that is complete, which the build tag
// invariants wants.
func observe(b *barrier.Barrier) {
	b.TestWaitParity(0)
	b.TestWaitParity(1)
}

func newShared(t testing.TB, size int) *tile.Shared {
	t.Helper()
	s, err := tile.NewShared(size)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newMap(t testing.TB, cfg tile.Config) *tile.TensorMap {
	t.Helper()
	m, err := tile.NewTensorMap(cfg)
	if err != nil {
		t.Fatalf("NewTensorMap(%+v): %v", cfg, err)
	}
	return m
}

// Every map that the driver accepted is accepted, every other refused.
func TestTensorMapGolden(t *testing.T) {
	calls, err := golden.ParseMapCalls(readGolden(t, "tensormap.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != 9000 {
		t.Fatalf("%d calls in the file, want 9000", len(calls))
	}
	for i, c := range calls {
		_, err := tile.NewTensorMap(configOfCall(c))
		if (err == nil) != c.Accepted {
			t.Errorf("line %d: %+v: driver accepted: %v, NewTensorMap: %v", i+2, c, c.Accepted, err)
		}
	}
}

func configOfCall(c golden.MapCall) tile.Config {
	// The recorder passed arrays of five for every rank, 0 and 6 included.
	dims, box, step := c.Dims[:], c.Box[:], c.ElementStrides[:]
	strides := c.Strides[:]
	for len(dims) < c.Rank {
		dims, box, step = append(dims, 1), append(box, 1), append(step, 1)
		strides = append(strides, 16)
	}
	return tile.Config{
		DataType: tile.DataType(c.DataType), Address: c.Address,
		Dims: dims[:c.Rank], Strides: strides[:max(c.Rank-1, 0)],
		Box: box[:c.Rank], ElementStrides: step[:c.Rank],
		Interleave: tile.Interleave(c.Interleave), Swizzle: tile.Swizzle(c.Swizzle), Fill: tile.Fill(c.Fill),
	}
}

func configOfBox(b *golden.Box, strides []uint64, global []byte) tile.Config {
	cfg := tile.Config{
		DataType: tile.DataType(b.DataType), Global: global,
		Dims: b.Dims[:b.Rank], Strides: strides,
		Interleave: tile.Interleave(b.Interleave), Swizzle: tile.Swizzle(b.Swizzle), Fill: tile.Fill(b.Fill),
	}
	for d := range b.Rank {
		cfg.Box = append(cfg.Box, uint32(b.Extent[d]))
		cfg.ElementStrides = append(cfg.ElementStrides, uint32(b.ElementStrides[d]))
	}
	return cfg
}

// extent returns the bytes from the first element of a tensor to its last.
func extent(cfg tile.Config) int {
	n := int(cfg.Dims[0]) * cfg.DataType.Size()
	for d := 1; d < len(cfg.Dims); d++ {
		n += int(cfg.Dims[d]-1) * int(cfg.Strides[d-1])
	}
	return n
}

func readCopies(t testing.TB) []golden.Copy {
	t.Helper()
	copies, err := golden.ParseCopies(readGolden(t, "tma.bin.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(copies) != 1500 {
		t.Fatalf("%d copies in the file, want 1500", len(copies))
	}
	return copies
}

// Every recorded load leaves the same shared memory and signals the same bytes.
func TestLoadGolden(t *testing.T) {
	loads := 0
	for i, c := range readCopies(t) {
		if c.Kind != golden.KindLoad {
			continue
		}
		loads++
		cfg := configOfBox(&c.Box, c.Strides[:c.Rank-1], nil)
		cfg.Global = make([]byte, extent(cfg))
		c.FillGlobal(cfg.Global)
		m := newMap(t, cfg)
		if got := m.BoxBytes(); got != int(c.Done) {
			t.Errorf("copy %d: BoxBytes() = %d, the GPU signalled %d", i, got, c.Done)
		}

		s := newShared(t, golden.SharedSize)
		want := bytes.Repeat([]byte{golden.SharedInit}, golden.SharedSize)
		copy(s.Bytes(), want)
		copy(want, c.After)
		bar, err := barrier.New(1)
		if err != nil {
			t.Fatal(err)
		}
		bar.ArriveExpectTx(int(c.Done))
		if bar.TestWaitParity(0) {
			t.Fatalf("copy %d: barrier completed before the load", i)
		}
		if err := tile.Load(s, int(c.SharedOffset), m, c.Coord[:c.Rank], bar); err != nil {
			t.Errorf("copy %d: %v", i, err)
			continue
		}
		if !bar.TestWaitParity(0) {
			t.Errorf("copy %d: %d bytes did not complete the barrier", i, c.Done)
		}
		if d := firstDiff(s.Bytes(), want); d >= 0 {
			t.Errorf("copy %d: %+v: shared byte %d is %#x, the GPU wrote %#x", i, c.Box, d, s.Bytes()[d], want[d])
		}
	}
	if loads != 754 {
		t.Errorf("%d loads replayed, want 754", loads)
	}
}

// Every recorded store leaves the same global memory.
func TestStoreGolden(t *testing.T) {
	stores := 0
	for i, c := range readCopies(t) {
		if c.Kind != golden.KindStore || c.Red != 0 {
			continue
		}
		stores++
		global := bytes.Repeat([]byte{golden.GlobalInit}, len(c.After))
		m := newMap(t, configOfBox(&c.Box, c.Strides[:c.Rank-1], global))
		s := newShared(t, golden.SharedSize)
		c.FillShared(s.Bytes())
		before := slices.Clone(s.Bytes())
		if err := tile.Store(m, c.Coord[:c.Rank], s, int(c.SharedOffset)); err != nil {
			t.Errorf("copy %d: %v", i, err)
			continue
		}
		if d := firstDiff(global, c.After); d >= 0 {
			t.Errorf("copy %d: %+v: global byte %d is %#x, the GPU wrote %#x", i, c.Box, d, global[d], c.After[d])
		}
		if !bytes.Equal(before, s.Bytes()) {
			t.Errorf("copy %d: the store changed shared memory", i)
		}
	}
	if stores != 616 {
		t.Errorf("%d stores replayed, want 616", stores)
	}
}

// Every recorded reduction leaves the same global memory.
func TestReduceGolden(t *testing.T) {
	reductions := 0
	for i, c := range readCopies(t) {
		if c.Red == 0 {
			continue
		}
		reductions++
		global := make([]byte, len(c.After))
		c.FillGlobal(global)
		m := newMap(t, configOfBox(&c.Box, c.Strides[:c.Rank-1], global))
		s := newShared(t, golden.SharedSize)
		c.FillShared(s.Bytes())
		before := slices.Clone(s.Bytes())
		op := reduceOps[c.Red]
		if err := tile.Reduce(m, op, c.Coord[:c.Rank], s, int(c.SharedOffset)); err != nil {
			t.Errorf("copy %d: %v", i, err)
			continue
		}
		if d := firstDiff(global, c.After); d >= 0 {
			t.Errorf("copy %d: %v %+v: global byte %d is %#x, the GPU wrote %#x", i, op, c.Box, d, global[d],
				c.After[d])
		}
		if !bytes.Equal(before, s.Bytes()) {
			t.Errorf("copy %d: the reduction changed shared memory", i)
		}
	}
	if reductions != 130 {
		t.Errorf("%d reductions replayed, want 130", reductions)
	}
}

// reduceOps is the numbering of the recorder.
var reduceOps = [...]tile.ReduceOp{
	1: tile.ReduceAdd, tile.ReduceMin, tile.ReduceMax, tile.ReduceInc, tile.ReduceDec,
	tile.ReduceAnd, tile.ReduceOr, tile.ReduceXor,
}

// Every copy on which the GPU raised an illegal instruction is an error for
// the reason that the rules give, and touches nothing.
func TestRefusedGolden(t *testing.T) {
	boxes, err := golden.ParseRefused(readGolden(t, "tma_illegal.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(boxes) != 37 {
		t.Fatalf("%d lines in the file, want 37", len(boxes))
	}
	for i, b := range boxes {
		strides := make([]uint64, 0, 4)
		pitch := (b.Dims[0]*uint64(tile.DataType(b.DataType).Size()) + 15) &^ 15
		for d := int32(1); d < b.Rank; d++ {
			strides = append(strides, pitch)
			pitch *= b.Dims[d]
		}
		cfg := configOfBox(&b, strides, nil)
		cfg.Global = make([]byte, pitch)
		m, err := tile.NewTensorMap(cfg)
		if b.Interleave != 0 {
			if err == nil {
				t.Errorf("line %d: interleaved map accepted", i+1)
			}
			continue
		}
		if err != nil {
			t.Errorf("line %d: %v", i+1, err)
			continue
		}
		coord := b.Coord[:b.Rank]
		reason := "multiple of 16"
		if int(coord[0])*cfg.DataType.Size()%16 == 0 {
			reason = "is negative"
		}
		s := newShared(t, int(b.SharedOffset)+m.SharedBytes())
		for k := range s.Bytes() {
			s.Bytes()[k] = golden.SharedInit
		}
		bar, err := barrier.New(1)
		if err != nil {
			t.Fatal(err)
		}
		bar.ArriveExpectTx(m.BoxBytes())
		if b.Kind == golden.KindLoad {
			err = tile.Load(s, int(b.SharedOffset), m, coord, bar)
		} else {
			err = tile.Store(m, coord, s, int(b.SharedOffset))
		}
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("line %d: %+v: error %v, want one that says %q", i+1, b, err, reason)
		}
		if bar.TestWaitParity(0) {
			t.Errorf("line %d: a refused copy signalled its bytes", i+1)
		}
		for _, v := range s.Bytes() {
			if v != golden.SharedInit {
				t.Fatalf("line %d: a refused load wrote", i+1)
			}
		}
		for _, v := range cfg.Global {
			if v != 0 {
				t.Fatalf("line %d: a refused store wrote", i+1)
			}
		}
	}
}

// Loads through both TF32 types round as recorded, whatever the swizzle.
func TestTF32Golden(t *testing.T) {
	words, err := golden.ParseWords(readGolden(t, "tma_tf32.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(words) != 256 {
		t.Fatalf("%d words in the file, want 256", len(words))
	}
	var global []byte
	for _, w := range words {
		global = binary.LittleEndian.AppendUint32(global, w.Before)
	}
	for _, typ := range []tile.DataType{tile.TFloat32, tile.TFloat32FTZ, tile.Float32, tile.Float32FTZ} {
		for swz := tile.SwizzleNone; swz <= tile.Swizzle128B; swz++ {
			m := newMap(t, tile.Config{
				DataType: typ, Global: global, Dims: []uint64{8, 32}, Strides: []uint64{32},
				Box: []uint32{8, 32}, Swizzle: swz,
			})
			s := newShared(t, m.SharedBytes())
			if err := tile.Load(s, 0, m, []int32{0, 0}, nil); err != nil {
				t.Fatal(err)
			}
			pitch := m.SharedBytes() / 32
			for i, w := range words {
				want := w.After
				if typ == tile.Float32 || typ == tile.Float32FTZ {
					want = w.Before
				}
				at := swz.Apply(i/8*pitch + i%8*4)
				if got := binary.LittleEndian.Uint32(s.Bytes()[at:]); got != want {
					t.Errorf("%v %v: %08x loads as %08x, want %08x", typ, swz, w.Before, got, want)
				}
			}
		}
	}
}

// firstDiff returns the index of the first difference, or -1.
func firstDiff(a, b []byte) int {
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
