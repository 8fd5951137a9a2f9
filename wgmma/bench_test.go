package wgmma

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/leafhopper/tile"
)

// BenchmarkMMA is the loop of a kernel: a group of four instructions on operands as
// tensor copies with 128-byte swizzle leave them, and a wait.
func BenchmarkMMA(b *testing.B) {
	shared, err := tile.NewShared((M + maxN) * 128)
	if err != nil {
		b.Fatal(err)
	}
	x, y := KMajor(0, tile.Swizzle128B), KMajor(M*128, tile.Swizzle128B)
	for kind := range Kind(len(kinds)) {
		for _, n := range []int{64, 128, 256} {
			b.Run(fmt.Sprintf("%v/n=%d", kind, n), func(b *testing.B) {
				fillAround(rand.New(rand.NewPCG(1, 2)), shared.Bytes(), kind.ElementSize())
				w, d := NewWarpgroup(shared), newAccumulator(b, kind.AccumulatorType(), n)
				op := Op{Kind: kind, N: n}
				b.ReportAllocs()
				for b.Loop() {
					w.Fence()
					for s := range 4 {
						op.Overwrite = s == 0
						if err := w.MMA(op, d, x.Advance(32*s), y.Advance(32*s)); err != nil {
							b.Fatal(err)
						}
					}
					w.CommitGroup()
					if err := w.WaitGroup(0); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(2*M*float64(n*4*kind.K())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// BenchmarkMMASparse is BenchmarkMMA with a sparse A: flops are those of its stored half.
func BenchmarkMMASparse(b *testing.B) {
	shared, err := tile.NewShared((M + 2*maxN) * 128)
	if err != nil {
		b.Fatal(err)
	}
	x, y := KMajor(0, tile.Swizzle128B), KMajor(M*128, tile.Swizzle128B)
	var meta Metadata
	for thread := range meta {
		meta[thread] = 0x4ee4e44e
	}
	const n = 128
	for kind := range B1S32 {
		b.Run(kind.String(), func(b *testing.B) {
			fillAround(rand.New(rand.NewPCG(1, 2)), shared.Bytes(), kind.ElementSize())
			w, d := NewWarpgroup(shared), newAccumulator(b, kind.AccumulatorType(), n)
			b.ReportAllocs()
			for b.Loop() {
				w.Fence()
				for s := range 2 {
					op := Op{Kind: kind, N: n, Overwrite: s == 0}
					if err := w.MMASparse(op, d, x.Advance(32*s), y.Advance(64*s), &meta, 0); err != nil {
						b.Fatal(err)
					}
				}
				w.CommitGroup()
				if err := w.WaitGroup(0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(2*M*float64(n*2*kind.K())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkEpilogue reads the elements of an accumulator, as threads hold them and
// as they lie in the matrix.
func BenchmarkEpilogue(b *testing.B) {
	d := newAccumulator(b, F32, 128)
	sum := float32(0)
	for name, read := range map[string]func(){
		"Float32": func() {
			for thread := range Threads {
				for i := range d.Registers() {
					sum += d.Float32(thread, i)
				}
			}
		},
		"At": func() {
			for row := range M {
				for col := range d.N() {
					sum += float32(d.At(row, col))
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*M*d.N()), "ns/element")
		})
	}
	if sum != 0 {
		b.Error(sum)
	}
}
