package sm_test

import (
	"testing"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/mma"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// TestMatrices loads and stores one, two and four matrices, of which the elements say where they lie.
func TestMatrices(t *testing.T) {
	silent(t, sm.Config{Block: sm.Dim3{X: 32}}, func(b *sm.Block) {
		const pitch = 40 // elements, with a gap
		x, y := sm.Shared[uint16](b, 32*pitch, 16), sm.Shared[uint16](b, 32*pitch, 16)
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			for _, n := range []int{1, 2, 4} {
				in := func(x *sm.Array[uint16]) func(lane int) sm.Region {
					return func(lane int) sm.Region {
						assert(lane < 8*n, "the row of lane %d", lane)
						return x.At(lane*pitch + 8*n)
					}
				}
				element := func(m, row, col int) uint16 { return uint16(m<<6 | row<<3 | col) }
				for i := range 8 * n {
					for k := range 8 {
						x.Store(w, i*pitch+8*n+k, element(i/8, i%8, k))
					}
				}
				r := make([][32]uint32, n)
				w.LoadMatrix(in(x), r)
				for lane := range 32 {
					for m := range n {
						row, col := lane/4, lane%4*2
						want := uint32(element(m, row, col)) | uint32(element(m, row, col+1))<<16
						assert(r[m][lane] == want, "x%d: lane %d has %#x of matrix %d, want %#x", n, lane, r[m][lane], m, want)
					}
				}
				same := func(what string) {
					for i := range 8 * n {
						for k := range 8 {
							got := y.Load(w, i*pitch+8*n+k)
							assert(got == element(i/8, i%8, k), "%s: row %d, element %d is %#x", what, i, k, got)
						}
					}
				}
				w.StoreMatrix(in(y), r)
				same("StoreMatrix")
				w.LoadMatrixTrans(in(x), r)
				for lane := range 32 {
					for m := range n {
						row, col := lane%4*2, lane/4
						want := uint32(element(m, row, col)) | uint32(element(m, row+1, col))<<16
						assert(r[m][lane] == want, "x%d: lane %d has %#x of matrix %d, want %#x", n, lane, r[m][lane], m, want)
					}
				}
				y.Write(w, 8*n, make([]uint16, 31*pitch))
				w.StoreMatrixTrans(in(y), r)
				same("StoreMatrixTrans")
			}
		}))
	})
}

// epilogue stores accumulators, as bf16, into tiles with a swizzle and these as boxes of a tensor. What is not fenced
// if broken is the stores of the warps before those of the tiles.
func epilogue(m *tile.TensorMap, broken bool) sm.Kernel {
	const n, span = 128, 64 // columns, and those of a tile
	return func(b *sm.Block) {
		tiles := sm.Shared[bf16.BF16](b, 64*n, 1024)
		b.Warpgroups(func(w *sm.Warpgroup) {
			d := w.Accumulators(wgmma.F32, n)
			for row := range 64 {
				for col := range n {
					d.Set(row, col, float64(row-col))
				}
			}
			for i := range 4 {
				for col := 0; col < n; col += 16 {
					var r [4][32]uint32
					for j := range r {
						for lane := range 32 {
							lo, hi := d.Float32(32*i+lane, col/2+2*j), d.Float32(32*i+lane, col/2+2*j+1)
							r[j][lane] = uint32(bf16.FromFloat32(lo)) | uint32(bf16.FromFloat32(hi))<<16
						}
					}
					w.Warp(i).StoreMatrix(func(lane int) sm.Region {
						row, at := 16*i+lane%16, col+lane/16*8
						return tiles.At(tile.Swizzle128B.Apply(2*(at/span*64*span+row*span+at%span)) / 2)
					}, r[:])
				}
			}
			if !broken {
				w.FenceProxyAsync()
			}
			w.SyncThreads()
			t := w.Thread(0)
			for i := range n / span {
				t.StoreTensor(m, tiles.At(i*64*span), i*span, 0)
			}
			t.CommitGroup()
			t.WaitGroup(0)
		})
	}
}

