package wgmma

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/tile"
)

const depth = 64 // K of the operands here

// A loaded operand is a descriptor of its first step of K, and how to get to
// the others.
type loaded struct {
	first Descriptor
	step  func(i int) int // bytes from the first
}

// load writes the operand f, rows by depth, to shared memory from start on: one
// tensor copy for every span of the inner dimension.
func load(
	t *testing.T, shared *tile.Shared, start, rows int, major Major, swizzle tile.Swizzle, f func(r, k int) int,
) loaded {
	t.Helper()
	inner, outer := depth, rows
	if major == MNMajorLayout {
		inner, outer = rows, depth
	}
	global := make([]byte, inner*outer*2)
	for r := range rows {
		for k := range depth {
			at := r*depth + k
			if major == MNMajorLayout {
				at = k*rows + r
			}
			binary.LittleEndian.PutUint16(global[2*at:], bf16.FromFloat32(float32(f(r, k))).Bits())
		}
	}
	span := max(swizzle.Span(), unit)
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.BFloat16,
		Global:   global,
		Dims:     []uint64{uint64(inner), uint64(outer)},
		Strides:  []uint64{uint64(2 * inner)},
		Box:      []uint32{uint32(span / 2), uint32(outer)},
		Swizzle:  swizzle,
	})
	if err != nil {
		t.Fatal(err)
	}
	box := m.SharedBytes()
	for i := range inner * 2 / span {
		if err := tile.Load(shared, start+i*box, m, []int32{int32(i * span / 2), 0}, nil); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case swizzle == tile.SwizzleNone && major == KMajorLayout:
		return loaded{Descriptor{Start: start, LBO: box, SBO: 128}, func(i int) int { return 2 * i * box }}
	case swizzle == tile.SwizzleNone:
		return loaded{Descriptor{Start: start, LBO: 128, SBO: box}, func(i int) int { return 256 * i }}
	case major == KMajorLayout:
		return loaded{KMajor(start, swizzle), func(i int) int { return 32*i/span*box + 32*i%span }}
	}
	return loaded{MNMajor(start, swizzle, box), func(i int) int { return 16 * i * span }}
}

// Operands loaded by tensor copies multiply as they should, in every pair of
// layouts.
func TestTensorCopyMMA(t *testing.T) {
	const n = 128
	fa := func(r, k int) int { return (7*r+3*k+r*k)%11 - 5 }
	fb := func(r, k int) int { return (5*r+2*k+r*k)%13 - 6 }
	var product [M][n]int
	for i := range M {
		for j := range n {
			for k := range depth {
				product[i][j] += fa(i, k) * fb(j, k)
			}
		}
	}
	shared, err := tile.NewShared(24 << 10)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWarpgroup(shared, Checked())
	pairs := 0
	for layout := range 64 {
		majorA, majorB := layout&1 == 1, layout&2 == 2
		swizzleA, swizzleB := tile.Swizzle(layout>>2&3), tile.Swizzle(layout>>4)
		name := fmt.Sprintf("A %v transposed %v, B %v transposed %v", swizzleA, majorA, swizzleB, majorB)
		a := load(t, shared, 0, M, Major(majorA), swizzleA, fa)
		b := load(t, shared, 8<<10, n, Major(majorB), swizzleB, fb)
		d := newAccumulator(t, F32, n)
		w.Fence()
		for i := range depth / 16 {
			op := Op{N: n, TransposeA: majorA, TransposeB: majorB}
			if err := w.MMA(op, d, a.first.Advance(a.step(i)), b.first.Advance(b.step(i))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		w.CommitGroup()
		if err := w.WaitGroup(0); err != nil {
			t.Fatal(err)
		}
		for i := range M {
			for j := range n {
				if got, want := d.At(i, j), float64(product[i][j]); got != want {
					t.Fatalf("%s: D(%d, %d) = %v, want %v", name, i, j, got, want)
				}
			}
		}
		pairs++
	}
	if pairs != 64 {
		t.Errorf("%d pairs of layouts", pairs)
	}
}

// Warpgroups on goroutines of their own share memory that they read.
func TestConcurrentWarpgroups(t *testing.T) {
	shared, err := tile.NewShared(16 << 10)
	if err != nil {
		t.Fatal(err)
	}
	a := load(t, shared, 0, M, KMajorLayout, tile.Swizzle128B, func(r, k int) int { return r })
	b := load(t, shared, 8<<10, 8, KMajorLayout, tile.Swizzle128B, func(r, k int) int { return k })
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			w := NewWarpgroup(shared, Checked())
			d, err := NewAccumulator(F32, 8)
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				w.Fence()
				for i := range depth / 16 {
					if err := w.MMA(Op{N: 8, Overwrite: i == 0}, d, a.first.Advance(a.step(i)),
						b.first.Advance(b.step(i))); err != nil {
						t.Error(err)
						return
					}
				}
				w.CommitGroup()
				if err := w.WaitGroup(0); err != nil {
					t.Error(err)
				}
				if got, want := d.At(9, 3), float64(9*depth*(depth-1)/2); got != want {
					t.Errorf("D(9, 3) = %v, want %v", got, want)
				}
			}
		})
	}
	group.Wait()
}
