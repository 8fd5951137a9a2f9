package mma_test

import (
	"testing"

	"example.com/leafhopper/mma"
)

// BenchmarkMMA is one instruction of each kind, dense and sparse.
func BenchmarkMMA(b *testing.B) {
	var meta mma.Metadata
	for lane := range meta {
		meta[lane] = 0x44444444 // the first half of every chunk
	}
	for _, op := range append(every(), sparse()...) {
		b.Run(op.String(), func(b *testing.B) {
			d, x, y := op.FragmentD(), op.FragmentA(), op.FragmentB()
			rd, rx, ry := d.Make(), x.Make(), y.Make()
			for lane := range mma.Lanes {
				for i := range x.Elements() {
					x.SetFloat32(rx, lane, i, float32(lane%7-3)/4*float32(i%5+1))
				}
				for i := range y.Elements() {
					y.SetFloat32(ry, lane, i, float32(lane%5-2)*float32(i%3+1))
				}
			}
			var w mma.Warp
			multiply := func() error { return w.MMA(op, rd, rx, ry) }
			if op.Sparse {
				multiply = func() error { return w.MMASparse(op, rd, rx, ry, &meta, 0) }
			}
			b.ReportAllocs()
			for b.Loop() {
				clear(rd)
				if err := multiply(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
