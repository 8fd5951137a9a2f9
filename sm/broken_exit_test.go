package sm_test

import (
	"example.com/leafhopper/sm"
)

// exitTwins leave something undone, or do it wrong, in one thread.
func exitTwins() []twin {
	named := func(name string) sm.Config { return sm.Config{Name: name} }
	return []twin{{
		name: "exit with a load in flight", cfg: named("hasty"),
		kernel: func(broken bool) sm.Kernel {
			in := ramp(64)
			return func(b *sm.Block) {
				buf, full := sm.Shared[int32](b, 64, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					full.Init(t, 1)
					full.ArriveTx(t, 1, 256)
					sm.LoadBulk(t, buf, in, full)
					if !broken {
						full.WaitParity(t, 0)
					}
				})
			}
		},
		rule: sm.RuleExit,
		want: []string{"exit: the load by thread 0 at", "completes full phase 0, which nobody has seen complete"},
	}, {
		name: "exit with a memcpy_async in flight", cfg: named("hastier"),
		kernel: func(broken bool) sm.Kernel {
			in := ramp(5)
			return func(b *sm.Block) {
				buf := sm.Shared[int32](b, 5, 4)
				b.Threads(func(t *sm.Thread) {
					sm.MemcpyAsync(t, buf, in, nil)
					if !broken {
						t.WaitAll()
					}
				})
			}
		},
		rule: sm.RuleExit,
		want: []string{"thread 0 at", "MemcpyAsync: nobody has waited for the copy"},
	}, {
		name: "store without commit or wait", cfg: named("lost"),
		kernel: func(broken bool) sm.Kernel {
			out := make([]int32, 64)
			return func(b *sm.Block) {
				buf := sm.Shared[int32](b, 64, 16)
				b.Threads(func(t *sm.Thread) {
					buf.Write(t, 0, ramp(64))
					t.FenceProxyAsync()
					sm.StoreBulk(t, out, buf)
					if !broken {
						t.CommitGroup()
						t.WaitGroup(0)
						assert(out[63] == 63, "the last word is %d", out[63])
					}
				})
			}
		},
		rule: sm.RuleExit,
		want: []string{"thread 0 at", "StoreBulk: stores to global memory were never committed"},
	}, {
		// The barrier's byte count holds 2^20-1, and nobody expects what the copies bring.
		name: "a copy that panics", cfg: named("flood"),
		kernel: func(broken bool) sm.Kernel {
			in := ramp(50 << 10)
			return func(b *sm.Block) {
				buf, full := sm.Shared[int32](b, len(in), 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					full.Init(t, 1)
					for i := range 6 {
						if !broken {
							full.ArriveTx(t, 1, buf.Size())
						}
						sm.LoadBulk(t, buf, in, full)
						if !broken {
							full.WaitParity(t, i)
						}
					}
					if broken {
						full.WaitParity(t, 0)
					}
				})
			}
		},
		rule: sm.RuleBarrier,
		want: []string{"copy issued by thread 0 at", "LoadBulk: full phase 0 (last arrived: ", "tx-count out of range"},
		also: map[sm.Rule][]string{
			sm.RuleRace: {"thread 0 at", "LoadBulk: elements 0 to 51199 of buf, for full phase 0: not ordered after"},
		},
	}, {
		name: "a load that is larger than its destination", cfg: named("spill"),
		kernel: func(broken bool) sm.Kernel {
			in := ramp(64)
			return func(b *sm.Block) {
				buf, full := sm.Shared[int32](b, 64, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					full.Init(t, 1)
					full.ArriveTx(t, 1, 256)
					dst := buf
					if broken {
						dst = buf.Slice(0, 60)
					}
					sm.LoadBulk(t, dst, in, full)
					full.WaitParity(t, 0)
				})
			}
		},
		rule: sm.RuleBytes,
		want: []string{"thread 0 at", "LoadBulk: 256 bytes in a destination of 240"},
	}, {
		name: "a barrier that nobody has initialised", cfg: named("raw"),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				bar := b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if !broken {
						bar.Init(t, 1)
					}
					bar.Wait(t, bar.Arrive(t))
				})
			}
		},
		rule: sm.RuleBarrier,
		want: []string{"thread 0 at", "Arrive: bar: barrier not initialized"},
	}}
}
