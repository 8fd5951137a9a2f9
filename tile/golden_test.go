package tile_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/tile"
)

// recorded returns the records of a file.
func recorded[T any](t testing.TB, name string, parse func([]byte) ([]T, error)) []T {
	t.Helper()
	records, err := golden.Records("testdata/"+name, parse)
	if err != nil {
		t.Fatal(err)
	}
	return records
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
	for _, f := range []struct {
		name  string
		calls int
	}{{"tensormap.txt.gz", 9000}, {"tensormap_im2col.txt.gz", 3000}} {
		calls := recorded(t, f.name, golden.ParseMapCalls)
		if len(calls) != f.calls {
			t.Fatalf("%d calls in %s, want %d", len(calls), f.name, f.calls)
		}
		for i := range calls {
			if text, err := replay.TensorMap(&calls[i]); text != "" || err != nil {
				t.Errorf("%s, line %d: %s, %v", f.name, i+2, text, err)
			}
		}
	}
}

// replayCopies replays the copies of the files and counts them: loads, multicasts, stores, reductions and those that
// faulted.
func replayCopies(t *testing.T, names ...string) (n [5]int) {
	t.Helper()
	for _, name := range names {
		copies := recorded(t, name, golden.ParseCopies)
		for i := range copies {
			c := &copies[i]
			switch {
			case c.Done < 0:
				n[4]++
			case c.Red != 0:
				n[3]++
			case c.Kind == golden.KindStore:
				n[2]++
			default:
				n[c.Multicast]++
			}
			if text, err := replay.Copy(c); text != "" || err != nil {
				t.Errorf("%s, copy %d: %s, %v", name, i, text, err)
			}
		}
	}
	return n
}

// Every recorded load leaves the same shared memory and signals the same bytes; every store and every reduction
// leaves the same global memory, and shared memory as it was.
func TestCopyGolden(t *testing.T) {
	if n := replayCopies(t, "tma.bin.gz", "tma_tf32.bin.gz"); n != [5]int{907, 0, 725, 130, 0} {
		t.Errorf("replayed %d", n)
	}
}

// The same through im2col maps. Those on which the GPU faulted are errors, and touch nothing.
func TestIm2colGolden(t *testing.T) {
	if n := replayCopies(t, "tma_im2col.bin.gz", "tma_im2col_edge.bin.gz"); n != [5]int{576, 84, 258, 82, 48} {
		t.Errorf("replayed %d", n)
	}
}

// Prefetches on which the GPU faulted are errors.
func TestPrefetchGolden(t *testing.T) {
	if n := replayCopies(t, "tma_prefetch.bin.gz"); n != [5]int{6, 0, 0, 0, 12} {
		t.Errorf("replayed %d", n)
	}
}

// Through maps of more than 2^31 elements in a dimension nothing is copied.
func TestWideGolden(t *testing.T) {
	if n := replayCopies(t, "tma_wide.bin.gz"); n != [5]int{4, 0, 3, 0, 17} {
		t.Errorf("replayed %d", n)
	}
}

// A map whose fields have been replaced is the one that the driver makes of what they have become.
func TestReplaceGolden(t *testing.T) {
	all := recorded(t, "tensormap_replace.bin.gz", golden.ParseReplacements)
	changes, inGlobal := map[golden.Field]int{}, 0
	for i := range all {
		r := &all[i]
		if text, err := replay.Replaced(r); text != "" || err != nil {
			t.Errorf("record %d: %s, %v", i, text, err)
		}
		for _, c := range r.Changes {
			changes[c.Field]++
		}
		if r.InGlobal {
			inGlobal++
		}
	}
	if len(all) != 600 || len(changes) != 10 || inGlobal != 191 {
		t.Errorf("%d records, %d in global memory, changes %v", len(all), inGlobal, changes)
	}
}

// What PTX or the driver has not is an error. On the GPU it faults, or makes of a value another.
func TestReplaceEdgeGolden(t *testing.T) {
	all := recorded(t, "tensormap_replace_edge.bin.gz", golden.ParseReplacements)
	faults := 0
	for i := range all {
		if text, err := replay.Irreplaceable(&all[i]); text != "" || err != nil {
			t.Errorf("record %d: %s, %v", i, text, err)
		}
		if all[i].Done < -2 { // -1 and -2 are bytes that nobody could count
			faults++
		}
	}
	if len(all) != 57 || faults != 27 {
		t.Errorf("%d records, %d faults", len(all), faults)
	}
}

// Every copy on which the GPU raised an illegal instruction is an error for
// the reason that the rules give, and touches nothing.
func TestRefusedGolden(t *testing.T) {
	boxes := recorded(t, "tma_illegal.txt.gz", golden.ParseRefused)
	if len(boxes) != 37 {
		t.Fatalf("%d lines in the file, want 37", len(boxes))
	}
	for i := range boxes {
		b := &boxes[i]
		reason := "is negative"
		switch {
		case b.Interleave != 0:
			reason = "is not supported"
		case int(b.Coord[0])*tile.DataType(b.DataType).Size()%16 != 0:
			reason = "multiple of 16"
		}
		why, text, err := replay.Refused(b)
		if text != "" || err != nil {
			t.Errorf("line %d: %s, %v", i+1, text, err)
		} else if !strings.Contains(why.Error(), reason) {
			t.Errorf("line %d: %+v: error %v, want one that says %q", i+1, *b, why, reason)
		}
	}
}

// Loads through both TF32 types round as recorded, whatever the swizzle.
func TestTF32Golden(t *testing.T) {
	words := recorded(t, "tma_tf32.txt.gz", golden.ParseWords)
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
