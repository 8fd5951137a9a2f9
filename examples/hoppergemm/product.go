package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"unsafe"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// BK is the depth of a stage, 128 bytes: the span of the swizzle.
const BK = 64

// A product is C = A·Bᵀ with A and B row-major, C column-major, all of size x size.
type product struct {
	size, stages int
	a, b         gemm.Matrix[bf16.BF16]
	c            []bf16.BF16
	want         []bf16.BF16 // of gemm.Multiply, once it has been asked

	// Maps of A and B with boxes of 64 and 128 rows, and of C with boxes of 64 x 128.
	a64, a128, b64, b128, c64 *tile.TensorMap
}

func newProduct(size, stages int) (*product, error) {
	p := &product{size: size, stages: stages, a: operand(size, 1), b: operand(size, 2), c: make([]bf16.BF16, size*size)}
	var err error
	tensorMap := func(data []bf16.BF16, rows uint32, s tile.Swizzle) *tile.TensorMap {
		m, e := sm.NewTensorMap(data, tile.Config{
			Dims: []uint64{uint64(size), uint64(size)}, Box: []uint32{64, rows}, Swizzle: s,
		})
		if err == nil {
			err = e
		}
		return m
	}
	p.a64, p.a128 = tensorMap(p.a.Data, 64, tile.Swizzle128B), tensorMap(p.a.Data, 128, tile.Swizzle128B)
	p.b64, p.b128 = tensorMap(p.b.Data, 64, tile.Swizzle128B), tensorMap(p.b.Data, 128, tile.Swizzle128B)
	p.c64 = tensorMap(p.c, 128, tile.SwizzleNone)
	return p, err
}

// operand returns the A (seed 1) or B (seed 2) of hoppergemm.cu: elements in [-1, 1).
func operand(size int, seed uint32) gemm.Matrix[bf16.BF16] {
	m := gemm.NewMatrix[bf16.BF16](size, size)
	for i := range m.Data {
		m.Data[i] = bf16.FromFloat32(golden.Element(uint32(i), seed))
	}
	return m
}

// mmaStage adds the products of a stage to d: 64 of K in four instructions.
func mmaStage(w *sm.Warpgroup, d *wgmma.Accumulator, a, b *sm.Array[bf16.BF16]) {
	w.Fence()
	for k := 0; k < BK; k += 16 {
		w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: d.N()}, d,
			a.At(k).KMajor(tile.Swizzle128B), b.At(k).KMajor(tile.Swizzle128B))
	}
	w.CommitGroup()
	w.WaitGroup(0)
}

// store stores d from row and col of C on, each thread what it has.
func (p *product) store(w *sm.Warpgroup, d *wgmma.Accumulator, row, col int) {
	defer w.Span("epilogue")()
	for tid := range wgmma.Threads {
		for i := range d.Registers() {
			r, c := wgmma.AccumulatorCoord(tid, i)
			p.c[(col+c)*p.size+row+r] = bf16.FromFloat32(d.Float32(tid, i))
		}
	}
}

// A step is a kernel of the ladder and its launch.
type step struct {
	name    string
	kernel  func(*product) sm.Kernel
	tile    int  // rows and columns
	block   int  // threads
	few     bool // CTAs, each with several tiles
	cluster int  // CTAs
	room    int  // most stages of A and B, beside C in tmastore, that shared memory holds
}

var steps = []step{
	{"walkthrough", walkthrough, 64, 256, false, 1, 14},
	{"tiles128", tiles128, 128, 384, false, 1, 7},
	{"parity", parity, 128, 384, false, 1, 7},
	{"persistent", persistent, 128, 384, true, 1, 7},
	{"cluster", cluster, 128, 384, true, 2, 7},
	{"tmastore", tmastore, 128, 384, true, 2, 6},
}

func (s *step) tiles(size int) int { return size / s.tile * (size / s.tile) }

// grid returns the number of CTAs.
func (s *step) grid(size int) int {
	n := s.tiles(size)
	if s.few {
		n = min(n/2, 128)
	}
	return n
}

// launch computes p.c. done counts the CTAs that have ended.
func (s *step) launch(ctx context.Context, p *product, cfg sm.Config, done *atomic.Int64) error {
	for i := range p.c {
		p.c[i] = 0xEEEE // as the CUDA program does
	}
	cfg.Name = s.name
	cfg.Grid, cfg.Block, cfg.Cluster = sm.Dim3{X: s.grid(p.size)}, sm.Dim3{X: s.block}, sm.Dim3{X: s.cluster}
	kernel := s.kernel(p)
	return sm.Launch(ctx, cfg, func(b *sm.Block) {
		kernel(b)
		done.Add(1)
	})
}

// verify reports an element of p.c that is not the one of gemm.Multiply. A column-major C is
// the transpose of a row-major one, B·Aᵀ.
func (p *product) verify(ctx context.Context) error {
	if p.want == nil {
		want := gemm.NewMatrix[bf16.BF16](p.size, p.size)
		err := gemm.Multiply(want, p.b, p.a.T(), gemm.WithArithmetic(gemm.Hopper), gemm.WithContext(ctx))
		if err != nil {
			return err
		}
		p.want = want.Data
	}
	for i, v := range p.want {
		if p.c[i] != v {
			return fmt.Errorf("element (%d,%d) of C is %v, gemm.Multiply has %v", i%p.size, i/p.size, p.c[i], v)
		}
	}
	return nil
}

// checksum returns the line of hoppergemm.txt that p.c makes.
func (p *product) checksum(step string) string {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&p.c[0])), 2*len(p.c))
	return fmt.Sprintf("hoppergemm.%d.%s bytes=%d crc32=%08x", p.size, step, len(bytes), crc32.ChecksumIEEE(bytes))
}
