package tile_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/leafhopper/tile"
)

// A refused copy says why, changes nothing and signals nothing.
func TestCopyErrors(t *testing.T) {
	cfg := base()
	cfg.Global = bytes.Repeat([]byte{1}, 256*64)
	m := newMap(t, cfg)
	blind := newMap(t, base())
	s := newShared(t, 1024+1024)
	origin := []int32{0, 0}

	for _, c := range []struct {
		m      *tile.TensorMap
		coord  []int32
		s      *tile.Shared
		offset int
		want   string
		load   bool // whether Load refuses it as well as Store
	}{
		{nil, origin, s, 0, "map is nil", true},
		{blind, origin, s, 0, "no global memory", true},
		{m, origin[:1], s, 0, "1 coordinates for a map of rank 2", true},
		{m, []int32{0, 0, 0}, s, 0, "3 coordinates for a map of rank 2", true},
		{m, []int32{4, 0}, s, 0, "inner coordinate 4 of BFloat16 is 8 bytes", true},
		{m, []int32{-4, 0}, s, 0, "inner coordinate -4", true},
		{m, []int32{-8, 0}, s, 0, "coordinate -8 of dimension 0 is negative", false},
		{m, []int32{0, -1}, s, 0, "coordinate -1 of dimension 1 is negative", false},
		{m, origin, nil, 0, "is nil", true},
		{m, origin, s, 64, "offset 64 is not a multiple of 128", true},
		{m, origin, s, -128, "offset -128 is negative", true},
		{m, origin, s, 1024 + 128, "end beyond its 2048 bytes", true},
		{m, origin, s, math.MaxInt &^ 127, "end beyond", true},
		{m, origin, newShared(t, 1023), 0, "end beyond its 1023 bytes", true},
	} {
		bar := newBarrier(t)
		bar.ArriveExpectTx(m.BoxBytes())
		global := slices.Clone(cfg.Global)

		for _, op := range []string{"load", "store"} {
			var err error
			if op == "load" {
				err = tile.Load(c.s, c.offset, c.m, c.coord, bar)
			} else {
				err = tile.Store(c.m, c.coord, c.s, c.offset)
			}
			if op == "load" && !c.load {
				if err != nil {
					t.Errorf("load: %v, want none: only stores refuse %q", err, c.want)
				}
				clear(s.Bytes())
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), "tile: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q in it", op, err, c.want)
			}
		}
		if c.load && bar.TestWaitParity(0) {
			t.Errorf("%s: the refused load signalled", c.want)
		}
		if firstDiff(global, cfg.Global) >= 0 {
			t.Errorf("%s: the refused store wrote", c.want)
		}
		if slices.ContainsFunc(s.Bytes(), func(v byte) bool { return v != 0 }) {
			t.Errorf("%s: the refused load wrote", c.want)
		}
	}
}

// Coordinates at the ends of int32, with strides whose product with them
// passes 2^64, are outside like any other.
func TestFarCoordinates(t *testing.T) {
	cfg := tile.Config{
		DataType: tile.Float32, Fill: tile.FillNaN,
		Dims: []uint64{8, 1, 1, 1, 1}, Strides: []uint64{1<<40 - 16, 1 << 39, 16, 1<<40 - 32},
		Box: []uint32{8, 2, 2, 2, 2}, ElementStrides: []uint32{1, 1, 2, 1, 1},
		Global: make([]byte, 32),
	}
	m := newMap(t, cfg)
	s := newShared(t, m.SharedBytes())
	far := []int32{math.MinInt32, math.MinInt32 + 8, -4, 0, 4, math.MaxInt32 &^ 3, math.MaxInt32}
	r := rand.New(rand.NewPCG(5, 6))
	want := make([]byte, m.SharedBytes())
	for range 2000 {
		coord := make([]int32, 5)
		for d := range coord {
			coord[d] = far[r.IntN(len(far))]
		}
		coord[0] &^= 3
		modelLoad(want, 0, cfg, coord)
		if err := tile.Load(s, 0, m, coord, nil); err != nil {
			t.Fatal(err)
		}
		if d := firstDiff(s.Bytes(), want); d >= 0 {
			t.Fatalf("at %v byte %d is %#x, want %#x", coord, d, s.Bytes()[d], want[d])
		}
		for d := range coord {
			coord[d] &= math.MaxInt32
		}
		if err := tile.Store(m, coord, s, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// The copies of one map run side by side, and a wait on the barrier orders
// them before the reads (the race detector checks that it does).
func TestConcurrentLoads(t *testing.T) {
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	randomBytes(rand.New(rand.NewPCG(7, 8)), cfg.Global)
	m := newMap(t, cfg)
	s := newShared(t, 8*m.SharedBytes())
	bar := newBarrier(t)
	bar.ArriveExpectTx(8 * m.BoxBytes())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := tile.Load(s, i*m.SharedBytes(), m, []int32{64, int32(8 * i)}, bar); err != nil {
				t.Error(err)
			}
		})
	}
	bar.WaitParity(0)
	want := make([]byte, len(s.Bytes()))
	for i := range 8 {
		modelLoad(want, i*m.SharedBytes(), cfg, []int32{64, int32(8 * i)})
	}
	if d := firstDiff(s.Bytes(), want); d >= 0 {
		t.Errorf("byte %d is %#x, want %#x", d, s.Bytes()[d], want[d])
	}
	wg.Wait()
}

