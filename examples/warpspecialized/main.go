// Warpspecialized is a matrix product as it is written for Hopper, C = A·B with
// bf16 operands and f32 sums: one producer warp, two consumer warpgroups, a ring
// of stages between them.
//
//	              ring of 4 stages in shared memory
//	            ┌──────────┬──────────┬──────────┬──────────┐
//	producer    │ A 128x64 │ A        │ A        │ A        │   consumer 0
//	acquire     │ B 128x64 │ B        │ B        │ B        │   rows 0..63 of A
//	expect ───► ├──────────┼──────────┼──────────┼──────────┤ ───► wait, 4 wgmma,
//	2 x Load    │ full     │ full     │ full     │ full     │      release
//	            │ empty    │ empty    │ empty    │ empty    │   consumer 1
//	            └──────────┴──────────┴──────────┴──────────┘   rows 64..127
//
// The producer waits until a stage is empty, arrives at its full barrier with the
// bytes of both boxes, and starts two tensor copies with the 128-byte swizzle, 64
// bf16 to a row. Each consumer waits for the bytes, multiplies its 64 rows of A by
// all of B in four steps of K = 16, and lets go of the stage; two arrivals make
// it empty. All of them find their place with a PipelineState, the producer
// beginning with the parity that a fresh barrier passes.
//
// One CTA does all tiles of C, so the ring runs on from tile to tile and the
// next tile's boxes are on their way while this one's sums are written. The first
// wgmma of a tile overwrites the accumulators, which saves zeroing them.
//
// B is stored N x K, as the "column-major B" of many kernels is, so that both
// operands have neighbours in K side by side. The result is compared with
// gemm.Multiply in Hopper's arithmetic, which computes in another order of tiles,
// on vector registers, and still has the same bits.
//
// Sources: PTX ISA 9.1, sections 9.7.9.27 (tensor copies) and 9.7.15 (wgmma); P.
// Shankhdhar, "Outperforming cuBLAS on H100: a Worklog" (2024), whose kernels 4 to
// 9 take these steps one by one; CUTLASS 3, PipelineState.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

const (
	m, n, k    = 256, 256, 320
	bm, bn, bk = 128, 128, 64 // tile of C, depth of a stage

	qsize     = 4
	consumers = 2
	sizeA     = 2 * bm * bk
	sizeB     = 2 * bn * bk
	stage     = sizeA + sizeB
)

// A cta is what its warps share.
type cta struct {
	a, b *tile.TensorMap // global memory: M x K and N x K
	c    gemm.Matrix[float32]
	smem *tile.Shared
}

