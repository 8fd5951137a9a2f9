package tile_test

import (
	"testing"

	"example.com/leafhopper/tile"
)

// A 64x64 box of bf16, 8 KB, out of a matrix with rows of 8 KB.
func BenchmarkLoad(b *testing.B) { benchmarkCopy(b, tile.BFloat16, []int32{64, 64}, loadBox) }

// The same with its last rows and columns outside the tensor.
func BenchmarkLoadEdge(b *testing.B) { benchmarkCopy(b, tile.BFloat16, []int32{4040, 480}, loadBox) }

// The same 8 KB as tf32, which is rounded on the way.
func BenchmarkLoadTF32(b *testing.B) { benchmarkCopy(b, tile.TFloat32, []int32{32, 64}, loadBox) }

func BenchmarkStore(b *testing.B) {
	benchmarkCopy(b, tile.BFloat16, []int32{64, 64}, func(m *tile.TensorMap, coord []int32, s *tile.Shared) error {
		return tile.Store(m, coord, s, 0)
	})
}

func loadBox(m *tile.TensorMap, coord []int32, s *tile.Shared) error {
	return tile.Load(s, 0, m, coord, nil)
}

func benchmarkCopy(
	b *testing.B, typ tile.DataType, coord []int32, op func(*tile.TensorMap, []int32, *tile.Shared) error,
) {
	for _, swz := range []tile.Swizzle{tile.SwizzleNone, tile.Swizzle64B, tile.Swizzle128B} {
		b.Run(swz.String(), func(b *testing.B) {
			size := uint32(typ.Size())
			box := []uint32{128 / size, 64}
			if swz == tile.Swizzle64B {
				box = []uint32{64 / size, 128}
			}
			m := newMap(b, tile.Config{
				DataType: typ, Global: make([]byte, 8192*512),
				Dims: []uint64{uint64(8192 / size), 512}, Strides: []uint64{8192},
				Box: box, Swizzle: swz,
			})
			s := newShared(b, m.SharedBytes())
			b.SetBytes(int64(m.BoxBytes()))
			b.ReportAllocs()
			for b.Loop() {
				if err := op(m, coord, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
