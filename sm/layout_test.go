package sm_test

import (
	"strings"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// part is the map of boxes of so many of the columns and rows of a larger matrix.
func part(s tile.Swizzle, box ...uint32) *tile.TensorMap {
	return mapped(tile.Config{Dims: []uint64{512, 256}, Box: box, Swizzle: s})
}

// split is that of boxes of so many rows, and so many blocks of columns, which a box has one behind the other.
func split(s tile.Swizzle, columns, rows, blocks uint32) *tile.TensorMap {
	return mapped(tile.Config{
		Dims: []uint64{uint64(columns), 256, uint64(512 / columns)}, Strides: []uint64{1024, uint64(2 * columns)},
		Box: []uint32{columns, rows, blocks}, Swizzle: s,
	})
}

// packed is that of boxes of so many rows of 128 bytes, which lie side by side in global memory.
func packed(rows uint32) *tile.TensorMap {
	return mapped(tile.Config{Dims: []uint64{64, 2048}, Box: []uint32{64, rows}, Swizzle: tile.Swizzle128B})
}

func mapped(cfg tile.Config) *tile.TensorMap {
	m, err := sm.NewTensorMap(make([]bf16.BF16, 512*256), cfg)
	assert(err == nil, "%v", err)
	return m
}

// onward is 66 rows of one matrix, by boxes of 64 and of 2.
func onward(s tile.Swizzle) []box {
	data, boxes := make([]bf16.BF16, 64*66), []box{{}, {at: 64 * 128, y: 64}}
	for i, rows := range []uint32{64, 2} {
		m, err := sm.NewTensorMap(data, tile.Config{Dims: []uint64{64, 66}, Box: []uint32{64, rows}, Swizzle: s})
		assert(err == nil, "%v", err)
		boxes[i].m = m
	}
	return boxes
}

// A box is loaded at so many bytes from the beginning of an operand.
type box struct {
	m        *tile.TensorMap
	at, x, y int
}

// An operandIn is an operand of boxes, and what an instruction says of it.
type operandIn struct {
	name  string
	op    wgmma.Op
	boxes []box
	right []wgmma.Descriptor // Start is from its beginning
	wrong wgmma.Descriptor
	says  string // of that
}

// firstOfChunks is metadata of an A with the first two of each four elements.
var firstOfChunks = func() (m wgmma.Metadata) {
	for i := range m {
		m[i] = 0x44444444
	}
	return m
}()

// kernel multiplies the operand, as B if it has no 64 rows, by another.
func (o *operandIn) kernel(descriptors ...wgmma.Descriptor) sm.Kernel {
	return func(b *sm.Block) {
		x, other := sm.Shared[bf16.BF16](b, 64*256, 1024), sm.Shared[bf16.BF16](b, 64*64, 1024)
		loaded(b, o.op, func(t *sm.Thread, full *sm.Barrier) {
			rest := part(tile.Swizzle128B, 64, 64)
			bytes := rest.BoxBytes()
			for _, l := range o.boxes {
				bytes += l.m.BoxBytes()
			}
			full.ArriveTx(t, 1, bytes)
			t.LoadTensor(other, rest, full, 0, 0)
			for _, l := range o.boxes {
				t.LoadTensor(x.At(l.at/2), l.m, full, []int{l.x, l.y, 0}[:l.m.Rank()]...)
			}
		}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
			for _, x := range descriptors {
				if o.op.Sparse {
					w.MMASparse(o.op, d, other.KMajor(tile.Swizzle128B), x, &firstOfChunks, 0)
				} else if o.op.N == 64 {
					w.MMA(o.op, d, x, other.KMajor(tile.Swizzle128B))
				} else {
					w.MMA(o.op, d, other.KMajor(tile.Swizzle128B), x)
				}
			}
		})
	}
}

