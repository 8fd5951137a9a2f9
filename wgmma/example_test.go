package wgmma_test

import (
	"encoding/binary"
	"fmt"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// matrix returns a map of a rows x 64 matrix of bf16 whose element (i, j) is
// f(i, j), moved as boxes of the whole width, swizzled.
func matrix(rows int, f func(i, j int) float32) (*tile.TensorMap, error) {
	global := make([]byte, rows*64*2)
	for i := range rows {
		for j := range 64 {
			binary.LittleEndian.PutUint16(global[(i*64+j)*2:], bf16.FromFloat32(f(i, j)).Bits())
		}
	}
	return tile.NewTensorMap(tile.Config{
		DataType: tile.BFloat16,
		Global:   global,
		Dims:     []uint64{64, uint64(rows)},
		Strides:  []uint64{128},
		Box:      []uint32{64, uint32(rows)},
		Swizzle:  tile.Swizzle128B,
	})
}

// A producer loads a 64x64 tile of A and a 128x64 tile of B, stored transposed,
// into swizzled shared memory; the consumer waits for the bytes and multiplies
// them in four steps of K = 16.
func Example() {
	a, err := matrix(64, func(i, j int) float32 { return float32(i - j) })
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := matrix(128, func(i, j int) float32 { return float32(i%5 + j%3) })
	if err != nil {
		fmt.Println(err)
		return
	}
	smem, err := tile.NewShared(24 << 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	full, err := barrier.New(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	const startA, startB = 0, 8 << 10

	go func() {
		full.ArriveExpectTx(a.BoxBytes() + b.BoxBytes())
		if err := tile.Load(smem, startA, a, []int32{0, 0}, full); err != nil {
			panic(err)
		}
		if err := tile.Load(smem, startB, b, []int32{0, 0}, full); err != nil {
			panic(err)
		}
	}()

	d, err := wgmma.NewAccumulator(wgmma.F32, 128)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := wgmma.NewWarpgroup(smem, wgmma.Checked())
	descA, descB := wgmma.KMajor(startA, a.Swizzle()), wgmma.KMajor(startB, b.Swizzle())

	full.WaitParity(0)
	w.Fence()
	for k := range 4 {
		op := wgmma.Op{Kind: wgmma.BF16F32, N: 128, Overwrite: k == 0}
		if err := w.MMA(op, d, descA.Advance(32*k), descB.Advance(32*k)); err != nil {
			fmt.Println(err)
			return
		}
	}
	w.CommitGroup()
	if err := w.WaitGroup(0); err != nil {
		fmt.Println(err)
		return
	}

	// Row 10, column 7: the sum over k of (10-k)·(7%5 + k%3).
	want := 0
	for k := range 64 {
		want += (10 - k) * (7%5 + k%3)
	}
	fmt.Println(d.At(10, 7), want)
	// Output: -4117 -4117
}

// Checked mode reports what the GPU leaves undefined.
func ExampleChecked() {
	smem, err := tile.NewShared(4 << 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := wgmma.NewAccumulator(wgmma.F32, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := wgmma.NewWarpgroup(smem, wgmma.Checked())
	op := wgmma.Op{Kind: wgmma.BF16F32, N: 8}
	a := wgmma.Descriptor{Start: 0, LBO: 1024, SBO: 128}
	b := wgmma.Descriptor{Start: 2048, LBO: 128, SBO: 256}

	fmt.Println(w.MMA(op, d, a, b))
	w.Fence()
	fmt.Println(w.MMA(op, d, a, b))
	w.CommitGroup()
	smem.Bytes()[2048]++ // the stage is not free yet
	fmt.Println(w.WaitGroup(0))
	// Output:
	// wgmma: registers not fenced: m64n8k16.f32.bf16.bf16: the accumulator was made, read or written after the last Fence
	// <nil>
	// wgmma: operand of a pending instruction overwritten: m64n8k16.f32.bf16.bf16: operand B changed between MMA and WaitGroup
}
