package mma_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/mma"
)

// Every instruction with a sparse A gives the bits that it gave on an H200, with every selector.
func TestSparseGolden(t *testing.T) {
	records, err := golden.Records("testdata/mma_sp.txt.gz", golden.ParseSparseMMAs)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]int{}
	for i := range records {
		recorded[fmt.Sprint(records[i].Op, " ", records[i].Selector)]++
		if text, err := replay.SparseMMA(&records[i]); text != "" || err != nil {
			t.Errorf("record %d: %s %v", i, text, err)
		}
	}
	instructions := 0
	for _, op := range sparse() {
		for selector := range op.Selectors() {
			if instructions++; recorded[fmt.Sprint(op, " ", selector)] == 0 {
				t.Errorf("no record of %v with selector %d", op, selector)
			}
		}
	}
	if instructions != len(recorded) {
		t.Errorf("records of %d instructions and selectors, want %d", len(recorded), instructions)
	}
}

// Every chunk of A is in one field of one lane that a selector names.
func TestMetadataCoord(t *testing.T) {
	for _, op := range sparse() {
		seen := map[[2]int]int{}
		for lane := range mma.Lanes {
			for i := range 8 {
				row, chunk := op.MetadataCoord(lane, i)
				seen[[2]int{row, chunk}]++
				if l, j := op.MetadataIndex(lane%4*op.Selectors()/4, row, chunk); l != lane || j != i {
					t.Fatalf("%v: (%d, %d) is field %d of lane %d, want %d of %d", op, row, chunk, j, l, i, lane)
				}
			}
		}
		for at, n := range seen {
			if n != op.Selectors() {
				t.Errorf("%v: %v is in %d fields, want %d", op, at, n, op.Selectors())
			}
		}
	}
}

// numbers are an A of small integers in T, which every type has, and what Compress makes of it.
type numbers struct {
	a      []int
	values []uint64
	meta   []mma.Metadata
}

// compressed returns a sparse A of so many tiles of op, side by side.
func compressed[T ~uint8 | ~uint16 | ~float32](t *testing.T, r *rand.Rand, op mma.Op, tiles int, number func(int) T,
	bits func(T) uint64) *numbers {
	t.Helper()
	columns := tiles * op.Shape.K()
	n := &numbers{a: make([]int, op.Shape.M()*columns)}
	a := make([]T, len(n.a))
	of := 4
	if op.A == mma.TF32 {
		of = 2
	}
	for at := 0; at < len(a); at += of {
		for _, i := range r.Perm(of)[:of/2] {
			n.a[at+i] = r.IntN(3)
		}
		for i := range of {
			a[at+i] = number(n.a[at+i])
		}
	}
	values, meta, err := mma.Compress(op, a, columns)
	if err != nil || len(meta) != tiles {
		t.Fatalf("%v: metadata of %d tiles, want %d: %v", op, len(meta), tiles, err)
	}
	for _, v := range values {
		n.values = append(n.values, bits(v))
	}
	n.meta = meta
	return n
}

