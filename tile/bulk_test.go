package tile_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// A bulkCall is one call of any of the bulk functions. Global memory and two
// shared memories stand ready; where a function has no use for an operand, it
// ignores it.
type bulkCall struct {
	global       tile.Global
	at           int
	near, far    *tile.Shared
	offset, from int
	size         int
	bar          *barrier.Barrier
}

// bulkOps are the functions, what they read and write in terms of a bulkCall,
// and whether they complete a barrier.
var bulkOps = []struct {
	name               string
	fromGlobal, signal bool
	toGlobal, reduce   bool
	call               func(c bulkCall) error
}{
	{name: "bulk load", fromGlobal: true, signal: true, call: func(c bulkCall) error {
		return tile.LoadBulk(c.near, c.offset, c.global, c.at, c.size, c.bar)
	}},
	{name: "bulk copy", signal: true, call: func(c bulkCall) error {
		return tile.CopyBulk(c.near, c.offset, c.far, c.from, c.size, c.bar)
	}},
	{name: "bulk store", toGlobal: true, call: func(c bulkCall) error {
		return tile.StoreBulk(c.global, c.at, c.near, c.offset, c.size)
	}},
	{name: "bulk reduce", toGlobal: true, reduce: true, call: func(c bulkCall) error {
		return tile.ReduceBulk(c.global, c.at, tile.ReduceXor, tile.Uint32, c.near, c.offset, c.size)
	}},
	{name: "shared reduce", signal: true, reduce: true, call: func(c bulkCall) error {
		return tile.ReduceShared(c.near, c.offset, tile.ReduceXor, tile.Uint32, c.far, c.from, c.size, c.bar)
	}},
}

func newBarrier(t testing.TB) *barrier.Barrier {
	t.Helper()
	bar, err := barrier.New(1)
	if err != nil {
		t.Fatal(err)
	}
	return bar
}

// Bulk transfers move exactly their bytes, or combine them, and complete them.
func TestBulkMatchesModel(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range rounds(2000) {
		c := bulkCall{
			size: 16 * r.IntN(300), at: 16 * r.IntN(20), offset: 16 * r.IntN(20), from: 16 * r.IntN(20),
			global: tile.Global{Bytes: make([]byte, 320+300*16), Address: 16 * uint64(r.IntN(9))},
			near:   newShared(t, 320+300*16), far: newShared(t, 320+300*16),
		}
		op := bulkOps[r.IntN(len(bulkOps))]
		for _, b := range [][]byte{c.global.Bytes, c.near.Bytes(), c.far.Bytes()} {
			randomBytes(r, b)
		}
		global, near, far := slices.Clone(c.global.Bytes), slices.Clone(c.near.Bytes()), slices.Clone(c.far.Bytes())
		dst, src := near[c.offset:], far[c.from:]
		switch {
		case op.fromGlobal:
			src = global[c.at:]
		case op.toGlobal:
			dst, src = global[c.at:], near[c.offset:]
		}
		for i := range c.size {
			if op.reduce {
				dst[i] ^= src[i]
			} else {
				dst[i] = src[i]
			}
		}
		if op.signal {
			c.bar = newBarrier(t)
			c.bar.ArriveExpectTx(c.size + 16)
		}
		if err := op.call(c); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		if !bytes.Equal(global, c.global.Bytes) || !bytes.Equal(near, c.near.Bytes()) ||
			!bytes.Equal(far, c.far.Bytes()) {
			t.Fatalf("%s of %d bytes differs from the model", op.name, c.size)
		}
		if op.signal && c.bar.State().Tx != 16 {
			t.Fatalf("%s of %d bytes left %d of %d", op.name, c.size, c.bar.State().Tx, c.size+16)
		}
	}
}

