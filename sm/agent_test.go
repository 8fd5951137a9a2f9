package sm_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// TestOthersAgent: an agent, or what belongs to one, that another uses is a fault, where agents would
// take each other's turns or sleep for each other.
func TestOthersAgent(t *testing.T) {
	for _, c := range []struct {
		name   string
		cfg    sm.Config
		kernel sm.Kernel
		want   []string
	}{
		{"a thread that a variable keeps", sm.Config{Block: sm.Dim3{X: 64}, Name: "kept"}, func(b *sm.Block) {
			var first *sm.Thread
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					first = t
				}
				t.SyncThreads()
				if t.Rank() == 7 {
					t = first
				}
				t.SyncThreads()
			})
		}, []string{"agent: kept, CTA (0,0,0), thread 7 at", "SyncThreads: in the name of thread 0, whose goroutine"}},
		{"the end of a pipeline", sm.Config{Block: sm.Dim3{X: 32}}, func(b *sm.Block) {
			x, pipe := sm.Shared[int32](b, 32, 4), b.Pipeline(1, nil)
			b.Threads(func(t *sm.Thread) {
				p := pipe[t.Rank()/31]
				p.ProducerAcquire()
				sm.MemcpyAsync(t, x.At(t.Rank()), ramp(1), p)
				p.ProducerCommit()
				p.ConsumerWait()
				p.ConsumerRelease()
			})
		}, []string{"ProducerAcquire: in the name of thread "}},
		{"a warpgroup's thread", sm.Config{Block: sm.Dim3{X: 256}}, func(b *sm.Block) {
			var threads [2]*sm.Thread
			bar := b.Barrier()
			b.Warpgroups(func(w *sm.Warpgroup) {
				threads[w.Rank()] = w.Thread(3)
				w.SyncThreads()
				if w.Rank() == 1 {
					bar.Init(threads[0], 1)
				}
				w.SyncThreads()
			})
		}, []string{"warpgroup 1 at", "Init: in the name of thread 3, "}},
		{"an agent of another CTA", sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}, func() sm.Kernel {
			var first *sm.Thread
			return func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					if b.ClusterRank() == 0 {
						first = t
					}
					t.ClusterSync()
					first.ClusterSync()
				})
			}
		}(), []string{"CTA (1,0,0), thread 0 at", "ClusterSync: in the name of thread 0 of CTA (0,0,0), "}},
		{"an agent that has ended", sm.Config{}, func(b *sm.Block) {
			var kept *sm.Thread
			b.Threads(func(t *sm.Thread) { kept = t })
			kept.SyncThreads()
		}, []string{"the kernel function at", "SyncThreads: in the name of thread 0, "}},
	} {
		for _, m := range modes[:2] {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				if !m.Check && !sm.TellsGoroutines {
					t.Skip("goroutines cannot be told apart")
				}
				faultOf(t, launch(t, in(m, c.cfg), c.kernel), sm.RuleAgent, append(c.want, "agent_test.go:")...)
			})
		}
	}
}

// TestOwnGoroutine: what a goroutine does for the agent that waits for it is the agent's.
func TestOwnGoroutine(t *testing.T) {
	for _, m := range modes {
		err := launch(t, in(m, sm.Config{Block: sm.Dim3{X: 64}}), func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(t *sm.Thread) {
				if t.Rank() == 0 {
					bar.Init(t, 64)
				}
				t.SyncThreads()
				done := make(chan struct{})
				go func() {
					defer close(done)
					bar.Arrive(t)
				}()
				<-done
				bar.WaitParity(t, 0)
			})
		})
		if err != nil {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestLate: what comes before the start of agents does not come from them either.
func TestLate(t *testing.T) {
	for want, f := range map[string]func(b *sm.Block){
		"Shared: after":         func(b *sm.Block) { sm.Shared[byte](b, 1, 1) },
		"Barrier: after":        func(b *sm.Block) { b.Barrier() },
		"Barriers: after":       func(b *sm.Block) { b.Barriers(2) },
		"Pipeline: after":       func(b *sm.Block) { b.Pipeline(2, nil) },
		"Threads: agents are":   func(b *sm.Block) { b.Threads(nil) },
		"Warpgroups: agents":    func(b *sm.Block) { b.Warpgroups(nil) },
		"Start: agents are sta": func(b *sm.Block) { b.Start() },
	} {
		for _, m := range modes {
			for seed := range uint64(4) {
				cfg := in(m, sm.Config{Block: sm.Dim3{X: 128}, Seed: seed})
				err := launch(t, cfg, func(b *sm.Block) {
					b.Threads(func(t *sm.Thread) {
						t.SyncThreads()
						if t.Rank() == 9 {
							f(b)
						}
						t.SyncThreads()
					})
				})
				faultOf(t, err, sm.RuleStart, want, "agent_test.go:")
			}
		}
	}
}

// TestPlaceOfMisuse: registers that are touched too early, and a panic, are where they are and who
// they are, whatever the agent or a part of it did last.
func TestPlaceOfMisuse(t *testing.T) {
	for _, touch := range []bool{false, true} {
		line := 0
		f := fault(t, launch(t, sm.Config{Block: sm.Dim3{X: 128}, Check: true}, func(b *sm.Block) {
			s, bar := sm.Shared[bf16.BF16](b, 2*64*64, 1024), b.Barrier()
			clear(s.Elements())
			b.Warpgroups(func(w *sm.Warpgroup) {
				d := w.Accumulators(wgmma.F32, 64)
				w.Fence()
				w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: 64}, d, s.KMajor(tile.Swizzle128B),
					s.At(64*64).KMajor(tile.Swizzle128B))
				w.CommitGroup()
				bar.Init(w.Thread(5), 1)
				_, _, line, _ = runtime.Caller(0)
				if touch {
					d.Float32(0, 0)
				}
				panic("there")
			})
		}))
		rule, at := sm.RulePanic, line+4
		if touch {
			rule, at = sm.RuleWGMMA, line+2
		}
		if f.Rule != rule || f.Agent != "warpgroup 0" || f.Op != "" || f.Site != fmt.Sprintf("agent_test.go:%d", at) {
			t.Errorf("%v, want %v by warpgroup 0 at line %d", f, rule, at)
		}
	}
}

// TestMisuseOnce: what is wrong with several instructions of a group in the same way is told once.
func TestMisuseOnce(t *testing.T) {
	f := fault(t, launch(t, sm.Config{Block: sm.Dim3{X: 128}, Check: true}, func(b *sm.Block) {
		s := sm.Shared[bf16.BF16](b, 2*64*64, 1024)
		b.Warpgroups(func(w *sm.Warpgroup) {
			d, x := w.Accumulators(wgmma.F32, 64), s.Elements() // where nobody sees who overwrites what
			clear(x)
			w.Fence()
			for range 4 {
				w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: 64}, d, s.KMajor(tile.Swizzle128B),
					s.At(64*64).KMajor(tile.Swizzle128B))
			}
			w.CommitGroup()
			x[5] = 1
			w.WaitGroup(0)
		})
	}))
	if n := strings.Count(f.Detail, "overwritten"); n != 1 || f.Rule != sm.RuleWGMMA ||
		strings.Contains(f.Detail, "wgmma: ") {
		t.Errorf("told %d times: %v", n, f)
	}
}