func operandsIn() []operandIn {
	const none, by32, by64, by128 = tile.SwizzleNone, tile.Swizzle32B, tile.Swizzle64B, tile.Swizzle128B
	type desc = wgmma.Descriptor
	k, mn := wgmma.KMajor, wgmma.MNMajor
	op := func(n int) wgmma.Op { return wgmma.Op{Kind: wgmma.BF16F32, N: n} }
	a, aT, bT := op(64), op(64), func(n int) wgmma.Op { return wgmma.Op{Kind: wgmma.BF16F32, N: n, TransposeB: true} }
	aT.TransposeA = true
	sparse, sparseT := op(32), bT(128)
	sparse.Sparse, sparseT.Sparse = true, true
	one := func(m *tile.TensorMap) []box { return []box{{m: m}} }
	// several boxes of one map, one behind the other.
	several := func(m *tile.TensorMap, n, x, y int) (boxes []box) {
		for i := range n {
			boxes = append(boxes, box{m, i * m.SharedBytes(), i * x, i * y})
		}
		return boxes
	}
	return []operandIn{
		{"SBO of two tiles", a, one(part(by128, 64, 64)), []desc{k(0, by128), k(96, by128)},
			desc{SBO: 2048, Swizzle: by128}, "SBO:2048 BaseOffset:0 Swizzle:Swizzle128B} (row 8, k 0) of A is row 16, byte 0"},
		{"SBO of half a tile", a, several(part(by128, 64, 32), 2, 0, 32), []desc{k(64, by128)},
			desc{SBO: 512, Swizzle: by128}, "(row 8, k 0) of A is row 4, byte 0"},
		{"SBO of another swizzle", op(128), several(part(by64, 32, 64), 3, 0, 64),
			[]desc{k(0, by64), k(4096, by64), k(512+32, by64)},
			desc{SBO: 1024, Swizzle: by64}, "SBO 512 and BaseOffset 0 have the rows of a box in order"},
		{"no SBO", op(16), one(part(by32, 16, 64)), []desc{k(0, by32), k(48*32, by32)},
			desc{Swizzle: by32}, "(column 8, k 0) of B is row 0, byte 0"},
		{"LBO and SBO exchanged", a, several(part(none, 8, 64), 2, 8, 0), []desc{{LBO: 1024, SBO: 128}},
			desc{LBO: 128, SBO: 1024}, "(row 8, k 0) of A is row 0, byte 0"},
		{"LBO and SBO exchanged, a box of all columns", op(32), one(split(none, 8, 32, 4)),
			[]desc{{LBO: 512, SBO: 128}, {Start: 1024, LBO: 512, SBO: 128}},
			desc{LBO: 128, SBO: 512}, "LBO is to be the distance of boxes, in this one 512"},
		{"LBO of half a box", op(8), several(part(none, 8, 16), 2, 8, 0),
			[]desc{{LBO: 256, SBO: 128}, {Start: 128, LBO: 256}}, desc{LBO: 128, SBO: 128},
			"(column 0, k 8) of B is row 8, byte 0"},
		{"LBO of one and a half boxes", op(16), several(part(none, 8, 16), 4, 8, 0),
			[]desc{{LBO: 256, SBO: 128}, {LBO: 512, SBO: 128}}, desc{LBO: 384, SBO: 128},
			"LBO is to be the distance of boxes, of these 256"},
		{"the distance of boxes of half their rows", bT(128), several(part(by128, 64, 64), 2, 64, 0),
			[]desc{mn(0, by128, 8192), mn(2048, by128, 8192), mn(3*2048, by128, 8192)}, mn(0, by128, 4096),
			"(column 64, k 0) of B is row 32, byte 0"},
		{"the distance of boxes that another follows", bT(96), several(part(by64, 32, 16), 5, 32, 0),
			[]desc{mn(0, by64, 1024), mn(0, by64, 2048)}, mn(0, by64, 1024+512),
			"LBO is to be the distance of boxes, of these 1024"},
		{"the distance of blocks of one box", bT(256), one(split(by128, 64, 32, 4)),
			[]desc{mn(0, by128, 4096), mn(2048, by128, 4096)}, mn(0, by128, 2048), "(column 64, k 0) of B is row 16, byte 0"},
		{"LBO and SBO exchanged, MN-major", aT, several(part(none, 8, 32), 8, 8, 0),
			[]desc{{LBO: 128, SBO: 512}, {Start: 256, LBO: 128, SBO: 512}}, desc{LBO: 512, SBO: 128},
			"(row 0, k 8) of A is row 0"},
		{"SBO of half a tile, MN-major", aT, one(part(by128, 64, 16)), []desc{mn(0, by128, 0)},
			desc{SBO: 512, Swizzle: by128}, "(row 0, k 8) of A is row 4"},
		{"a step of K that begins in the last chunk of a row", a, one(part(by128, 64, 64)), []desc{k(64, by128)},
			k(112, by128), "(row 0, k 8) of A is row 1, byte 0"},
		{"a step of K beyond the row", a, several(part(by64, 32, 64), 2, 32, 0), []desc{k(4096, by64), k(4096+32, by64)},
			k(64, by64), "(row 63, k 0) of A is row 0, byte 0"},
		{"a causal convolution, whose first rows are another tensor's", a, []box{{part(by128, 64, 3), 0, 0, 61},
			{part(by128, 64, 64), 3 * 128, 0, 0}}, []desc{k(0, by128), k(128, by128), k(256+32, by128)}, desc{}, ""},
		{"a convolution whose last rows are another tensor's", a, []box{{part(by128, 64, 64), 0, 0, 0},
			{part(by128, 64, 8), 8192, 0, 64}}, []desc{k(0, by128), k(128, by128), k(7*128, by128)}, desc{}, ""},
		{"SBO to the middle of another box", op(16), []box{{part(by128, 64, 8), 0, 0, 0}, {part(by128, 64, 64), 1024, 0, 8}},
			[]desc{k(0, by128), k(1024, by128)}, desc{SBO: 2048, Swizzle: by128}, "(column 8, k 0) of B is row 8"},
		{"rows in order, of boxes that continue each other", a, several(part(by128, 64, 64), 2, 0, 64),
			[]desc{k(128, by128), k(2048, by128)}, desc{}, ""},
		{"columns that begin in a row", bT(64 - 8), one(part(by128, 64, 16)),
			[]desc{mn(0, by128, 0), mn(16, by128, 0)}, mn(32, by128, 0), "(column 48, k 0) of B is row 1, byte 0"},
		{"a column beside a sparse A in two boxes", sparse, several(part(by32, 16, 32), 2, 16, 0),
			[]desc{{LBO: 1024, SBO: 256, Swizzle: by32}}, k(0, by32), "(column 0, k 16) of B is row 0, byte 16"},
		{"a step of K beside a sparse A, beyond the row", sparse, several(part(by128, 64, 32), 2, 64, 0),
			[]desc{k(0, by128), k(64, by128), k(4096+64, by128)}, k(96, by128), "(column 0, k 16) of B is row 1, byte 0"},
		{"32 rows of K beside a sparse A", sparseT, several(part(by128, 64, 32), 2, 64, 0), []desc{mn(0, by128, 4096)},
			mn(0, by128, 2048), "(column 64, k 0) of B is row 16, byte 0"},
		{"a base offset", a, one(part(by128, 64, 64)), []desc{k(0, by128)},
			desc{SBO: 1024, BaseOffset: 1, Swizzle: by128}, "(row 1, k 0) of A is row 1, byte 16"},
		{"a window of eight pixels in a halo, whose rows are loads", a, several(part(by128, 64, 10), 10, 0, 20),
			[]desc{{SBO: 1280, Swizzle: by128}, {Start: 2*1280 + 128 + 32, SBO: 1280, Swizzle: by128}},
			desc{SBO: 1152, Swizzle: by128}, "(row 8, k 0) of A is row 9, byte 0"},
		{"a window of every second row in a halo", op(32), one(split(by128, 64, 10, 8)),
			[]desc{{SBO: 2560, Swizzle: by128}, {Start: 1280 + 128, SBO: 2560, Swizzle: by128}},
			desc{SBO: 2048, Swizzle: by128}, "(column 8, k 0) of B is row 16, byte 0"},
		{"a window that moves on into a box of less rows", a, onward(by128),
			[]desc{k(0, by128), k(128, by128), k(256, by128)}, desc{}, ""},
		{"boxes of other heights", bT(128), []box{{part(by128, 64, 64), 0, 0, 0}, {part(by128, 64, 32), 8192, 64, 0},
			{part(by128, 64, 32), 8192 + 4096, 64, 32}}, []desc{mn(0, by128, 8192), mn(4096, by128, 8192)}, desc{}, ""},
		{"a window of eight pixels in a halo", a, one(split(by128, 64, 10, 8)),
			[]desc{{Start: 128, SBO: 1280, Swizzle: by128}, {Start: 256 + 32, SBO: 1280, Swizzle: by128}},
			desc{Start: 128, SBO: 1152, Swizzle: by128}, "(row 8, k 0) of A is row 10, byte 0"},
		{"pixels that are linear in rows", a, several(split(by128, 64, 8, 4), 2, 0, 8), []desc{k(0, by128)}, desc{}, ""},
		{"panels that are packed in global memory", bT(128), one(packed(128)),
			[]desc{mn(2048, by128, 8192), mn(0, by128, 4096)}, desc{}, ""},
		{"swizzle atoms that are packed in global memory, k block by k block", a, one(packed(128)),
			[]desc{{SBO: 2048, Swizzle: by128}, {Start: 1024 + 32, SBO: 2048, Swizzle: by128}},
			desc{SBO: 512, Swizzle: by128}, "(row 8, k 0) of A is row 4, byte 0"},
		{"swizzle atoms of several loads, k block by k block", a, several(packed(32), 4, 0, 32),
			[]desc{{SBO: 2048, Swizzle: by128}, {Start: 1024, SBO: 2048, Swizzle: by128}}, desc{}, ""},
		{"swizzle atoms that are packed in global memory, MN-major", bT(128), one(packed(32)),
			[]desc{{LBO: 1024, SBO: 2048, Swizzle: by128}}, desc{}, ""},
		{"core matrices that are packed in global memory", a, one(mapped(tile.Config{
			Dims: []uint64{8, 16384}, Box: []uint32{8, 256},
		})), []desc{{LBO: 128, SBO: 256}, {LBO: 1024, SBO: 128}}, desc{}, ""},
		{"core matrices that are packed in rows", a, one(mapped(tile.Config{
			Dims: []uint64{512, 256}, Box: []uint32{128, 8},
		})), []desc{{LBO: 128, SBO: 256}}, desc{}, ""},
	}
}

