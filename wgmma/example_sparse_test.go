package wgmma_test

import (
	"fmt"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// A 64x64 A, of which two of each four neighbours are 0, by the transpose of an 8x64 B. A is compressed once: its rows
// in shared memory have 64 bytes, those of B 128, and two instructions of K = 32 multiply them.
func ExampleWarpgroup_MMASparse() {
	const m, n, k = 64, 8, 64
	dense, b := make([]bf16.BF16, m*k), make([]byte, 2*n*k)
	for i := range m {
		for j := i % 3; j < k; j += 2 + j%3 {
			dense[i*k+j] = bf16.FromFloat32(float32(i - j))
		}
	}
	values, meta, err := wgmma.Compress(dense, k)
	if err != nil {
		fmt.Println(err)
		return
	}
	a := make([]byte, 2*len(values))
	for i, v := range values {
		a[2*i], a[2*i+1] = byte(v), byte(v>>8)
	}
	for i := range n * k {
		v := bf16.FromFloat32(float32(i % 5))
		b[2*i], b[2*i+1] = byte(v), byte(v>>8)
	}

	smem, err := tile.NewShared(16 << 10)
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
	load := func(start int, bytes []byte, columns, rows int, swizzle tile.Swizzle) {
		box, err := tile.NewTensorMap(tile.Config{
			DataType: tile.BFloat16, Global: bytes, Dims: []uint64{uint64(columns), uint64(rows)},
			Strides: []uint64{uint64(2 * columns)}, Box: []uint32{uint32(columns), uint32(rows)}, Swizzle: swizzle,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		full.ExpectTx(box.BoxBytes())
		if err := tile.Load(smem, start, box, []int32{0, 0}, full); err != nil {
			fmt.Println(err)
		}
	}
	load(startA, a, k/2, m, tile.Swizzle64B)
	load(startB, b, k, n, tile.Swizzle128B)
	full.Arrive()
	full.WaitParity(0)

	d, err := wgmma.NewAccumulator(wgmma.F32, n)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := wgmma.NewWarpgroup(smem, wgmma.Checked())
	descA, descB := wgmma.KMajor(startA, tile.Swizzle64B), wgmma.KMajor(startB, tile.Swizzle128B)
	w.Fence()
	for s := range meta {
		op := wgmma.Op{Kind: wgmma.BF16F32, N: n, Overwrite: s == 0}
		if err := w.MMASparse(op, d, descA.Advance(32*s), descB.Advance(64*s), &meta[s], 0); err != nil {
			fmt.Println(err)
			return
		}
	}
	w.CommitGroup()
	if err := w.WaitGroup(0); err != nil {
		fmt.Println(err)
		return
	}

	want := float32(0)
	for j := range k {
		want += dense[10*k+j].Float32() * float32((7*k+j)%5)
	}
	fmt.Println(d.At(10, 7), want)
	// Output: -924 -924
}
