package wgmma

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/internal/hopper"
	"example.com/leafhopper/tile"
)

// Every chunk of A belongs to one field of one thread that the selector names, for every size.
func TestMetadataCoord(t *testing.T) {
	for _, size := range []int{1, 2, 4} {
		seen := map[[2]int]int{}
		for thread := range Threads {
			for i := range 8 {
				row, chunk := MetadataCoord(size, thread, i)
				seen[[2]int{row, chunk}]++
				// The figures of PTX, in rows and columns of bits.
				lane := thread % 32
				wantRow, wantChunk, selector := thread/32*16+lane/4, lane%4/2*8+i, 0
				if size == 1 {
					wantRow += lane % 2 * 8
				} else {
					wantRow, wantChunk, selector = wantRow+i/4*8, lane%2*4+i%4, lane%4/2
				}
				if row != wantRow || chunk != wantChunk {
					t.Fatalf("size %d: field %d of thread %d is (%d, %d), want (%d, %d)", size, i, thread, row, chunk,
						wantRow, wantChunk)
				}
				if gotThread, gotI := MetadataIndex(size, selector, row, chunk); gotThread != thread || gotI != i {
					t.Fatalf("size %d: (%d, %d) is field %d of thread %d, want %d of %d", size, row, chunk, gotI, gotThread,
						i, thread)
				}
			}
		}
		each := map[int]int{1: 1, 2: 2, 4: 2}[size] // selectors
		if len(seen) != Threads*8/each {
			t.Errorf("size %d: %d chunks", size, len(seen))
		}
		for at, n := range seen {
			if n != each {
				t.Errorf("size %d: %v is in %d fields", size, at, n)
			}
		}
	}
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { MetadataCoord(3, 0, 0) }, "fragment elements of 3 bytes, must be 1, 2 or 4"},
		{func() { MetadataCoord(2, 128, 0) }, "metadata 0 of thread 128, have 8 in each of 128 threads"},
		{func() { MetadataCoord(2, 0, 8) }, "metadata 8 of thread 0, have 8 in each of 128 threads"},
		{func() { MetadataIndex(0, 0, 0, 0) }, "fragment elements of 0 bytes, must be 1, 2 or 4"},
		{func() { MetadataIndex(2, 2, 0, 0) }, "sparsity selector 2, must be 0 to 1 for elements of 2 bytes"},
		{func() { MetadataIndex(1, 1, 0, 0) }, "sparsity selector 1, must be 0 to 0 for elements of 1 bytes"},
		{func() { MetadataIndex(1, 0, 0, 16) }, "metadata of row 0, chunk 16, have 64 rows of 16 chunks"},
		{func() { MetadataIndex(4, 0, 64, 0) }, "metadata of row 64, chunk 0, have 64 rows of 8 chunks"},
	} {
		if got, want := fmt.Sprint(recovered(c.f)), "wgmma: "+c.want; got != want {
			t.Errorf("panics with %q, want %q", got, want)
		}
	}
}

// A sparse is a product of small integers, which every kind holds: A of two tiles of K, sparse, and B.
type sparse struct {
	op     Op
	a, b   [][]int // 64 rows of A, N columns of B
	stored [2][][]int
	meta   [2]Metadata
}

// ones has the representations of 0, 1 and 2 in every kind.
var ones = map[string][3]uint32{
	"bf16": {0, 0x3f80, 0x4000}, "f16": {0, 0x3c00, 0x4000}, "tf32": {0, 0x3f800000, 0x40000000},
	"e4m3": {0, 0x38, 0x40}, "e5m2": {0, 0x3c, 0x40}, "s8": {0, 1, 2}, "u8": {0, 1, 2},
}

// bitsOf returns the representation of 0, 1 or 2 as an element of A, or of B.
func bitsOf(op Op, v int, b bool) uint32 {
	types := strings.Split(op.Kind.String(), ".")
	if b {
		return ones[types[2]][v]
	}
	return ones[types[1]][v]
}

