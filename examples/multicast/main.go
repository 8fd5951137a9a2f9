// Multicast is a matrix product by a cluster of two CTAs that share what they read of B.
// Each CTA owns 64 rows of C; both need the same 128 columns of B, and each fetches half of
// them, for both.
//
//	             global memory                  CTA 0           CTA 1
//	         A   rows  0..63   ── load ───────► A
//	         A   rows 64..127  ── load ───────────────────────► A
//	CTA 0:   B   cols  0..63   ── multicast ──► B left  ──────► B left
//	CTA 1:   B   cols 64..127  ── multicast ──► B right ──────► B right
//
// A multicast writes the same bytes at the same offset of every CTA in its mask and
// completes all of them on the barrier of each. So every CTA expects the whole of B, and
// a stage is filled only when it is empty in both CTAs: an empty barrier counts the
// consumers of the cluster. The neighbour's half may land before a CTA has said that it
// expects anything; its bytes are owed to the phase then, which the CTA's own producer, still
// to arrive, keeps open.
//
// B is K x N here, row-major as in most programs. Its neighbours in N lie side by side, so
// the boxes are 64 columns wide and wgmma takes B transposed ("MN-major"), which the
// hardware can do for 16-bit types. The first instruction overwrites the accumulators
// (scale-d), which saves zeroing them.
//
// Sources: PTX ISA 9.1, sections 9.7.9.27 (multicast::cluster) and 9.7.15.5 (matrix
// descriptors); P. Shankhdhar, "Outperforming cuBLAS on H100: a Worklog" (2024), kernel 8.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/x448/float16"

	"example.com/leafhopper/examples/internal/course"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

const (
	ctas      = 2
	m, n, k   = 64 * ctas, 128, 512
	bk, qsize = 64, 3
	box       = 64 * 64     // elements of each box
	all       = 1<<ctas - 1 // the mask of the cluster
)

func product(mapA, mapB *tile.TensorMap, c gemm.Matrix[float32], fetched *[ctas]int) func(*sm.Block) {
	return func(b *sm.Block) {
		sA := sm.Shared[float16.Float16](b, qsize*box, 1024)
		sB := sm.Shared[float16.Float16](b, qsize*ctas*box, 1024)
		full, empty := b.Barriers(qsize), b.Barriers(qsize)
		rank := b.ClusterRank()

		producer := func(w *sm.Warp) {
			t := w.Thread(0)
			for q := range qsize {
				full[q].Init(t, 1)
				empty[q].Init(t, ctas)
			}
			t.FenceBarrierInit()
			w.ClusterSync()

			for i := range k / bk {
				q, parity := i%qsize, i/qsize%2
				empty[q].WaitParity(t, parity^1)
				full[q].ArriveTx(t, 1, mapA.BoxBytes()+ctas*mapB.BoxBytes())
				t.LoadTensor(sA.At(q*box), mapA, &full[q], i*bk, 64*rank)
				t.LoadTensorMulticast(sB.At((q*ctas+rank)*box), mapB, &full[q], all, 64*rank, i*bk)
				fetched[rank] += mapA.BoxBytes() + mapB.BoxBytes()
			}
			w.ClusterSync()
		}
		consumer := func(w *sm.Warpgroup) {
			w.ClusterSync()

			d := w.Accumulators(wgmma.F32, n)
			for i := range k / bk {
				q, parity := i%qsize, i/qsize%2
				full[q].WaitParity(w, parity)
				w.Fence()
				for s := range bk / 16 { // 16 of K are 32 bytes of a row of A, and 16 rows of B
					op := wgmma.Op{Kind: wgmma.F16F32, N: n, TransposeB: true, Overwrite: i+s == 0}
					descA := sA.At(q*box + 16*s).KMajor(tile.Swizzle128B)
					descB := sB.At(q*ctas*box+16*64*s).MNMajor(tile.Swizzle128B, 2*box)
					w.MMA(op, d, descA, descB)
				}
				w.CommitGroup()
				w.WaitGroup(0)
				for peer := range ctas { // both producers write here
					empty[q].MapShared(peer).Arrive(w.Thread(peer))
				}
			}
			for tid := range wgmma.Threads {
				for i := range d.Registers() {
					row, col := wgmma.AccumulatorCoord(tid, i)
					c.Set(64*rank+row, col, d.Float32(tid, i))
				}
			}
			w.ClusterSync() // nobody leaves while its peer may still write or arrive here
		}
		b.Start(sm.Warps(0, 1, producer), sm.Warpgroups(1, 2, consumer))
	}
}

// operand returns a row-major matrix and the map that loads boxes of 64 x 64.
func operand(rows, cols int, seed uint32) (gemm.Matrix[float16.Float16], *tile.TensorMap, error) {
	x := gemm.NewMatrix[float16.Float16](rows, cols)
	for e := range x.Data {
		x.Data[e] = float16.Fromfloat32(float32(int16(course.Element(uint32(e), seed)>>16)) / 32768)
	}
	tensor, err := sm.NewTensorMap(x.Data, tile.Config{
		Dims: []uint64{uint64(cols), uint64(rows)}, Box: []uint32{64, 64}, Swizzle: tile.Swizzle128B,
	})
	return x, tensor, err
}

// outputs are what the kernel leaves: C, and the bytes read from global memory.
func outputs(c gemm.Matrix[float32], fetched int) []course.Output {
	return []course.Output{
		{Name: "multicast.c", Data: c.Data},
		{Name: "multicast.fetched", Data: []int64{int64(fetched)}},
	}
}

func run(launch func(sm.Config, sm.Kernel) error) ([]course.Output, error) {
	_, mapA, errA := operand(m, k, 1)
	_, mapB, errB := operand(k, n, 2)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	c, fetched := gemm.NewMatrix[float32](m, n), [ctas]int{}
	cfg := sm.Config{Grid: sm.Dim3{X: ctas}, Block: sm.Dim3{X: 256}, Cluster: sm.Dim3{X: ctas}}
	err := launch(cfg, product(mapA, mapB, c, &fetched))
	return outputs(c, fetched[0]+fetched[1]), err
}

// reference has the product by gemm, and every byte fetched once.
func reference(arithmetic gemm.Arithmetic) ([]course.Output, error) {
	a, _, errA := operand(m, k, 1)
	b, _, errB := operand(k, n, 2)
	c := gemm.NewMatrix[float32](m, n)
	err := errors.Join(errA, errB, gemm.Multiply(c, a, b, gemm.WithArithmetic(arithmetic)))
	return outputs(c, 2*(m*k+k*n)), err
}

func main() { cli.Print(show) }

func show(w io.Writer) error {
	got, err := run(func(cfg sm.Config, kernel sm.Kernel) error { return sm.Launch(context.Background(), cfg, kernel) })
	hopper, errHopper := reference(gemm.Hopper)
	native, errNative := reference(gemm.Native)
	if err := errors.Join(err, errHopper, errNative); err != nil {
		return err
	}
	fmt.Fprintf(w, "%dx%dx%d by %d CTAs, %d stages in each\n", m, n, k, ctas, qsize)
	fmt.Fprintln(w, "the bits of gemm's with Hopper's arithmetic:", got[0].String() == hopper[0].String())
	fmt.Fprintln(w, "the bits of float32 sums:", got[0].String() == native[0].String())
	fmt.Fprintf(w, "bytes fetched: %d, without multicast %d\n", got[1].Data.([]int64)[0], 2*(m*k+ctas*k*n))
	return nil
}
