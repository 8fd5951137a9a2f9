package tile_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

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

// A convolution of an image of 4x3 pixels by 2x2 taps, with padding 1 in front: its 12 positions, of which these are 6,
// meet other pixels with every tap.
func ExampleIm2col() {
	const w, h = 4, 3
	global := make([]byte, w*h*16) // 16 channels of a byte
	for i := range w * h {
		global[16*i] = byte('a' + i)
	}
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.Uint8,
		Global:   global,
		Dims:     []uint64{16, w, h, 1},
		Strides:  []uint64{16, w * 16, w * h * 16},
		Im2col: &tile.Im2col{
			PixelBoxLowerCorner: []int32{-1, -1}, PixelBoxUpperCorner: []int32{-1, -1},
			ChannelsPerPixel: 16, PixelsPerColumn: 6,
		},
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
	for tapH := range int32(2) {
		for tapW := range int32(2) {
			if err := tile.Load(smem, 0, m, []int32{0, 1, -1, 0, tapW, tapH}, nil); err != nil {
				fmt.Println(err)
				return
			}
			column := ""
			for i := range 6 {
				column += string(max(smem.Bytes()[16*i], '.'))
			}
			fmt.Println(tapW, tapH, column)
		}
	}
	// Output:
	// 0 0 ...abc
	// 1 0 ..abcd
	// 0 1 bc.efg
	// 1 1 cdefgh
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

// The bulk copies of the CUDA programming guide: an array is loaded in bulk,
// every thread increments one element, and one thread stores the array back.
func ExampleThread() {
	const threads = 64
	global := tile.Global{Bytes: make([]byte, 4*threads)}
	for i := range threads {
		binary.LittleEndian.PutUint32(global.Bytes[4*i:], uint32(100*i))
	}
	smem, err := tile.NewShared(4 * threads)
	if err != nil {
		fmt.Println(err)
		return
	}
	loaded, err := barrier.New(threads)
	if err != nil {
		fmt.Println(err)
		return
	}
	written, err := barrier.New(threads)
	if err != nil {
		fmt.Println(err)
		return
	}

	var block sync.WaitGroup
	for id := range threads {
		block.Go(func() {
			var self tile.Thread
			bytes := 0
			if id == 0 {
				bytes = 4 * threads
				if err := self.LoadBulk(smem, 0, global, 0, bytes, loaded); err != nil {
					panic(err)
				}
			}
			// Everybody arrives; the leader's bytes are expected once.
			loaded.Wait(loaded.ArriveExpectTx(bytes))

			at := smem.Bytes()[4*id:]
			binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+1)

			written.Wait(written.Arrive())
			if id == 0 {
				if err := self.StoreBulk(global, 0, smem, 0, bytes); err != nil {
					panic(err)
				}
				self.CommitGroup()
				self.WaitGroupRead(0) // smem may be used again
				if err := self.Exit(); err != nil {
					panic(err)
				}
			}
		})
	}
	block.Wait()
	for _, i := range []int{0, 1, 2, 63} {
		fmt.Print(binary.LittleEndian.Uint32(global.Bytes[4*i:]), " ")
	}
	// Output: 1 101 201 6301
}

// Two CTAs of three need the same box. One fetches it for both; each expects
// its bytes on a barrier of its own.
func ExampleCluster_LoadMulticast() {
	m, err := tile.NewTensorMap(tile.Config{
		DataType: tile.Uint8,
		Global:   []byte("forty-eight bytes, and here are the last sixteen"),
		Dims:     []uint64{48},
		Box:      []uint32{16},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var cluster tile.Cluster
	full := make([]barrier.Barrier, 3)
	for rank := range full {
		smem, err := tile.NewShared(m.SharedBytes())
		if err != nil {
			fmt.Println(err)
			return
		}
		cluster = append(cluster, smem)
		if err := full[rank].Init(1); err != nil {
			fmt.Println(err)
			return
		}
	}

	var wg sync.WaitGroup
	for _, rank := range []int{0, 2} {
		wg.Go(func() {
			full[rank].ArriveExpectTx(m.BoxBytes())
			if rank == 2 {
				if err := cluster.LoadMulticast(0b101, 0, m, []int32{32}, full); err != nil {
					panic(err)
				}
			}
			full[rank].WaitParity(0)
		})
	}
	wg.Wait()
	for rank, smem := range cluster {
		fmt.Printf("CTA %d: %q\n", rank, strings.TrimRight(string(smem.Bytes()), "\x00"))
	}
	// Output:
	// CTA 0: "the last sixteen"
	// CTA 1: ""
	// CTA 2: "the last sixteen"
}