// newSparse draws one. Rows of A have fewer elements than may be stored, too.
func newSparse(t *testing.T, r *rand.Rand, op Op) *sparse {
	t.Helper()
	op.Sparse = true
	k, size := op.Shape().K, op.Kind.ElementSize()
	_, of := hopper.Sparsity(size)
	p := &sparse{op: op, a: make([][]int, M), b: make([][]int, op.N)}
	for j := range p.b {
		p.b[j] = make([]int, 2*k)
		for i := range p.b[j] {
			p.b[j][i] = r.IntN(3)
		}
	}
	for i := range p.a {
		p.a[i] = make([]int, 2*k)
		for at := 0; at < 2*k; at += of {
			for range of / 2 {
				p.a[i][at+r.IntN(of)] = r.IntN(3)
			}
		}
	}
	switch size {
	case 1:
		compress[uint8](t, p)
	case 2:
		compress[uint16](t, p)
	default:
		compress[float32](t, p)
	}
	return p
}

// compress has Compress take A apart, whose elements are as good as any.
func compress[T uint8 | uint16 | float32](t *testing.T, p *sparse) {
	t.Helper()
	var flat []T
	for _, row := range p.a {
		for _, v := range row {
			flat = append(flat, T(v))
		}
	}
	k := p.op.Shape().K
	values, meta, err := Compress(flat, 2*k)
	if err != nil || len(values) != M*k || len(meta) != 2 {
		t.Fatalf("%v: %d elements and %d metadata, %v", p.op, len(values), len(meta), err)
	}
	copy(p.meta[:], meta)
	for s := range p.stored {
		for i := range M {
			var row []int
			for _, v := range values[i*k+s*k/2:][:k/2] {
				row = append(row, int(v))
			}
			p.stored[s] = append(p.stored[s], row)
		}
	}
}

