package sm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// sparseProduct is a sparse A of 64 by 64 elements, compressed, and a B of 8 columns.
type sparseProduct struct {
	a, b *tile.TensorMap
	meta []wgmma.Metadata
	d    [wgmma.M][8]float64 // of A·B
}

func newSparseProduct() *sparseProduct {
	const k, n = 64, 8
	a, b := make([]bf16.BF16, wgmma.M*k), make([]bf16.BF16, n*k)
	for i := range b {
		b[i] = bf16.FromFloat32(float32(i%7 - 3))
	}
	p := new(sparseProduct)
	for i := range wgmma.M {
		for at := i % 4; at < k; at += 2 + (i+at)%3 {
			a[i*k+at] = bf16.FromFloat32(float32(i%5 + 1))
			for j := range n {
				p.d[i][j] += float64(i%5+1) * float64(b[j*k+at].Float32())
			}
		}
	}
	values, meta, err := wgmma.Compress(a, k)
	assert(err == nil && len(meta) == 2, "%d metadata, %v", len(meta), err)
	p.meta = meta
	p.a, err = sm.NewTensorMap(values,
		tile.Config{Dims: []uint64{k / 2, wgmma.M}, Box: []uint32{k / 2, wgmma.M}, Swizzle: tile.Swizzle64B})
	assert(err == nil, "%v", err)
	p.b, err = sm.NewTensorMap(b, tile.Config{Dims: []uint64{k, n}, Box: []uint32{k, n}, Swizzle: tile.Swizzle128B})
	assert(err == nil, "%v", err)
	return p
}

// kernel multiplies. refill has the columns of B written again, from byte 32 on, before they are waited for.
func (p *sparseProduct) kernel(meta []wgmma.Metadata, refill bool) sm.Kernel {
	return func(b *sm.Block) {
		x, y := sm.Shared[bf16.BF16](b, wgmma.M*32, 1024), sm.Shared[bf16.BF16](b, 8*64, 1024)
		full := b.Barrier()
		b.Warpgroups(func(w *sm.Warpgroup) {
			full.Init(w.Thread(0), 1)
			full.ArriveTx(w.Thread(0), 1, p.a.BoxBytes()+p.b.BoxBytes())
			w.Thread(0).LoadTensor(x, p.a, full, 0, 0)
			w.Thread(0).LoadTensor(y, p.b, full, 0, 0)
			full.WaitParity(w, 0)
			d := w.Accumulators(wgmma.F32, 8)
			w.Fence()
			for s := range meta {
				w.MMASparse(narrow, d, x.KMajor(tile.Swizzle64B).Advance(32*s), y.KMajor(tile.Swizzle128B).Advance(64*s),
					&meta[s], s)
			}
			w.CommitGroup()
			if refill {
				y.Store(w, 16, bf16.FromFloat32(9))
			}
			w.WaitGroup(0)
			for i := range wgmma.M {
				for j := range 8 {
					assert(d.At(i, j) == p.d[i][j] || refill, "D(%d, %d) is %v, want %v", i, j, d.At(i, j), p.d[i][j])
				}
			}
		})
	}
}

// TestMMASparse multiplies a compressed matrix from swizzled tiles, its metadata by either selector, and finds what is
// wrong with one.
func TestMMASparse(t *testing.T) {
	p := newSparseProduct()
	silent(t, block(128), p.kernel(p.meta, false))
	broken := []wgmma.Metadata{p.meta[0], p.meta[1]}
	broken[1][34] = broken[1][34]&^0xf0 | 0x50
	for _, m := range modes {
		err := launch(t, in(m, block(128)), p.kernel(broken, false))
		faultOf(t, err, sm.RuleWGMMA, "MMASparse", "mma_sparse_test.go:",
			"m64n8k32.f32.bf16.bf16: metadata of row 16, chunk 1 (thread 34, bits 4 to 7) is 0b0101, must be two different")
		if m.Check {
			err := launch(t, in(m, block(128)), p.kernel(p.meta, true))
			faultOf(t, err, sm.RuleWGMMA, "Store: element 16 of y: not ordered after the MMASparse by warpgroup 0 at ")
		}
	}
}
