package tile_test

import (
	"encoding/binary"
	"fmt"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// A producer loads a 64x64 tile of a bf16 matrix, swizzled over 128 bytes, and
// its bytes open the barrier on which the consumer waits.
func Example() {
	const rows, cols = 256, 128
	global := make([]byte, rows*cols*2)
	for i := range rows * cols {
		binary.LittleEndian.PutUint16(global[2*i:], uint16(i)) // element i holds i
	}
	a, err := tile.NewTensorMap(tile.Config{
		DataType: tile.BFloat16,
		Global:   global,
		Dims:     []uint64{cols, rows},
		Strides:  []uint64{cols * 2},
		Box:      []uint32{64, 64},
		Swizzle:  tile.Swizzle128B,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	smem, err := tile.NewShared(a.SharedBytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	full, err := barrier.New(1)
	if err != nil {
		fmt.Println(err)
		return
	}

	go func() {
		full.ArriveExpectTx(a.BoxBytes())
		if err := tile.Load(smem, 0, a, []int32{64, 128}, full); err != nil {
			panic(err)
		}
	}()

	full.WaitParity(0)
	// Row 5, column 9 of the tile is row 133, column 73 of the matrix.
	at := a.Swizzle().Apply(5*128 + 9*2)
	fmt.Println(at, binary.LittleEndian.Uint16(smem.Bytes()[at:]), 133*cols+73)
	// Output: 706 17097 17097
}

// The edge of a tensor: what lies outside is filled by a load and dropped by a
// store, except that stores clip to granules of 16 bytes.
func ExampleStore() {
	global := make([]byte, 24)
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.Uint8,
		Global:   global,
		Dims:     []uint64{20},
		Box:      []uint32{16},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	smem, err := tile.NewShared(m.SharedBytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range smem.Bytes() {
		smem.Bytes()[i] = 7
	}
	if err := tile.Store(m, []int32{16}, smem, 0); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(global[12:])
	fmt.Println(tile.Store(m, []int32{8}, smem, 0))
	// Output:
	// [0 0 0 0 7 7 7 7 7 7 7 7]
	// tile: store: inner coordinate 8 of Uint8 is 8 bytes, not a multiple of 16
}
