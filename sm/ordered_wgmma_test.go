package sm_test

import (
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// wgmmaUnordered has operands that change before the instructions are waited for, or that lie otherwise than a
// descriptor says. It is any race if the write may also come before the instruction.
func wgmmaUnordered() []unordered {
	changed := []sm.Rule{sm.RuleRace}
	return []unordered{{
		name: "a stage is given back before its instructions are waited for", cfg: block(256), rule: sm.RuleWGMMA,
		also: changed,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			multiplying(b, 1, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 3 {
					empty[0].WaitParity(t, i+1)
					full[0].ArriveTx(t, 1, bytesA+bytesB)
					t.LoadTensor(x, onesA, &full[0], 0, 0) // second
					t.LoadTensor(y, onesB, &full[0], 0, 0) // second
				}
			}, func(w *sm.Warpgroup, full, empty []sm.Barrier) {
				d := w.Accumulators(wgmma.F32, narrow.N)
				for i := range 3 {
					full[0].WaitParity(w, i)
					w.Fence()
					w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // first
					w.CommitGroup()
					if broken && i == 1 {
						empty[0].Arrive(w.Thread(0))
					}
					w.WaitGroup(0)
					if !broken || i != 1 {
						empty[0].Arrive(w.Thread(0))
					}
				}
			})
		},
	}, {
		name: "the stage of the group that is pending is given back", cfg: block(256), rule: sm.RuleWGMMA,
		also: changed,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 2)
			multiplying(b, 2, func(t *sm.Thread, full, empty []sm.Barrier) {
				for i := range 5 {
					s := i % 2
					empty[s].WaitParity(t, i/2+1)
					full[s].ArriveTx(t, 1, bytesA+bytesB)
					t.LoadTensor(x.At(s*sizeA), onesA, &full[s], 0, 0) // second
					t.LoadTensor(y.At(s*sizeB), onesB, &full[s], 0, 0) // second
				}
			}, func(w *sm.Warpgroup, full, empty []sm.Barrier) {
				d := w.Accumulators(wgmma.F32, narrow.N)
				for i := range 5 {
					s := i % 2
					full[s].WaitParity(w, i/2)
					w.Fence()
					w.MMA(narrow, d, x.At(s*sizeA).KMajor(tile.Swizzle32B), y.At(s*sizeB).KMajor(tile.Swizzle32B)) // first
					w.CommitGroup()
					w.WaitGroup(1)
					if broken {
						empty[s].Arrive(w.Thread(0))
					} else if i > 0 {
						empty[1-s].Arrive(w.Thread(0))
					}
				}
				w.WaitGroup(0)
				assert(broken || d.At(3, 3) == 80, "the sum is %v", d.At(3, 3))
			})
		},
	}, {
		name: "a stage that two warpgroups multiply is given back by one", cfg: block(384), rule: sm.RuleRace,
		also: []sm.Rule{sm.RulePhase, sm.RuleDeadlock},
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			full, empty := b.Barrier(), b.Barrier()
			b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
				t := w.Thread(0)
				full.Init(t, 1)
				empty.Init(t, 2)
				w.SyncThreads()
				for i := range 2 {
					empty.WaitParity(t, i+1)
					full.ArriveTx(t, 1, bytesA+bytesB)
					t.LoadTensor(x, onesA, full, 0, 0) // second
					t.LoadTensor(y, onesB, full, 0, 0) // second
				}
			}), sm.Warpgroups(1, 3, func(w *sm.Warpgroup) {
				w.SyncThreads()
				d := w.Accumulators(wgmma.F32, narrow.N)
				for i := range 2 {
					full.WaitParity(w, i)
					w.Fence()
					w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // first
					w.CommitGroup()
					if broken && w.Rank() == 1 {
						w.WaitGroup(0)
						empty.ArriveN(w.Thread(0), 2)
						continue
					}
					w.WaitGroup(0)
					if !broken {
						empty.Arrive(w.Thread(0))
					}
				}
			}))
		},
	}, {
		name: "the other warpgroup waits for the instructions", cfg: block(256), rule: sm.RuleWGMMA, also: changed,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			b.Warpgroups(func(w *sm.Warpgroup) {
				if w.Rank() == 0 {
					x.Write(w, 0, make([]bf16.BF16, sizeA))
					y.Write(w, 0, make([]bf16.BF16, sizeB))
					w.FenceProxyAsync()
				}
				w.SyncThreads()
				if w.Rank() == 0 {
					d := w.Accumulators(wgmma.F32, narrow.N)
					w.Fence()
					w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // first
					w.CommitGroup()
				}
				if w.Rank() == 1 || !broken {
					w.WaitGroup(0)
				}
				w.SyncThreads()
				if w.Rank() == 1 {
					y.Store(w, 0, 0) // second
				}
				w.WaitGroup(0)
			})
		},
	}, {
		name: "a warp writes an operand before it is waited for", cfg: block(256), rule: sm.RuleWGMMA, also: changed,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			b.Start(sm.Warpgroups(0, 1, func(w *sm.Warpgroup) {
				d := w.Accumulators(wgmma.F32, narrow.N)
				x.Write(w, 0, make([]bf16.BF16, sizeA))
				y.Write(w, 0, make([]bf16.BF16, sizeB))
				w.FenceProxyAsync()
				w.Fence()
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // first
				w.CommitGroup()
				if broken {
					w.SyncThreads()
					w.WaitGroup(0)
				} else {
					w.WaitGroup(0)
					w.SyncThreads()
				}
			}), sm.Warps(4, 5, func(w *sm.Warp) {
				w.SyncThreads()
				y.Store(w, 3, 1) // second
			}))
		},
	}, {
		name: "an epilogue in a stage that the other consumer multiplies", cfg: block(256), rule: sm.RuleRace,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			full := b.Barrier()
			c := sm.Recast[float32](y)
			b.Warpgroups(func(w *sm.Warpgroup) {
				t := w.Thread(0)
				if w.Rank() == 0 {
					full.Init(t, 1)
				}
				w.SyncThreads()
				if w.Rank() == 0 {
					full.ArriveTx(t, 1, bytesA+bytesB)
					t.LoadTensor(x, onesA, full, 0, 0)
					t.LoadTensor(y, onesB, full, 0, 0)
				}
				full.WaitParity(w, 0)
				d := w.Accumulators(wgmma.F32, narrow.N)
				w.Fence()
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // first
				w.CommitGroup()
				w.WaitGroup(0)
				if !broken {
					w.BarSync(1, 256)
				}
				c.Store(w, w.Rank(), d.Float32(0, 0)) // second
			})
		},
	}, {
		name: "a descriptor of another swizzle", cfg: block(128), rule: sm.RuleLayout,
		kernel: func(b *sm.Block, broken bool) {
			x, y := sm.Shared[bf16.BF16](b, 64*64, 1024), sm.Shared[bf16.BF16](b, 8*64, 1024)
			s := tile.Swizzle128B
			if broken {
				s = tile.Swizzle64B
			}
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, 2*64*(64+8))
				t.LoadTensor(x, ones(64, tile.Swizzle128B), full, 0, 0) // first
				t.LoadTensor(y, ones(8, tile.Swizzle128B), full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, x.KMajor(s), y.KMajor(tile.Swizzle128B)) // second
			})
		},
	}, {
		name: "a B that was loaded with another swizzle than A", cfg: block(128), rule: sm.RuleLayout,
		kernel: func(b *sm.Block, broken bool) {
			x, y := sm.Shared[bf16.BF16](b, 64*32, 1024), sm.Shared[bf16.BF16](b, 8*64, 1024)
			s := tile.Swizzle64B
			if broken {
				s = tile.Swizzle128B
			}
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				mapB := ones(8, s)
				full.ArriveTx(t, 1, 2*64*32+mapB.SharedBytes())
				t.LoadTensor(x, ones(64, tile.Swizzle64B), full, 0, 0)
				t.LoadTensor(y, mapB, full, 0, 0) // first
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, x.KMajor(tile.Swizzle64B), y.KMajor(tile.Swizzle64B)) // second
			})
		},
	}, {
		name: "an operand that was loaded without a swizzle", cfg: block(128), rule: sm.RuleLayout,
		kernel: func(b *sm.Block, broken bool) {
			x, y := operands(b, 1)
			mapA := onesA
			if broken {
				mapA = ones(64, tile.SwizzleNone)
			}
			loaded(b, narrow, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, bytesA+bytesB)
				t.LoadTensor(x, mapA, full, 0, 0) // first
				t.LoadTensor(y, onesB, full, 0, 0)
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(narrow, d, x.KMajor(tile.Swizzle32B), y.KMajor(tile.Swizzle32B)) // second
			})
		},
	}, {
		name: "an MN-major operand of another swizzle", cfg: block(128), rule: sm.RuleLayout,
		kernel: func(b *sm.Block, broken bool) {
			x, y := sm.Shared[bf16.BF16](b, sizeA, 1024), sm.Shared[bf16.BF16](b, 16*64, 1024)
			s := tile.Swizzle128B
			if broken {
				s = tile.Swizzle64B
			}
			op := wgmma.Op{Kind: wgmma.BF16F32, N: 32, TransposeB: true}
			loaded(b, op, func(t *sm.Thread, full *sm.Barrier) {
				full.ArriveTx(t, 1, bytesA+2*16*64)
				t.LoadTensor(x, onesA, full, 0, 0)
				t.LoadTensor(y, ones(16, tile.Swizzle128B), full, 0, 0) // first
			}, func(w *sm.Warpgroup, d *wgmma.Accumulator) {
				w.MMA(op, d, x.KMajor(tile.Swizzle32B), y.MNMajor(s)) // second
			})
		},
	}}
}

// loaded has a thread load operands, and its warpgroup issue an instruction when they are there.
func loaded(b *sm.Block, op wgmma.Op, load func(t *sm.Thread, full *sm.Barrier),
	issue func(w *sm.Warpgroup, d *wgmma.Accumulator)) {
	full := b.Barrier()
	b.Warpgroups(func(w *sm.Warpgroup) {
		full.Init(w.Thread(0), 1)
		load(w.Thread(0), full)
		full.WaitParity(w, 0)
		d := w.Accumulators(wgmma.F32, op.N)
		w.Fence()
		issue(w, d)
		w.CommitGroup()
		w.WaitGroup(0)
	})
}