// TestEpilogue stores accumulators by stmatrix and StoreTensor.
func TestEpilogue(t *testing.T) {
	c := make([]bf16.BF16, 64*128)
	m, err := sm.NewTensorMap(c, tile.Config{
		Dims: []uint64{128, 64}, Box: []uint32{64, 64}, Swizzle: tile.Swizzle128B,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := sm.Config{Block: sm.Dim3{X: 128}}
	cfg.Reset = func() { clear(c) }
	silent(t, cfg, epilogue(m, false))
	for i, v := range c {
		if want := bf16.FromFloat32(float32(i/128 - i%128)); v != want {
			t.Fatalf("row %d, column %d is %v, want %v", i/128, i%128, v, want)
		}
	}
	for _, m2 := range modes[1:] {
		faultOf(t, launch(t, in(m2, cfg), epilogue(m, true)), sm.RuleProxy, "StoreTensor", "StoreMatrix by warp")
	}
}

// TestMatrixMemory: ldmatrix and stmatrix allocate nothing.
func TestMatrixMemory(t *testing.T) {
	var n float64
	if err := launch(t, sm.Config{Block: sm.Dim3{X: 32}}, func(b *sm.Block) {
		x := sm.Shared[uint16](b, 32*8, 16)
		var rows [32]sm.Region
		for lane := range rows {
			rows[lane] = x.At(8 * lane)
		}
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			row := func(lane int) sm.Region { return rows[lane] }
			var r [4][32]uint32
			n = testing.AllocsPerRun(10, func() {
				w.StoreMatrix(row, r[:])
				w.StoreMatrixTrans(row, r[:2])
				w.LoadMatrix(row, r[:])
				w.LoadMatrixTrans(row, r[:1])
			})
		}))
	}); err != nil || n != 0 {
		t.Errorf("%v allocations, %v", n, err)
	}
}

// TestMMA has the warps of a warpgroup multiply twice, as attention does: S = Q·K, where a column of K lies side by
// side, then O = S·V, where S stays in its registers and V lies row by row.
func TestMMA(t *testing.T) {
	const m, n = 64, 16 // rows of Q, S and O; all else
	op := mma.Op{Shape: mma.M16N8K16, A: mma.F16, B: mma.F16, D: mma.F16}
	last := op // whose sums are exact
	last.D = mma.F32
	q, k, v := func(i, j int) int { return (i - 2*j) % 5 }, func(i, j int) int { return (3*i + j) % 4 },
		func(i, j int) int { return (i + 5*j) % 7 }
	var o [m][n]float32
	cfg := sm.Config{Block: sm.Dim3{X: 128}}
	cfg.Reset = func() { o = [m][n]float32{} }
	kernel := func(b *sm.Block) {
		qs, ks, vs := sm.Shared[float16.Float16](b, m*n, 16), sm.Shared[float16.Float16](b, n*n, 16),
			sm.Shared[float16.Float16](b, n*n, 16)
		b.Warpgroups(func(w *sm.Warpgroup) {
			fill := func(x *sm.Array[float16.Float16], rows int, f func(i, j int) int) {
				for i := range rows * n {
					x.Store(w, i, float16.Fromfloat32(float32(f(i/n, i%n))))
				}
			}
			fill(qs, m, q)
			fill(ks, n, func(i, j int) int { return k(j, i) })
			fill(vs, n, v)
			w.SyncThreads()
			for i := range 4 {
				warp := w.Warp(i)
				var a, s, b [4][32]uint32
				warp.LoadMatrix(func(lane int) sm.Region { return qs.At((16*i+lane%16)*n + lane/16*8) }, a[:])
				warp.LoadMatrix(func(lane int) sm.Region { return ks.At((lane/16*8+lane%8)*n + lane/8%2*8) }, b[:])
				warp.MMA(op, s[:2], a[:], b[:2])
				warp.MMA(op, s[2:], a[:], b[2:])
				warp.LoadMatrixTrans(func(lane int) sm.Region { return vs.At(lane%16*n + lane/16*8) }, b[:])
				for half := range 2 {
					f := last.FragmentD()
					d := f.Make()
					warp.MMA(last, d, s[:], b[2*half:][:2])
					for lane := range 32 {
						for e := range f.Elements() {
							row, col := f.Coord(lane, e)
							o[16*i+row][8*half+col] = f.Float32(d, lane, e)
						}
					}
				}
			}
		})
	}
	silent(t, cfg, kernel)
	var tr sm.Trace
	cfg.Trace = &tr
	if err := launch(t, cfg, kernel); err != nil {
		t.Fatal(err)
	}
	if n := count(readTrace(t, &tr), "CTA (0,0,0), warp 3", "mma"); n != 4 {
		t.Errorf("%d instructions of a warp in the trace, want 4", n)
	}
	for i := range m {
		for j := range n {
			want := 0
			for x := range n * n {
				want += q(i, x%n) * k(x%n, x/n) * v(x/n, j)
			}
			if o[i][j] != float32(want) {
				t.Fatalf("row %d, column %d is %v, want %d", i, j, o[i][j], want)
			}
		}
	}
}