// tiles calls f for the first row and column of every tile of C until f fails.
func tiles(f func(i, j int) error) error {
	for i := 0; i < m; i += bm {
		for j := 0; j < n; j += bn {
			if err := f(i, j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cta) producer(_ context.Context, r *pipeline.Ring) error {
	var thread tile.Thread // the elected one
	s := pipeline.ProducerStart(qsize)
	return tiles(func(i, j int) error {
		for at := 0; at < k; at += bk {
			if err := r.ProducerAcquire(s); err != nil {
				return err
			}
			r.ProducerExpect(s, 0, c.a.BoxBytes()+c.b.BoxBytes())
			full, start := r.Full(s.Index, 0), s.Index*stage
			if err := thread.Load(c.smem, start, c.a, []int32{int32(at), int32(i)}, full); err != nil {
				return err
			}
			if err := thread.Load(c.smem, start+sizeA, c.b, []int32{int32(at), int32(j)}, full); err != nil {
				return err
			}
			s.Next()
		}
		return nil
	})
}

// consumer returns the role of warpgroup id, which owns 64 rows of every tile.
func (c *cta) consumer(id int) pipeline.Role {
	return func(_ context.Context, r *pipeline.Ring) error {
		w := wgmma.NewWarpgroup(c.smem, wgmma.Checked())
		d, err := wgmma.NewAccumulator(wgmma.F32, bn)
		if err != nil {
			return err
		}
		s := pipeline.ConsumerStart(qsize)
		return tiles(func(i, j int) error {
			for at := 0; at < k; at += bk {
				if err := r.ConsumerWait(s, 0); err != nil {
					return err
				}
				start := s.Index * stage
				a := wgmma.KMajor(start+id*sizeA/consumers, c.a.Swizzle())
				b := wgmma.KMajor(start+sizeA, c.b.Swizzle())
				w.Fence()
				for step := range bk / 16 {
					op := wgmma.Op{Kind: wgmma.BF16F32, N: bn, Overwrite: at+step == 0}
					if err := w.MMA(op, d, a.Advance(32*step), b.Advance(32*step)); err != nil {
						return err
					}
				}
				w.CommitGroup()
				if err := w.WaitGroup(0); err != nil {
					return err
				}
				r.ConsumerRelease(s)
				s.Next()
			}
			c.write(d, i+64*id, j)
			return nil
		})
	}
}

// write stores the accumulators at (row, col) of C, every thread its registers.
func (c *cta) write(d *wgmma.Accumulator, row, col int) {
	for thread := range wgmma.Threads {
		for i := range d.Registers() {
			y, x := wgmma.AccumulatorCoord(thread, i)
			c.c.Set(row+y, col+x, math.Float32frombits(d.Register(thread, i)))
		}
	}
}

// operand returns a rows x k matrix and the map that loads boxes of it.
func operand(rows, boxRows, seed int) (gemm.Matrix[bf16.BF16], *tile.TensorMap, error) {
	matrix := gemm.NewMatrix[bf16.BF16](rows, k)
	for e := range matrix.Data {
		matrix.Data[e] = bf16.FromFloat32(float32(math.Sin(float64(seed * (e + 1)))))
	}
	global, err := binary.Append(nil, binary.LittleEndian, matrix.Data)
	if err != nil {
		return matrix, nil, err
	}
	tensor, err := tile.NewTensorMap(tile.Config{
		DataType: tile.BFloat16,
		Global:   global,
		Dims:     []uint64{k, uint64(rows)},
		Strides:  []uint64{2 * k},
		Box:      []uint32{bk, uint32(boxRows)},
		Swizzle:  tile.Swizzle128B,
	})
	return matrix, tensor, err
}

func run() error {
	a, mapA, err := operand(m, bm, 3)
	if err != nil {
		return err
	}
	b, mapB, err := operand(n, bn, 7)
	if err != nil {
		return err
	}
	smem, err := tile.NewShared(qsize * stage)
	if err != nil {
		return err
	}
	ring, err := pipeline.NewRing(qsize, 1, consumers)
	if err != nil {
		return err
	}
	block := &cta{a: mapA, b: mapB, c: gemm.NewMatrix[float32](m, n), smem: smem}
	if err := pipeline.Run(context.Background(), ring, block.producer, block.consumer(0), block.consumer(1)); err != nil {
		return err
	}

	hopper, native := gemm.NewMatrix[float32](m, n), gemm.NewMatrix[float32](m, n)
	if err := gemm.Multiply(hopper, a, b.T(), gemm.WithArithmetic(gemm.Hopper)); err != nil {
		return err
	}
	if err := gemm.Multiply(native, a, b.T()); err != nil {
		return err
	}
	fmt.Printf("%dx%dx%d in tiles of %dx%d, %d stages of %d bytes\n", m, n, k, bm, bn, qsize, stage)
	fmt.Println("elements unlike gemm's with Hopper's arithmetic:", differ(block.c, hopper))
	fmt.Println("some are unlike those of float32 sums:", differ(block.c, native) > 0)
	return nil
}

// differ counts the elements of two matrices whose bits are not the same.
func differ(x, y gemm.Matrix[float32]) (count int) {
	for e, v := range x.Data {
		if math.Float32bits(v) != math.Float32bits(y.Data[e]) {
			count++
		}
	}
	return count
}

func main() {
	if err := run(); err != nil {
		panic(err)
	}
}
