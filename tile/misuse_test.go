package tile_test

import (
	"errors"
	"testing"

	"example.com/leafhopper/tile"
)

// Every error of a copy or a map has its rule, wrapped or not, but those of barriers, which are no misuse of the copy.
func TestMisuse(t *testing.T) {
	const noMisuse = tile.Rule(0)
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	m, s, g := newMap(t, cfg), newShared(t, 2048), tile.Global{Bytes: cfg.Global}
	pixels := newMap(t, tile.Config{
		DataType: tile.Uint8, Global: cfg.Global, Dims: []uint64{16, 8, 8}, Strides: []uint64{16, 128},
		Im2col: &tile.Im2col{
			PixelBoxLowerCorner: []int32{-1}, PixelBoxUpperCorner: []int32{-1}, ChannelsPerPixel: 16, PixelsPerColumn: 8,
		},
	})
	c, bars, origin := tile.Cluster{s, newShared(t, 16)}, newBarriers(t, 2), []int32{0, 0}
	descriptor, changed, none := m.Descriptor(), pixels.Descriptor(), tile.Descriptor{}
	_, noMap := tile.NewTensorMap(tile.Config{DataType: tile.Uint8, Address: 8, Dims: []uint64{16}, Box: []uint32{16}})
	_, neverSet := none.Map()
	var th tile.Thread
	for _, e := range []struct {
		name string
		err  error
		rule tile.Rule
	}{
		{"a range that ends beyond", tile.StoreBulk(g, 256*64, s, 0, 16), tile.RuleBytes},
		{"a box that ends beyond", tile.Load(s, 1920, m, origin, nil), tile.RuleBytes},
		{"a box that ends beyond in one CTA", c.LoadMulticast(2, 0, m, origin, nil), tile.RuleBytes},
		{"no memory", tile.Store(m, origin, nil, 0), tile.RuleBytes},
		{"ranges that overlap", tile.CopyBulk(s, 0, s, 16, 32, nil), tile.RuleBytes},
		{"more than a barrier counts", tile.LoadBulk(s, 0, g, 0, 1<<20, nil), tile.RuleBytes},
		{"half a word", th.StoreAsync(s, 0, make([]byte, 2), nil), tile.RuleBytes},
		{"half an element", th.ReduceAsync(s, 0, tile.ReduceAdd, tile.Uint64, make([]byte, 4), nil), tile.RuleBytes},

		{"a size", tile.PrefetchBulk(g, 0, 8), tile.RuleAlignment},
		{"a negative size", tile.PrefetchBulk(g, 0, -16), tile.RuleAlignment},
		{"an address", tile.StoreBulk(g, 8, s, 0, 16), tile.RuleAlignment},
		{"a negative offset of global memory", tile.StoreBulk(g, -16, s, 0, 16), tile.RuleAlignment},
		{"an offset of a box", tile.Load(s, 64, m, origin, nil), tile.RuleAlignment},
		{"a negative offset", tile.Load(s, -128, m, origin, nil), tile.RuleAlignment},
		{"an offset in one CTA", c.LoadBulkMulticast(2, 8, g, 0, 16, nil), tile.RuleAlignment},
		{"an inner coordinate", tile.Prefetch(m, []int32{4, 0}), tile.RuleAlignment},
		{"a negative coordinate of a store", tile.Store(m, []int32{0, -1}, s, 0), tile.RuleMap},

		{"no map", tile.Prefetch(nil, origin), tile.RuleMap},
		{"a map of no memory", tile.Prefetch(newMap(t, base()), origin), tile.RuleMap},
		{"a coordinate too few", tile.Prefetch(m, origin[:1]), tile.RuleMap},
		{"no offsets", tile.Prefetch(pixels, []int32{0, 0, 0}), tile.RuleMap},
		{"an offset of W", tile.Prefetch(pixels, []int32{0, 0, 0, -1}), tile.RuleMap},
		{"a start outside the bounding box", tile.Prefetch(pixels, []int32{0, 8, 0, 0}), tile.RuleMap},
		{"a bounding box outside", tile.Store(pixels, []int32{0, 0, 0}, s, 0), tile.RuleMap},
		{"no such operation", tile.ReduceBulk(g, 0, tile.ReduceInc, tile.Int32, s, 0, 16), tile.RuleMap},
		{"no such CTA", c.LoadMulticast(4, 0, m, origin, nil), tile.RuleMap},
		{"too large a cluster", make(tile.Cluster, 17).LoadMulticast(1, 0, m, origin, nil), tile.RuleMap},
		{"a map's address", noMap, tile.RuleMap},
		{"a descriptor's stride", descriptor.ReplaceGlobalStride(0, 8), tile.RuleMap},
		{"a descriptor of pixels", changed.ReplaceRank(1), tile.RuleMap},
		{"a descriptor of nothing", neverSet, tile.RuleMap},

		{"a barrier short", c.LoadMulticast(1, 0, m, origin, bars[:1]), noMisuse},
		{"no barrier", th.Load(s, 0, m, origin, nil), noMisuse},
	} {
		var misuse *tile.Misuse
		rule := noMisuse
		if errors.As(e.err, &misuse) {
			rule = misuse.Rule
		}
		if e.err == nil || rule != e.rule {
			t.Errorf("%s: %v of %v, want %v", e.name, e.err, rule, e.rule)
		}
	}
	for rule, want := range map[tile.Rule]string{
		noMisuse: "Rule(0)", tile.RuleBytes: "bytes", tile.RuleAlignment: "alignment", tile.RuleMap: "tensor map",
	} {
		if got := rule.String(); got != want {
			t.Errorf("rule %d is called %q, want %q", uint8(rule), got, want)
		}
	}
}