// TestWarpMMABits has a warp multiply bits as a network of ±1 does, from shared memory: a row of ldmatrix is 128 of
// them, and the sum of the products is 128 less twice the bits that differ.
func TestWarpMMABits(t *testing.T) {
	op := mma.Op{Shape: mma.M8N8K128, A: mma.B1, B: mma.B1, D: mma.S32, BitOp: mma.XorPopc}
	word := func(row, i int) uint32 { return uint32(row+1) * 0x9e3779b9 << i }
	f := op.FragmentD()
	d := f.Make()
	cfg := block(32)
	cfg.Reset = func() { clear(d) }
	if err := launch(t, cfg, func(b *sm.Block) {
		x := sm.Shared[uint32](b, 2*8*4, 16)
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			for i := range x.Len() {
				x.Store(w, i, word(i/4, i%4))
			}
			w.SyncWarp()
			var r [2][32]uint32
			w.LoadMatrix(func(lane int) sm.Region { return x.At(4 * lane) }, r[:])
			w.MMA(op, d, r[:1], r[1:])
		}))
	}); err != nil {
		t.Fatal(err)
	}
	for row := range f.Rows {
		for col := range f.Cols {
			want := 0
			for k := range op.Shape.K() {
				want += 1 - 2*int((word(row, k/32)^word(8+col, k/32))>>(k%32)&1)
			}
			lane, i := f.Index(row, col)
			if got := 128 - 2*int(f.Bits(d, lane, i)); got != want {
				t.Fatalf("row %d, column %d is %d, want %d", row, col, got, want)
			}
		}
	}
}