// The rules of bulk transfers, each broken alone. An error names the rule and
// the values, and nothing is written or signalled.
func TestBulkErrors(t *testing.T) {
	const inGlobal, inNear, inFar, always = 1, 2, 4, 7
	for _, c := range []struct {
		uses   int // the operand that breaks the rule
		change func(c *bulkCall)
		want   string
	}{
		{always, func(c *bulkCall) { c.size = 24 }, "size 24 is not a multiple of 16"},
		{always, func(c *bulkCall) { c.size = -16 }, "size -16 is negative"},
		{always, func(c *bulkCall) { c.size = -1 }, "size -1 is negative"},
		{always, func(c *bulkCall) { c.size = math.MaxInt &^ 15 }, ""},
		{inGlobal, func(c *bulkCall) { c.at = 8 }, "address 0x108 (offset 8 from 0x100) is not a multiple of 16"},
		{inGlobal, func(c *bulkCall) { c.global.Address = 0x104 },
			"address 0x104 (offset 0 from 0x104) is not a multiple of 16"},
		{inGlobal, func(c *bulkCall) { c.at = -16 }, "offset -16 is negative"},
		{inGlobal, func(c *bulkCall) { c.at = 208 }, "64 bytes at "},
		{inGlobal, func(c *bulkCall) { c.at = math.MaxInt &^ 15 }, "end beyond its 256 bytes"},
		{inGlobal, func(c *bulkCall) { c.global.Bytes = nil }, "end beyond its 0 bytes"},
		{inNear, func(c *bulkCall) { c.offset = 8 }, "offset 8 is not a multiple of 16"},
		{inNear, func(c *bulkCall) { c.offset = -16 }, "offset -16 is negative"},
		{inNear, func(c *bulkCall) { c.offset = 208 }, "offset 208 end beyond its 256 bytes"},
		{inNear, func(c *bulkCall) { c.offset = math.MaxInt &^ 15 }, "end beyond its 256 bytes"},
		{inNear, func(c *bulkCall) { c.near = nil }, "is nil"},
		{inFar, func(c *bulkCall) { c.from = 24 }, "source offset 24 is not a multiple of 16"},
		{inFar, func(c *bulkCall) { c.from = -16 }, "source offset -16 is negative"},
		{inFar, func(c *bulkCall) { c.from = 208 }, "source offset 208 end beyond its 256 bytes"},
		{inFar, func(c *bulkCall) { c.far = nil }, "source is nil"},
		{inFar, func(c *bulkCall) { c.far, c.from = c.near, 48 },
			"64 bytes at source offset 48 and destination offset 0 overlap"},
	} {
		for _, op := range bulkOps {
			uses := inNear | inFar
			if op.fromGlobal || op.toGlobal {
				uses = inGlobal | inNear
			}
			if c.uses&uses == 0 {
				continue
			}
			call := bulkCall{
				size: 64, global: tile.Global{Bytes: bytes.Repeat([]byte{1}, 256), Address: 0x100},
				near: newShared(t, 256), far: newShared(t, 256), bar: newBarrier(t),
			}
			for i := range call.far.Bytes() {
				call.far.Bytes()[i] = 2
			}
			call.bar.ArriveExpectTx(64)
			global, near := call.global.Bytes, call.near
			c.change(&call)
			err := op.call(call)
			if err == nil || !strings.HasPrefix(err.Error(), "tile: "+op.name+": ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q in it", op.name, err, c.want)
			}
			if !bytes.Equal(global, bytes.Repeat([]byte{1}, 256)) || !bytes.Equal(near.Bytes(), make([]byte, 256)) {
				t.Errorf("%s: %q, and something was written", op.name, err)
			}
			if s := call.bar.State(); s.Phase != 0 || s.Tx != 64 {
				t.Errorf("%s: %q, and the barrier has %v", op.name, err, s)
			}
		}
	}
}

// A barrier counts no more bytes than MaxTx in a phase; stores have no barrier.
func TestBulkTooLargeForBarrier(t *testing.T) {
	const limit = barrier.MaxTx &^ 15
	near, far := newShared(t, limit+16), newShared(t, limit+16)
	global := tile.Global{Bytes: make([]byte, limit+16)}
	for _, op := range bulkOps {
		for _, size := range []int{limit, limit + 16} {
			err := op.call(bulkCall{global: global, near: near, far: far, size: size})
			if refuse := op.signal && size > limit; refuse != (err != nil) {
				t.Errorf("%s of %d bytes: %v", op.name, size, err)
			} else if refuse && !strings.Contains(err.Error(), "size 1048576 exceeds the 1048575 bytes") {
				t.Errorf("%s: %v", op.name, err)
			}
		}
	}
}

// An address and an offset that are aligned only together are aligned.
func TestBulkAlignmentOfSum(t *testing.T) {
	g := tile.Global{Bytes: []byte("01234567the sixteen bytes"), Address: 0x1008}
	s := newShared(t, 16)
	if err := tile.LoadBulk(s, 0, g, 8, 16, nil); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Bytes()); got != "the sixteen byte" {
		t.Errorf("loaded %q", got)
	}
}