// What a row meets may be heavy though nothing that lies side by side is: kernels have to know that its sum may need a
// 33rd bit.
func TestSparseHeavy(t *testing.T) {
	shared, err := tile.NewShared(4 << 10)
	if err != nil {
		t.Fatal(err)
	}
	const heavy, light = 0x3fff, 0x3f80
	for i := 0; i < len(shared.Bytes()); i += 4 {
		binary.LittleEndian.PutUint32(shared.Bytes()[i:], light<<16|heavy)
	}
	a, d, twin := NewFragment(BF16F32), newAccumulator(t, F32, 8), newAccumulator(t, F32, 8)
	var even Metadata
	for thread := range even {
		even[thread] = 0x88888888
		for i := range 4 {
			a.SetRegister(thread, i, heavy<<16|heavy)
		}
	}
	for _, c := range []struct {
		d     *Accumulator
		plain bool
	}{{d, false}, {twin, true}} {
		for i := range M {
			c.d.Set(i, 3, 1.75)
		}
		w := NewWarpgroup(shared)
		w.plain = c.plain
		if err := w.MMASparse(Op{N: 8}, c.d, a, KMajor(0, tile.Swizzle64B), &even, 0); err != nil {
			t.Fatal(err)
		}
		w.CommitGroup()
		if err := w.WaitGroup(0); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := d.At(5, 3), twin.At(5, 3); got != want || want < 64 {
		t.Errorf("%v, want %v", got, want)
	}
}

// Every kind, in every layout, with A in shared memory and in registers, by either selector: two instructions on an
// accumulator sum what the dense matrices have.
func TestMMASparse(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 6))
	shared, err := tile.NewShared(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	for kind := BF16F32; kind < B1S32; kind++ {
		for variant := range 6 {
			op := Op{Kind: kind, N: []int{8, 16, 24, 64}[r.IntN(4)]}
			op.Saturate, op.NegateA = kind.Integer() && variant%2 == 1, !kind.Integer() && variant%3 == 1
			size := kind.ElementSize()
			op.TransposeA, op.TransposeB = size == 2 && variant%2 == 1, size == 2 && variant%3 > 0
			p := newSparse(t, r, op)
			registers := variant >= 3
			op.TransposeA = op.TransposeA && !registers
			selector := 0
			if size > 1 {
				selector = r.IntN(2)
			}
			w, d := NewWarpgroup(shared, Checked()), newAccumulator(t, kind.AccumulatorType(), op.N)
			for i := range M {
				d.Set(i, 1, 7)
			}
			w.Fence()
			for s := range 2 {
				swizzle := tile.Swizzle(r.IntN(4))
				place := func(start, rows, ks int, major Major, bits func(row, k int) uint32) Descriptor {
					// Large strides, in whatever order: nothing overlaps.
					desc := Descriptor{Start: start, LBO: 2048, SBO: 128, Swizzle: swizzle}
					if span := swizzle.Span(); span > 0 {
						desc.SBO = 8 * span
					}
					if major == MNMajorLayout {
						desc.LBO, desc.SBO = desc.SBO, 2048
						if swizzle.Span() > 0 {
							desc.LBO, desc.SBO = 4096, 8*swizzle.Span()
						}
					}
					for row := range rows {
						for k := range ks {
							var u [4]byte
							binary.LittleEndian.PutUint32(u[:], bits(row, k))
							copy(shared.Bytes()[desc.Address(major, size, row, k):], u[:size])
						}
					}
					return desc
				}
				k := Op{Kind: kind, N: 8, Sparse: true}.Shape().K
				b := place((1+2*s)<<14, op.N, k, Major(op.TransposeB), func(row, at int) uint32 {
					return bitsOf(op, p.b[row][s*k+at], true)
				})
				var a Operand
				element := func(row, at int) uint32 { return bitsOf(op, p.stored[s][row][at], false) }
				if registers {
					f := NewFragment(kind)
					for row := range M {
						for at := range k / 2 {
							f.SetBits(row, at, element(row, at))
						}
					}
					a = f
					w.Fence()
				} else {
					a = place(2*s<<14, M, k/2, Major(op.TransposeA), element)
				}
				meta := p.meta[s]
				if err := w.MMASparse(op, d, a, b, &meta, selector); err != nil {
					t.Fatal(err)
				}
				meta = Metadata{} // it has been read
			}
			w.CommitGroup()
			if err := w.WaitGroup(0); err != nil {
				t.Fatal(err)
			}
			for i := range p.a {
				for j := range p.b {
					want := 0
					for at, v := range p.a[i] {
						want += v * p.b[j][at]
					}
					if op.NegateA {
						want = -want
					}
					if j == 1 {
						want += 7
					}
					if got := d.At(i, j); got != float64(want) {
						t.Fatalf("%v, variant %d: D(%d, %d) is %v, want %d", p.op, variant, i, j, got, want)
					}
				}
			}
		}
	}
}