// TestWarpMMASparse multiplies a compressed matrix.
func TestWarpMMASparse(t *testing.T) {
	op := mma.Op{Shape: mma.M16N8K32, A: mma.S8, B: mma.S8, D: mma.S32, Sparse: true}
	fa, fb, fd := op.FragmentA(), op.FragmentB(), op.FragmentD()
	element := func(row, k int) int8 { // two of four neighbours, which differ from row to row and chunk to chunk
		if at := (k - row - k/4) & 3; at == 0 || at == 1+row%3 {
			return int8(row + k + 1)
		}
		return 0
	}
	var dense []int8
	for i := range fa.Rows * op.Shape.K() {
		dense = append(dense, element(i/op.Shape.K(), i%op.Shape.K()))
	}
	values, meta, err := mma.Compress(op, dense, op.Shape.K())
	if err != nil {
		t.Fatal(err)
	}
	d := fd.Make()
	cfg := block(32)
	cfg.Reset = func() { clear(d) }
	kernel := func(b *sm.Block) {
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			x, y := fa.Make(), fb.Make()
			for i, v := range values {
				lane, e := fa.Index(i/fa.Cols, i%fa.Cols)
				fa.SetBits(x, lane, e, uint64(uint8(v)))
			}
			for k := range fb.Rows {
				for col := range fb.Cols {
					lane, e := fb.Index(k, col)
					fb.SetFloat32(y, lane, e, float32(k-3*col))
				}
			}
			for selector := range op.Selectors() {
				w.MMASparse(op, d, x, y, &meta[0], selector)
			}
		}))
	}
	var tr sm.Trace
	cfg.Trace = &tr
	if err := launch(t, cfg, kernel); err != nil {
		t.Fatal(err)
	}
	if n := count(readTrace(t, &tr), "CTA (0,0,0), warp 0", "mma"); n != 2 {
		t.Errorf("%d instructions in the trace, want 2", n)
	}
	for row := range fd.Rows {
		for col := range fd.Cols {
			want := 0
			for k := range fb.Rows {
				want += 2 * int(element(row, k)) * (k - 3*col)
			}
			lane, i := fd.Index(row, col)
			if got := int32(fd.Bits(d, lane, i)); got != int32(want) {
				t.Fatalf("row %d, column %d is %d, want %d", row, col, got, want)
			}
		}
	}
}