// A product of a compressed matrix is that of the matrix, with every selector.
func TestCompress(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const tiles = 2
	for _, op := range sparse() {
		fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
		// Representations, which 0 has as 0 and others have not.
		represent := func(v int) uint64 {
			x := fa.Make()
			fa.SetFloat32(x, 0, 0, float32(v))
			return fa.Bits(x, 0, 0)
		}
		var n *numbers
		switch fa.Elements() * 4 / fa.Registers() {
		case 16:
			n = compressed(t, r, op, tiles, func(v int) uint8 { return uint8(represent(v)) },
				func(v uint8) uint64 { return uint64(v) })
		case 8:
			n = compressed(t, r, op, tiles, func(v int) uint16 { return uint16(represent(v)) },
				func(v uint16) uint64 { return uint64(v) })
		default:
			n = compressed(t, r, op, tiles, func(v int) float32 { return float32(v) },
				func(v float32) uint64 { return uint64(math.Float32bits(v)) })
		}
		for selector := range op.Selectors() {
			d, want := fd.Make(), make([]int, fd.Rows*fd.Cols)
			for tile := range tiles {
				a, b := fa.Make(), fb.Make()
				for row := range fa.Rows {
					for col := range fa.Cols {
						lane, i := fa.Index(row, col)
						fa.SetBits(a, lane, i, n.values[(row*tiles+tile)*fa.Cols+col])
					}
				}
				for k := range fb.Rows {
					for col := range fb.Cols {
						lane, i := fb.Index(k, col)
						v := r.IntN(3)
						fb.SetFloat32(b, lane, i, float32(v))
						for row := range fa.Rows {
							want[row*fb.Cols+col] += v * n.a[(row*tiles+tile)*fb.Rows+k]
						}
					}
				}
				if err := new(mma.Warp).MMASparse(op, d, a, b, &n.meta[tile], selector); err != nil {
					t.Fatal(err)
				}
			}
			for row := range fd.Rows {
				for col := range fd.Cols {
					lane, i := fd.Index(row, col)
					if got := fd.Float32(d, lane, i); got != float32(want[row*fd.Cols+col]) {
						t.Fatalf("%v, selector %d: D(%d, %d) is %v, want %d", op, selector, row, col, got, want[row*fd.Cols+col])
					}
				}
			}
		}
	}
}

// What there is no sparse instruction for, and what PTX leaves undefined, is an error.
func TestSparseErrors(t *testing.T) {
	bf16 := mma.Op{Shape: mma.M16N8K32, A: mma.BF16, B: mma.BF16, D: mma.F32, Sparse: true}
	ordered, narrow, tf32, fp8 := bf16, bf16, bf16, bf16
	ordered.Ordered = true
	narrow.Shape = mma.M16N8K16
	tf32.Shape, tf32.A, tf32.B = mma.M16N8K16, mma.TF32, mma.TF32
	fp8.Shape, fp8.A, fp8.B = mma.M16N8K64, mma.E4M3, mma.E5M2
	valid := func(field uint32) *mma.Metadata {
		var m mma.Metadata
		for i := range m {
			m[i] = field * 0x11111111
		}
		return &m
	}
	spoiled := func(field uint32, lane, i int, bad uint32) *mma.Metadata {
		m := valid(field)
		m[lane] ^= (field ^ bad) << (4 * i)
		return m
	}
	for _, c := range []struct {
		op       mma.Op
		meta     *mma.Metadata
		selector int
		want     string
	}{
		{bf16, valid(4), 0, ""},
		{bf16, valid(1), 1, ""}, // a chunk's second element before its first
		{ordered, valid(4), 0, ""},
		{ordered, valid(1), 0, "metadata of row 0, chunk 0 (lane 0, bits 0 to 3) is 0b0001, must be two places in ascending"},
		{bf16, spoiled(4, 5, 2, 5), 1, ""}, // of a lane that does not count
		{bf16, spoiled(4, 5, 2, 5), 0, "row 1, chunk 6 (lane 5, bits 8 to 11) is 0b0101, must be two different places"},
		{narrow, spoiled(4, 5, 6, 5), 0, ""},
		{narrow, spoiled(4, 5, 6, 5), 1, "row 9, chunk 2 (lane 5, bits 24 to 27) is 0b0101, must be two different places"},
		{fp8, spoiled(4, 5, 2, 0), 0, "row 9, chunk 2 (lane 5, bits 8 to 11) is 0b0000, must be two different places"},
		{tf32, valid(14), 0, ""},
		{tf32, spoiled(14, 5, 2, 9), 0, "row 1, chunk 6 (lane 5, bits 8 to 11) is 0b1001, must be 0b0100 or 0b1110"},
		{bf16, nil, 0, "the metadata is nil"},
		{narrow, valid(4), 3, ""},
		{narrow, valid(4), 4, "sparsity selector 4, must be 0 to 3"},
		{bf16, valid(4), 2, "sparsity selector 2, must be 0 to 1"},
		{fp8, valid(4), -1, "sparsity selector -1, must be 0 to 0"},
	} {
		d, a, b := c.op.FragmentD().Make(), c.op.FragmentA().Make(), c.op.FragmentB().Make()
		err := new(mma.Warp).MMASparse(c.op, d, a, b, c.meta, c.selector)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "mma: "+c.op.String()+": ")) {
			t.Errorf("%v: %v, want %q", c.op, err, c.want)
		}
		if err := new(mma.Warp).MMASparse(c.op, d, a[1:], b, valid(4), 0); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("%d registers of A, want %d", len(a)-1, len(a))) {
			t.Errorf("%v: %v", c.op, err)
		}
		if err := new(mma.Warp).MMA(c.op, d, a, b); err == nil ||
			!strings.Contains(err.Error(), "MMASparse issues instructions with a sparse A, MMA those with a dense one") {
			t.Errorf("%v: %v", c.op, err)
		}
	}
	d, a, b := narrow.FragmentD().Make(), narrow.FragmentA().Make(), narrow.FragmentB().Make()
	d[3][31] = 7
	narrow.Sparse = false // MMASparse sets it
	if err := new(mma.Warp).MMASparse(narrow, d, a, b, valid(4), 0); err != nil || d[3][31] != 7 {
		t.Errorf("%v, D is %d and more", err, d[3][31])
	}
	narrow.Saturate = true
	err := new(mma.Warp).MMASparse(narrow, d, a, b, valid(4), 0)
	if err == nil || !strings.Contains(err.Error(), ".satfinite exists only for s8 and u8") {
		t.Error(err)
	}
}