// What there is no sparse instruction for, and what PTX leaves undefined, is an error.
func TestMMASparseErrors(t *testing.T) {
	b := newWorkbench(t)
	b.b.LBO = 1024
	valid := func(field uint32) *Metadata {
		var m Metadata
		for i := range m {
			m[i] = field * 0x11111111
		}
		return &m
	}
	spoiled := func(field uint32, thread, i int, bad uint32) *Metadata {
		m := valid(field)
		m[thread] ^= (field ^ bad) << (4 * i)
		return m
	}
	const at = " (thread 5, bits 8 to 11) is "
	for _, c := range []struct {
		op       Op
		meta     *Metadata
		selector int
		want     string
	}{
		{Op{}, valid(4), 0, ""},
		{Op{}, valid(1), 1, ""}, // a chunk's second element before its first, as a GPU takes it
		{Op{}, spoiled(4, 5, 2, 5), 1, ""},
		{Op{}, spoiled(4, 5, 2, 5), 0, "metadata of row 1, chunk 6" + at + "0b0101, must be two different places"},
		{Op{Kind: S8S32}, spoiled(4, 5, 2, 0), 0, "metadata of row 9, chunk 2" + at + "0b0000, must be two different places"},
		{Op{Kind: TF32F32}, valid(14), 0, ""},
		{Op{Kind: TF32F32}, spoiled(14, 5, 2, 9), 0, "metadata of row 1, chunk 6" + at + "0b1001, must be 0b0100 or 0b1110"},
		{Op{}, nil, 0, "the metadata is nil"},
		{Op{}, valid(4), 2, "sparsity selector 2, must be 0 to 1 for elements of 2 bytes"},
		{Op{Kind: E4M3F32}, valid(4), 1, "sparsity selector 1, must be 0 to 0 for elements of 1 bytes"},
		{Op{Kind: TF32F32, TransposeB: true}, valid(4), 0, "imm-trans-a/b exist only for 16-bit types"},
		{Op{Saturate: true}, valid(4), 0, ".satfinite exists only for integer types"},
		{Op{Kind: B1S32}, valid(4), 0, "wgmma.mma_async.sp has no 1-bit types"},
	} {
		c.op.N = 8
		w, d := NewWarpgroup(b.shared), newAccumulator(t, c.op.Kind.AccumulatorType(), 8)
		err := w.MMASparse(c.op, d, b.a, b.b, c.meta, c.selector)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.op, err, c.want)
		}
	}
	w, d := NewWarpgroup(b.shared), newAccumulator(t, F32, 8)
	const want = "wgmma: m64n8k32.f32.bf16.bf16: MMASparse issues instructions with a sparse A, MMA those with a dense one"
	if err := w.MMA(Op{N: 8, Sparse: true}, d, b.a, b.b); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// A column of B has 64 bytes, the last of them behind the end.
	last := Descriptor{Start: len(b.shared.Bytes()) - 384, LBO: 128, SBO: 128}
	if err := w.MMA(Op{N: 8}, d, b.a, last); err != nil {
		t.Error(err)
	}
	err := w.MMASparse(Op{N: 8}, d, b.a, last, valid(4), 0)
	if err == nil || !strings.Contains(err.Error(), "reaches over") {
		t.Errorf("a B that ends outside: %v", err)
	}
}

// All 64 bytes of a column of B are the instruction's.
func TestSparseOverwritten(t *testing.T) {
	b := newWorkbench(t)
	b.b.LBO = 1024
	for chunk := range 4 {
		w, d := NewWarpgroup(b.shared, Checked()), newAccumulator(t, F32, 8)
		meta := Metadata{}
		for i := range meta {
			meta[i] = 0x44444444
		}
		w.Fence()
		if err := w.MMASparse(Op{N: 8}, d, b.a, b.b, &meta, 0); err != nil {
			t.Fatal(err)
		}
		w.CommitGroup()
		b.shared.Bytes()[bAt+1024*chunk+127]++
		if err := w.WaitGroup(0); rule(err) != RuleOperand {
			t.Errorf("16 bytes %d of B change: %v, want rule %d", chunk, err, RuleOperand)
		}
	}
}

// Compress says what it cannot split.
func TestCompressErrors(t *testing.T) {
	tile := make([]uint16, 2*M*64)
	tile[70*64+4], tile[70*64+6], tile[70*64+7] = 1, 2, 3
	for _, c := range []struct {
		a       []uint16
		columns int
		want    string
	}{
		{tile, 64, "wgmma: Compress: row 70, columns 4 to 7: [1 0 2 3], must have at most 2 other than 0"},
		{tile[:64*33], 33, "2112 elements in rows of 33, must be a multiple of 64 rows of a multiple of 32"},
		{tile[:64], 64, "64 elements in rows of 64, must be a multiple of 64 rows"},
		{tile, 0, "8192 elements in rows of 0, must be"},
		{tile, -32, "in rows of -32, must be"},
		{tile, math.MaxInt/2 + 1, "8192 elements in rows of"},
	} {
		if _, _, err := Compress(c.a, c.columns); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d elements, %d columns: %v, want %q", len(c.a), c.columns, err, c.want)
		}
	}
	if _, _, err := Compress(slices.Repeat([]float32{1, 1}, M*8), 16); err == nil ||
		!strings.Contains(err.Error(), "row 0, columns 0 to 1: [1 1], must have at most 1 other than 0") {
		t.Error(err)
	}
	if values, meta, err := Compress([]int8{}, 64); err != nil || len(values)+len(meta) > 0 {
		t.Errorf("an empty matrix: %v, %v, %v", values, meta, err)
	}
}