func TestBulkAndMulticastDoNotAllocate(t *testing.T) {
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	m := newMap(t, cfg)
	g := tile.Global{Bytes: cfg.Global}
	c, bars := newCluster(t, rand.New(rand.NewPCG(1, 1)), 3, 4096)
	coord := []int32{0, 0}
	n := testing.AllocsPerRun(100, func() {
		bars[0].ArriveExpectTx(4096 + m.BoxBytes() + 3*1024)
		bars[2].ArriveExpectTx(m.BoxBytes() + 1024)
		for _, err := range [...]error{
			tile.LoadBulk(c[0], 0, g, 0, 4096, &bars[0]),
			tile.StoreBulk(g, 0, c[0], 0, 4096),
			tile.ReduceBulk(g, 0, tile.ReduceAdd, tile.Float32, c[0], 0, 4096),
			tile.CopyBulk(c[0], 0, c[1], 0, 1024, &bars[0]),
			tile.ReduceShared(c[0], 0, tile.ReduceAdd, tile.Uint64, c[1], 0, 1024, &bars[0]),
			c.LoadMulticast(5, 0, m, coord, bars),
			c.LoadBulkMulticast(5, 0, g, 0, 1024, bars),
			tile.Prefetch(m, coord),
			tile.PrefetchBulk(g, 0, 4096),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		observe(&bars[0])
		observe(&bars[2])
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if bars[0].State().Tx != 0 || bars[2].State().Tx != 0 {
		t.Errorf("barriers at %v and %v", &bars[0], &bars[2])
	}
}

// A prefetch checks what a load checks of its source, and touches nothing.
func TestPrefetch(t *testing.T) {
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	m := newMap(t, cfg)
	for _, c := range []struct {
		m     *tile.TensorMap
		coord []int32
		want  string
	}{
		{m, []int32{0, 0}, ""},
		{m, []int32{-8, 99}, ""},
		{nil, []int32{0, 0}, "map is nil"},
		{newMap(t, base()), []int32{0, 0}, "prefetch: tensor map has no global memory"},
		{m, []int32{0}, "prefetch: 1 coordinates for a map of rank 2"},
		{m, []int32{4, 0}, "prefetch: inner coordinate 4"},
	} {
		if err := tile.Prefetch(c.m, c.coord); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("Prefetch at %v: %v, want %q", c.coord, err, c.want)
		}
	}
	g := tile.Global{Bytes: make([]byte, 64), Address: 32}
	for _, c := range []struct {
		at, size int
		want     string
	}{
		{0, 64, ""}, {64, 0, ""}, {16, 32, ""},
		{8, 16, "address 0x28"}, {0, 8, "size 8"}, {16, 64, "beyond its 64 bytes"}, {-16, 16, "negative"},
	} {
		if err := tile.PrefetchBulk(g, c.at, c.size); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("PrefetchBulk(%d, %d): %v, want %q", c.at, c.size, err, c.want)
		}
	}
	if slices.ContainsFunc(append(cfg.Global, g.Bytes...), func(v byte) bool { return v != 0 }) {
		t.Error("a prefetch wrote")
	}
}

// Whatever the arguments, a bulk transfer is refused exactly when a rule is
// broken, and does not panic or reach outside its memory.
func FuzzBulk(f *testing.F) {
	f.Add(uint8(0), uint64(0), int64(0), int64(0), int64(0), int64(64), uint16(128))
	f.Add(uint8(1), uint64(8), int64(8), int64(16), int64(16), int64(32), uint16(64))
	f.Add(uint8(4), uint64(1<<63), int64(math.MinInt64), int64(math.MaxInt64), int64(-16), int64(math.MaxInt64&^15),
		uint16(1))
	f.Add(uint8(2), uint64(math.MaxUint64), int64(1), int64(0), int64(0), int64(0), uint16(16))
	f.Fuzz(func(t *testing.T, which uint8, address uint64, at, offset, from, size int64, memory uint16) {
		op := bulkOps[int(which)%len(bulkOps)]
		n := int(memory)%1024 + 1
		c := bulkCall{
			global: tile.Global{Bytes: make([]byte, n), Address: address}, at: int(at),
			near: newShared(t, n), far: newShared(t, n), offset: int(offset), from: int(from), size: int(size),
		}
		fits := func(at int64) bool {
			return at >= 0 && size >= 0 && at <= int64(n) && size <= int64(n)-at
		}
		legal := size%16 == 0 && fits(offset) && offset%16 == 0
		if op.fromGlobal || op.toGlobal {
			legal = legal && fits(at) && (address+uint64(at))%16 == 0
		} else {
			legal = legal && fits(from) && from%16 == 0
		}
		if err := op.call(c); legal != (err == nil) {
			t.Errorf("%s(%+v): %v, legal: %v", op.name, c, err, legal)
		}
	})
}
