// Multicast is a matrix product by a cluster of two CTAs that share what they
// read of B. Each CTA owns 64 rows of C; both need the same 128 columns of B, and
// each fetches half of them, for both.
//
//	             global memory                  CTA 0           CTA 1
//	         A   rows  0..63   ── Load ───────► A
//	         A   rows 64..127  ── Load ───────────────────────► A
//	CTA 0:   B   cols  0..63   ── multicast ──► B left  ──────► B left
//	CTA 1:   B   cols 64..127  ── multicast ──► B right ──────► B right
//
// A multicast writes the same bytes at the same offset of every CTA in its mask
// and completes all of them on the barrier of each. Two things follow. Every CTA
// expects the whole of B, also the half that its neighbour fetches. And a stage may be
// filled only when it is empty in both CTAs, because whoever fills it writes to
// both: the empty barrier counts the consumers of the cluster.
//
// The neighbour's half may land before a CTA has said that it expects anything.
// That is no mistake: the byte balance of the barrier goes below zero, and the
// phase waits, since the CTA's own producer is still to arrive.
//
// B is stored K x N here, row-major as in most programs. Its neighbours in N lie
// side by side, so the boxes are 64 columns wide and wgmma takes B transposed
// ("MN-major"), which the hardware can do for 16-bit types.
//
// The program counts the bytes that cross from global memory, and compares C with
// gemm.Multiply in Hopper's arithmetic, bit for bit.
//
// Sources: PTX ISA 9.1, sections 9.7.9.27 (multicast::cluster) and 9.7.15.5
// (matrix descriptors); P. Shankhdhar, "Outperforming cuBLAS on H100: a
// Worklog" (2024), kernel 8.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"

	"example.com/leafhopper/gemm"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

const (
	ctas      = 2
	m, n, k   = 64 * ctas, 128, 512
	bk, qsize = 64, 3

	box   = 2 * 64 * 64    // bytes of each box: 64 rows of 128 bytes
	stage = box + ctas*box // A, then the parts of B
	all   = 1<<ctas - 1    // the mask of the cluster
)

type cluster struct {
	a, b    *tile.TensorMap
	c       gemm.Matrix[float32]
	smem    tile.Cluster
	fetched [ctas]int // bytes that each CTA read from global memory
}

func (c *cluster) producer(rank int) pipeline.Role {
	return func(_ context.Context, r *pipeline.Ring) error {
		var thread tile.Thread
		s := pipeline.ProducerStart(qsize)
		for at := 0; at < k; at += bk {
			if err := r.ProducerAcquire(s); err != nil {
				return err
			}
			r.ProducerExpect(s, rank, c.a.BoxBytes()+ctas*c.b.BoxBytes())

			start := s.Index * stage
			coordA := []int32{int32(at), int32(64 * rank)}
			if err := thread.Load(c.smem[rank], start, c.a, coordA, r.Full(s.Index, rank)); err != nil {
				return err
			}
			part := start + box + rank*box
			coordB := []int32{int32(64 * rank), int32(at)}
			if err := thread.LoadMulticast(c.smem, all, part, c.b, coordB, r.Multicast(s.Index)); err != nil {
				return err
			}
			c.fetched[rank] += c.a.BoxBytes() + c.b.BoxBytes()
			s.Next()
		}
		return nil
	}
}

func (c *cluster) consumer(rank int) pipeline.Role {
	return func(_ context.Context, r *pipeline.Ring) error {
		w := wgmma.NewWarpgroup(c.smem[rank], wgmma.Checked())
		d, err := wgmma.NewAccumulator(wgmma.F32, n)
		if err != nil {
			return err
		}
		s := pipeline.ConsumerStart(qsize)
		for range k / bk {
			if err := r.ConsumerWait(s, rank); err != nil {
				return err
			}
			start := s.Index * stage
			a := wgmma.KMajor(start, c.a.Swizzle())
			b := wgmma.MNMajor(start+box, c.b.Swizzle(), box)
			w.Fence()
			for step := range bk / 16 {
				op := wgmma.Op{Kind: wgmma.F16F32, N: n, TransposeB: true}
				// 16 of K are 32 bytes of a row of A, and 16 rows of B.
				if err := w.MMA(op, d, a.Advance(32*step), b.Advance(16*128*step)); err != nil {
					return err
				}
			}
			w.CommitGroup()
			if err := w.WaitGroup(0); err != nil {
				return err
			}
			r.ConsumerRelease(s) // for both producers
			s.Next()
		}
		for row := range wgmma.M {
			for col := range n {
				c.c.Set(64*rank+row, col, math.Float32frombits(d.Bits(row, col)))
			}
		}
		return nil
	}
}

// operand returns a row-major matrix and the map that loads boxes of 64 x 64.
func operand(rows, cols, seed int) (gemm.Matrix[float16.Float16], *tile.TensorMap, error) {
	matrix := gemm.NewMatrix[float16.Float16](rows, cols)
	for e := range matrix.Data {
		matrix.Data[e] = float16.Fromfloat32(float32(math.Sin(float64(seed * (e + 1)))))
	}
	global, err := binary.Append(nil, binary.LittleEndian, matrix.Data)
	if err != nil {
		return matrix, nil, err
	}
	tensor, err := tile.NewTensorMap(tile.Config{
		DataType: tile.Float16,
		Global:   global,
		Dims:     []uint64{uint64(cols), uint64(rows)},
		Strides:  []uint64{uint64(2 * cols)},
		Box:      []uint32{64, 64},
		Swizzle:  tile.Swizzle128B,
	})
	return matrix, tensor, err
}

func run() error {
	a, mapA, err := operand(m, k, 3)
	if err != nil {
		return err
	}
	b, mapB, err := operand(k, n, 7)
	if err != nil {
		return err
	}
	c := &cluster{a: mapA, b: mapB, c: gemm.NewMatrix[float32](m, n)}
	ring, err := pipeline.NewRing(qsize, ctas, ctas)
	if err != nil {
		return err
	}
	var roles []pipeline.Role
	for rank := range ctas {
		smem, err := tile.NewShared(qsize * stage)
		if err != nil {
			return err
		}
		c.smem = append(c.smem, smem)
		roles = append(roles, c.producer(rank), c.consumer(rank))
	}
	if err := pipeline.Run(context.Background(), ring, roles...); err != nil {
		return err
	}

	want := gemm.NewMatrix[float32](m, n)
	if err := gemm.Multiply(want, a, b, gemm.WithArithmetic(gemm.Hopper)); err != nil {
		return err
	}
	wrong := 0
	for e, v := range c.c.Data {
		if math.Float32bits(v) != math.Float32bits(want.Data[e]) {
			wrong++
		}
	}
	fmt.Printf("%dx%dx%d by %d CTAs, %d stages of %d bytes in each\n", m, n, k, ctas, qsize, stage)
	fmt.Printf("bytes fetched: %d, without multicast %d\n", c.fetched[0]+c.fetched[1], 2*(m*k+ctas*n*k))
	fmt.Println("elements unlike gemm's with Hopper's arithmetic:", wrong)
	return nil
}

func main() {
	if err := run(); err != nil {
		panic(err)
	}
}