// TestLayout: a descriptor that does not have the operand as the loads do is a fault, and a right one none.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, o := range operandsIn() {
		t.Run(o.name, func(t *testing.T) {
			silent(t, block(128), o.kernel(o.right...))
			if o.says == "" {
				return
			}
			for _, m := range modes[1:] {
				err := launch(t, in(m, block(128)), o.kernel(o.wrong))
				faultOf(t, err, sm.RuleLayout, o.says, "LoadTensor by thread 0 at layout_test.go:")
				if !strings.HasPrefix(fault(t, err).Site, "layout_test.go:") {
					t.Errorf("site %s", fault(t, err).Site)
				}
			}
		})
	}
}

// TestLayoutOfParts: an operand that two CTAs have brought halves of, and one of which a box that is smaller than that
// before it has brought a part, the rest being what was there.
func TestLayoutOfParts(t *testing.T) {
	half := part(tile.Swizzle128B, 64, 32)
	silent(t, pair(128), func(b *sm.Block) {
		x, full := sm.Shared[bf16.BF16](b, 64*64, 1024), b.Barrier()
		b.Warpgroups(func(w *sm.Warpgroup) {
			t, d := w.Thread(0), w.Accumulators(wgmma.F32, narrow.N)
			full.Init(t, 1)
			w.ClusterSync()
			full.ArriveTx(t, 1, 2*half.BoxBytes())
			row := 32 * b.ClusterRank()
			t.LoadTensorMulticast(x.At(64*row), half, full, 0b11, 0, row)
			full.WaitParity(w, 0)
			w.Fence()
			for k := range 4 {
				a := x.At(16 * k).KMajor(tile.Swizzle128B)
				w.MMA(narrow, d, a, a)
			}
			w.CommitGroup()
			w.WaitGroup(0)
			w.ClusterSync()
		})
	})
	silent(t, block(128), func(b *sm.Block) {
		x, full := sm.Shared[bf16.BF16](b, 64*64, 1024), b.Barrier()
		b.Warpgroups(func(w *sm.Warpgroup) {
			t, d := w.Thread(0), w.Accumulators(wgmma.F32, narrow.N)
			full.Init(t, 1)
			for i, m := range []*tile.TensorMap{part(tile.Swizzle128B, 64, 64), half, part(tile.Swizzle128B, 64, 12)} {
				full.ArriveTx(t, 1, m.BoxBytes())
				t.LoadTensor(x, m, full, 0, 0)
				full.WaitParity(w, i)
				w.Fence()
				a := x.KMajor(tile.Swizzle128B)
				w.MMA(narrow, d, a, a)
				w.CommitGroup()
				w.WaitGroup(0)
			}
		})
	})
}
