package tile_test

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"example.com/leafhopper/tile"
)

func TestReduceErrors(t *testing.T) {
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	m := newMap(t, cfg)
	s := newShared(t, m.SharedBytes())
	for _, c := range []struct {
		m      *tile.TensorMap
		coord  []int32
		s      *tile.Shared
		offset int
		want   string
	}{
		{nil, []int32{0, 0}, s, 0, "map is nil"},
		{newMap(t, base()), []int32{0, 0}, s, 0, "no global memory"},
		{m, []int32{0}, s, 0, "1 coordinates for a map of rank 2"},
		{m, []int32{4, 0}, s, 0, "inner coordinate 4"},
		{m, []int32{0, -1}, s, 0, "is negative"},
		{m, []int32{0, 0}, nil, 0, "source is nil"},
		{m, []int32{0, 0}, s, 128, "end beyond"},
	} {
		if err := tile.Reduce(c.m, tile.ReduceAdd, c.coord, c.s, c.offset); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}

// Reductions of many goroutines, through two maps whose memory overlaps, lose
// nothing.
func TestReduceIsAtomic(t *testing.T) {
	const workers, rounds, rows, shift = 4, 20, 40, 20
	global := make([]byte, (rows+shift)*256)
	cfg := tile.Config{
		DataType: tile.Uint32, Dims: []uint64{64, rows}, Strides: []uint64{256},
		Box: []uint32{32, 16}, Swizzle: tile.Swizzle128B,
	}
	low, high := cfg, cfg
	low.Global, high.Global = global[:rows*256], global[shift*256:]
	maps := []*tile.TensorMap{newMap(t, low), newMap(t, high)}
	s := newShared(t, maps[0].SharedBytes())
	for i := 0; i < len(s.Bytes()); i += 4 {
		binary.LittleEndian.PutUint32(s.Bytes()[i:], 1)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 0))
			for range rounds {
				for _, k := range r.Perm(12) { // 2 maps, 2 columns and 3 rows of boxes
					coord := []int32{int32(k / 2 % 2 * 32), int32(k / 4 * 16)}
					if err := tile.Reduce(maps[k%2], tile.ReduceAdd, coord, s, 0); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := 0; i < len(global); i += 4 {
		want := uint32(0)
		if i/256 < rows {
			want += workers * rounds
		}
		if i/256 >= shift {
			want += workers * rounds
		}
		if got := binary.LittleEndian.Uint32(global[i:]); got != want {
			t.Fatalf("row %d, column %d is %d, want %d", i/256, i%256/4, got, want)
		}
	}
}

func TestReduceOpString(t *testing.T) {
	for op, want := range map[tile.ReduceOp]string{
		0: "ReduceOp(0)", tile.ReduceAdd: "ReduceAdd", tile.ReduceXor: "ReduceXor", 9: "ReduceOp(9)",
	} {
		if got := op.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}
