package wgmma

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/tile"
)

// raceEnabled shortens tests whose arithmetic takes too long under the race
// detector; that is on one goroutine and has no races.
const raceEnabled = race.Enabled

// products are checksums (CRC-32, IEEE) of C = A·B in f32 that cuBLAS computed
// on an H200, of operands as matrixOf makes them.
var products = []struct {
	kind    Kind
	m, n, k int
	nt      bool // B is stored N by K
	crc     uint32
}{
	{BF16F32, 64, 64, 64, false, 0x8dd6def4},
	{BF16F32, 64, 64, 64, true, 0x5e683c45},
	{BF16F32, 128, 128, 128, false, 0x92caae14},
	{BF16F32, 128, 128, 128, true, 0x8b702a66},
	{BF16F32, 256, 256, 256, false, 0x5ef7f7a3},
	{BF16F32, 512, 512, 512, true, 0xc3470d85},
	{F16F32, 64, 64, 64, false, 0xc31c4628},
	{F16F32, 128, 128, 128, true, 0x5ea9a0ec},
	{F16F32, 256, 256, 256, false, 0x0fe83712},
	{F16F32, 256, 256, 256, true, 0x0149a07b},
}

// matrixOf returns a tensor map over a matrix of a recorded product, stored
// outer by inner, in boxes of 64 by 64 elements.
func matrixOf(t *testing.T, kind Kind, seed uint32, outer, inner int) *tile.TensorMap {
	t.Helper()
	global := make([]byte, outer*inner*2)
	for i := range outer * inner {
		v := golden.Element(uint32(i), seed)
		bits := bf16.FromFloat32(v).Bits()
		if kind == F16F32 {
			bits = float16.Fromfloat32(v).Bits()
		}
		binary.LittleEndian.PutUint16(global[2*i:], bits)
	}
	typ := tile.BFloat16
	if kind == F16F32 {
		typ = tile.Float16
	}
	m, err := tile.NewTensorMap(tile.Config{
		DataType: typ,
		Global:   global,
		Dims:     []uint64{uint64(inner), uint64(outer)},
		Strides:  []uint64{uint64(2 * inner)},
		Box:      []uint32{64, 64},
		Swizzle:  tile.Swizzle128B,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Whole products, as a kernel computes them from swizzled tiles in shared
// memory, have the bits of cuBLAS.
func TestProducts(t *testing.T) {
	for _, p := range products {
		if (testing.Short() || raceEnabled) && p.m > 128 {
			continue
		}
		t.Run(fmt.Sprintf("%v %dx%dx%d nt %v", p.kind, p.m, p.n, p.k, p.nt), func(t *testing.T) {
			a := matrixOf(t, p.kind, golden.SeedA, p.m, p.k)
			b := matrixOf(t, p.kind, golden.SeedB, p.k, p.n)
			if p.nt {
				b = matrixOf(t, p.kind, golden.SeedB, p.n, p.k)
			}
			shared, err := tile.NewShared(16 << 10)
			if err != nil {
				t.Fatal(err)
			}
			w := NewWarpgroup(shared, Checked())
			c := make([]byte, p.m*p.n*4)
			for i := 0; i < p.m; i += 64 {
				for j := 0; j < p.n; j += 64 {
					d := newAccumulator(t, F32, 64)
					for k := 0; k < p.k; k += 64 {
						step(t, w, shared, Op{Kind: p.kind, N: 64, TransposeB: !p.nt}, d, a, b, i, j, k)
					}
					for e := range M * 64 {
						binary.LittleEndian.PutUint32(c[((i+e/64)*p.n+j+e%64)*4:], d.Bits(e/64, e%64))
					}
				}
			}
			if got := crc32.ChecksumIEEE(c); got != p.crc {
				t.Errorf("checksum %#08x, cuBLAS has %#08x", got, p.crc)
			}
		})
	}
}

// step loads the tiles at (i, k) and (k, j) and multiplies them.
func step(t *testing.T, w *Warpgroup, shared *tile.Shared, op Op, d *Accumulator, a, b *tile.TensorMap, i, j, k int) {
	t.Helper()
	const startB = 8 << 10
	if err := tile.Load(shared, 0, a, []int32{int32(k), int32(i)}, nil); err != nil {
		t.Fatal(err)
	}
	x, y, stepB := KMajor(0, a.Swizzle()), KMajor(startB, b.Swizzle()), 32
	coord := []int32{int32(k), int32(j)}
	if op.TransposeB {
		y, stepB = MNMajor(startB, b.Swizzle(), b.SharedBytes()), 16*128
		coord = []int32{int32(j), int32(k)}
	}
	if err := tile.Load(shared, startB, b, coord, nil); err != nil {
		t.Fatal(err)
	}
	w.Fence()
	for s := range 4 {
		if err := w.MMA(op, d, x.Advance(32*s), y.Advance(stepB*s)); err != nil {
			t.Fatal(err)
		}
	}
	w.CommitGroup()
	if err := w.WaitGroup(0); err != nil {
		t.Fatal(err)
	}
}