// TestMatrixMisuse has what PTX leaves undefined, or no instruction does, in each mode; and what is known under Check.
func TestMatrixMisuse(t *testing.T) {
	var r [4][32]uint32
	pair := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 64}}
	row := func(x *sm.Array[uint16]) func(lane int) sm.Region {
		return func(lane int) sm.Region { return x.At(8 * lane) }
	}
	for _, c := range []struct {
		name    string
		f       func(w *sm.Warp, x *sm.Array[uint16])
		rule    sm.Rule
		checked bool
		want    []string
	}{
		{"three", func(w *sm.Warp, x *sm.Array[uint16]) { w.LoadMatrix(row(x), r[:3]) }, sm.RuleBytes, false,
			[]string{": LoadMatrix: 3 matrices, want 1, 2 or 4"}},
		{"no function", func(w *sm.Warp, x *sm.Array[uint16]) { w.LoadMatrixTrans(nil, r[:]) }, sm.RuleShared, false,
			[]string{": LoadMatrixTrans: no function"}},
		{"nil", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.StoreMatrix(func(int) sm.Region { return nil }, r[:])
		}, sm.RuleShared, false, []string{": StoreMatrix: the row of lane 0 is nil"}},
		{"a nil array", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.StoreMatrix(func(int) sm.Region { return (*sm.Array[uint16])(nil) }, r[:])
		}, sm.RuleShared, false, []string{"the row of lane 0 is nil"}},
		{"a peer's", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.StoreMatrixTrans(row(x.MapShared(1-w.Block().ClusterRank())), r[:])
		}, sm.RuleShared, false, []string{": StoreMatrixTrans: the row of lane 0 lies in CTA ("}},
		{"short", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.StoreMatrix(func(lane int) sm.Region { return x.Slice(8*lane, 8*lane+8-lane/3) }, r[:])
		}, sm.RuleBytes, false, []string{"the row of lane 3 has 14 bytes, want 16"}},
		{"between rows", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.LoadMatrix(func(lane int) sm.Region { return x.At(8*lane + lane/9*4) }, r[:2])
		}, sm.RuleAlignment, false, []string{"the row of lane 9 is at address 152, want a multiple of 16"}},
		{"the same row twice", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.StoreMatrix(func(lane int) sm.Region { return x.At(8 * (lane % 31)) }, r[:])
		}, sm.RuleRace, true, []string{"lanes 0 and 31 store the same row, elements 0 to 7 of x"}},
		{"registers", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.MMA(mma.Op{Shape: mma.M16N8K8, A: mma.BF16, B: mma.BF16, D: mma.F32}, r[:], r[:2], r[:2])
		}, sm.RuleMMA, false, []string{": MMA: m16n8k8.row.col.f32.bf16.bf16.f32: 2 registers of B, want 1"}},
		{"no instruction", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.MMA(mma.Op{A: mma.BF16, B: mma.F16, D: mma.F32}, r[:], r[:], r[:2])
		}, sm.RuleMMA, false, []string{": MMA: m16n8k16.row.col.f32.bf16.f16.f32: nothing multiplies bf16 by f16"}},
		{"no product of bits", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.MMA(mma.Op{Shape: mma.M8N8K128, A: mma.B1, B: mma.B1, D: mma.S32}, r[:2], r[:1], r[:1])
		}, sm.RuleMMA, false, []string{": MMA: m8n8k128.row.col.s32.b1.b1.s32: products of b1 are xor.popc or and.popc"}},
		{"a selector", func(w *sm.Warp, x *sm.Array[uint16]) {
			op := mma.Op{Shape: mma.M16N8K32, A: mma.BF16, B: mma.BF16, D: mma.F32}
			w.MMASparse(op, r[:], r[:], r[:], new(mma.Metadata), 2)
		}, sm.RuleMMA, false, []string{": MMASparse: mma.sp.", "k32.row.col.f32.bf16.bf16.f32: sparsity selector 2"}},
		{"metadata", func(w *sm.Warp, x *sm.Array[uint16]) {
			op := mma.Op{Shape: mma.M16N8K32, A: mma.BF16, B: mma.BF16, D: mma.F32}
			w.MMASparse(op, r[:], r[:], r[:], new(mma.Metadata), 1)
		}, sm.RuleMMA, false, []string{": metadata of row 0, chunk 0 (lane 2, bits 0 to 3) is 0b0000, must be two"}},
		{"no element", func(w *sm.Warp, x *sm.Array[uint16]) {
			f := mma.Op{Shape: mma.M16N8K8, A: mma.BF16, B: mma.BF16, D: mma.F32}.FragmentD()
			f.SetBits(r[:], 31, 4, 1)
		}, sm.RulePanic, false, []string{"at matrix_test.go:", "mma: element 4 of lane 31"}},
		{"unwritten", func(w *sm.Warp, x *sm.Array[uint16]) { w.LoadMatrix(row(x), r[:]) }, sm.RuleUnwritten, true,
			[]string{": LoadMatrix: elements 0 to 255 of x, which nobody has written"}},
		{"by a function that does something itself", func(w *sm.Warp, x *sm.Array[uint16]) {
			w.LoadMatrix(func(lane int) sm.Region {
				w.FenceProxyAsync()
				return x.At(8 * lane)
			}, r[:])
		}, sm.RuleUnwritten, true, []string{": LoadMatrix: elements 0 to 255 of x, which nobody has written"}},
		{"two warps", func(w *sm.Warp, x *sm.Array[uint16]) {
			var r [4][32]uint32
			if w.Rank() == 0 {
				w.StoreMatrix(row(x), r[:])
			} else {
				w.LoadMatrixTrans(row(x), r[:1])
			}
		}, sm.RuleRace, true, []string{"of x: not ordered after the ", "Matrix"}},
	} {
		for _, m := range modes {
			if c.checked && !m.Check {
				continue
			}
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				faultOf(t, launch(t, in(m, pair), func(b *sm.Block) {
					x := sm.Shared[uint16](b, 8*64, 16)
					b.Start(sm.Warps(0, 2, func(w *sm.Warp) {
						w.ClusterSync()
						if w.Rank() == 0 || c.name == "two warps" {
							c.f(w, x)
						}
						w.ClusterSync()
					}))
				}), c.rule, c.want...)
			})
		}
	}
}