func TestCopiesDoNotAllocate(t *testing.T) {
	for swz := tile.SwizzleNone; swz <= tile.Swizzle128B; swz++ {
		cfg := base()
		cfg.Swizzle, cfg.Box[0], cfg.Fill = swz, 16, tile.FillNaN
		cfg.Global = make([]byte, 256*64)
		m := newMap(t, cfg)
		s := newShared(t, m.SharedBytes())
		bar := newBarrier(t)
		n := testing.AllocsPerRun(100, func() {
			bar.ArriveExpectTx(2 * m.BoxBytes())
			if tile.Load(s, 0, m, []int32{16, 8}, bar) != nil || tile.Load(s, 0, m, []int32{-8, 60}, bar) != nil ||
				tile.Store(m, []int32{120, 60}, s, 0) != nil ||
				tile.Reduce(m, tile.ReduceAdd, []int32{120, 60}, s, 0) != nil {
				t.Fatal("copy failed")
			}
			observe(bar)
		})
		if n != 0 {
			t.Errorf("%v: %v allocations per load and store, want 0", swz, n)
		}
	}
}

// fuzzConfig makes a config of anything the fuzzer says, in and out of rule.
func fuzzConfig(r *rand.Rand, typ, swz, fill, inter uint8, memory uint16) tile.Config {
	cfg := tile.Config{
		DataType: tile.DataType(typ), Swizzle: tile.Swizzle(swz), Fill: tile.Fill(fill),
		Interleave: tile.Interleave(inter),
		Address:    8 * uint64(r.IntN(8)/7),
	}
	odd := func(usual, rare uint64) uint64 {
		if r.IntN(40) == 0 {
			return rare
		}
		return usual
	}
	rank := r.IntN(7)
	for d := range rank {
		cfg.Dims = append(cfg.Dims, odd(1+r.Uint64N(20), r.Uint64()>>r.IntN(64)))
		cfg.Box = append(cfg.Box, uint32(odd(1+r.Uint64N(12), uint64(r.IntN(300)))))
		if d > 0 {
			cfg.Strides = append(cfg.Strides, odd(16*r.Uint64N(20), r.Uint64()>>r.IntN(64)))
		}
	}
	if rank > 0 && r.IntN(8) > 0 {
		cfg.Box[0] = cfg.Box[0] * 16 / uint32(max(1, cfg.DataType.Size()))
	}
	if r.IntN(2) == 0 {
		for range odd(uint64(rank), uint64(r.IntN(8))) {
			cfg.ElementStrides = append(cfg.ElementStrides, uint32(odd(1+r.Uint64N(8), uint64(r.IntN(20)))))
		}
	}
	if memory > 0 {
		cfg.Global = make([]byte, memory-1)
		randomBytes(r, cfg.Global)
	}
	return cfg
}

// FuzzTensorMap checks that no configuration panics and that an accepted one
// loads as the model does and stores and reduces without a panic, at random
// coordinates.
// (With strides smaller than a row, stores have no defined result.)
func FuzzTensorMap(f *testing.F) {
	for i := range uint64(64) {
		f.Add(i, uint8(i%13), uint8(i/3%4), uint8(i/7%2), uint8(i/61), uint16(i*1000))
	}
	f.Fuzz(func(t *testing.T, seed uint64, typ, swz, fill, inter uint8, memory uint16) {
		r := rand.New(rand.NewPCG(seed, 0))
		cfg := fuzzConfig(r, typ, swz, fill, inter, memory)
		guarded := slices.Concat(canary[:], cfg.Global, canary[:])
		if cfg.Global != nil {
			cfg.Global = guarded[len(canary) : len(guarded)-len(canary)]
		}
		m, err := tile.NewTensorMap(cfg)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "tile: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		rows, row, pitch := walk(cfg, nil, nil)
		if m.BoxBytes() != rows*row || m.SharedBytes() != rows*pitch {
			t.Fatalf("%d bytes in %d, want %d in %d", m.BoxBytes(), m.SharedBytes(), rows*row, rows*pitch)
		}
		s := newShared(t, 128+m.SharedBytes()+16)
		coord := randomCoord(r, tile.Config{DataType: cfg.DataType, Dims: smallDims(cfg.Dims), Box: cfg.Box}, -1<<20)
		want := slices.Clone(s.Bytes())
		switch err := tile.Load(s, 128, m, coord, nil); {
		case (err != nil) != (cfg.Global == nil):
			t.Fatalf("Load: %v with %d bytes", err, len(cfg.Global))
		case err == nil:
			modelLoad(want, 128, cfg, coord)
			if cfg.DataType == tile.TFloat32 || cfg.DataType == tile.TFloat32FTZ {
				roundInside(want, 128, cfg, coord)
			}
		}
		if d := firstDiff(s.Bytes(), want); d >= 0 {
			t.Fatalf("Load at %v: byte %d is %#x, want %#x", coord, d, s.Bytes()[d], want[d])
		}
		negative := slices.Min(coord) < 0
		if err := tile.Store(m, coord, s, 128); (err != nil) != (cfg.Global == nil || negative) {
			t.Fatalf("Store at %v: %v with %d bytes", coord, err, len(cfg.Global))
		}
		op := tile.ReduceOp(seed % 10)
		if err := tile.Reduce(m, op, coord, s, 128); err == nil && (cfg.Global == nil || negative) {
			t.Fatalf("%v at %v succeeds with %d bytes", op, coord, len(cfg.Global))
		}
		if !slices.Equal(guarded[:len(canary)], canary[:]) ||
			!slices.Equal(guarded[len(guarded)-len(canary):], canary[:]) {
			t.Fatal("a write fell outside the memory of the map")
		}
	})
}

var canary = [64]byte{1, 2, 3, 5, 7, 11, 13, 17, 63: 19}

// smallDims bounds dims so that coordinates around them fit 32 bits.
func smallDims(dims []uint64) []uint64 {
	small := slices.Clone(dims)
	for d := range small {
		small[d] = min(small[d], 1<<30)
	}
	return small
}