// What there is not panics, and Compress says what it cannot split.
func TestSparseMisuse(t *testing.T) {
	op := mma.Op{Shape: mma.M16N8K16, A: mma.BF16, B: mma.BF16, D: mma.F32, Sparse: true}
	for want, f := range map[string]func(){
		"A is not sparse":                           func() { bf16K16.Selectors() },
		"nothing multiplies Type(0) by Type(0)":     func() { mma.Op{Sparse: true}.Selectors() },
		"metadata 8 of lane 0, have 8 in each of":   func() { op.MetadataCoord(0, 8) },
		"metadata 0 of lane 32, have 8 in each of":  func() { op.MetadataCoord(32, 0) },
		"sparsity selector 4, must be 0 to 3":       func() { op.MetadataIndex(4, 0, 0) },
		"metadata of row 16, chunk 0, have 16 rows": func() { op.MetadataIndex(0, 16, 0) },
		"metadata of row 0, chunk 4, have 16 rows":  func() { op.MetadataIndex(0, 0, 4) },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "mma: ") || !strings.Contains(v, want) {
					t.Errorf("panic %q, want %q", v, want)
				}
			}()
			f()
		}()
	}
	tile := make([]uint16, 32*16)
	tile[20*16+4], tile[20*16+6], tile[20*16+7] = 1, 2, 3
	for want, err := range map[string]error{
		"row 20, columns 4 to 7: [1 0 2 3], must have at most 2 other than 0": compressError(op, tile, 16),
		"512 elements in rows of 24, must be a multiple of 16 rows of a mult": compressError(op, tile, 24),
		"16 elements in rows of 16, must be a multiple of 16 rows of a multi": compressError(op, tile[:16], 16),
		"elements of 1 bytes, must be of 2":                                   compressError(op, []int8{}, 16),
		"nothing multiplies Type(0) by Type(0) with a sparse A":               compressError(mma.Op{}, tile, 16),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "mma: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func compressError[T ~int8 | ~uint16](op mma.Op, a []T, columns int) error {
	_, _, err := mma.Compress(op, a, columns)
	return err
}
