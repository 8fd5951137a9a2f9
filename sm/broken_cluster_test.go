package sm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

func clusterTwins() []twin {
	pair := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}
	named := func(name string) sm.Config { cfg := pair; cfg.Name = name; return cfg }
	return []twin{{
		name: "multicast mask without the issuer", cfg: named("multicast"),
		kernel: func(broken bool) sm.Kernel {
			mask := uint16(0b11)
			if broken {
				mask = 0b10
			}
			in := ramp(64)
			return func(b *sm.Block) {
				buf, full := sm.Shared[int32](b, 64, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					full.Init(t, 1)
					t.ClusterSync()
					full.ArriveTx(t, 1, 256)
					if b.ClusterRank() == 0 {
						sm.LoadBulkMulticast(t, buf, in, full, mask)
					}
					full.WaitParity(t, 0)
					assert(buf.Load(t, 63) == 63, "the last word is %d", buf.Load(t, 63))
					t.ClusterSync()
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"multicast, CTA (0,0,0): all 2 agents wait",
			"CTA (0,0,0) thread 0 at", "waits for full phase 0: 0 arrivals missing, 256 bytes missing (expected 256 at",
			"copies brought 0)",
			"CTA (1,0,0) thread 0 at", "waits for barrier.cluster phase 1: 1 of 2 threads missing",
		},
	}, {
		name: "remote store to a CTA that has left", cfg: named("remote"),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x := sm.Shared[int32](b, 1, 4)
				b.Threads(func(t *sm.Thread) {
					t.ClusterSync()
					if b.ClusterRank() == 0 {
						x.MapShared(1).Store(t, 0, 7)
					}
					if !broken {
						t.ClusterSync()
					}
				})
			}
		},
		rule: sm.RuleExit, // whether CTA 1 has left, or might have
		want: []string{"remote, CTA (", "Store", "shared memory", "cluster.sync"},
	}, {
		name: "cluster.sync that a CTA does not come to", cfg: named("deserted"),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				b.Threads(func(t *sm.Thread) {
					if broken && b.ClusterRank() == 1 {
						return
					}
					t.ClusterSync()
				})
			}
		},
		rule: sm.RuleDeadlock,
		want: []string{
			"deserted, CTA (0,0,0): 1 of 2 agents wait", "thread 0 at",
			"barrier.cluster phase 0: 1 of 2 threads missing: 1 of CTA (1,0,0), which has exited",
		},
	}, {
		name: "a wait on a peer's barrier", cfg: named("far"),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				bar := b.Barrier()
				b.Threads(func(t *sm.Thread) {
					bar.Init(t, 2)
					t.ClusterSync()
					bar.Arrive(t)
					bar.MapShared(1 - b.ClusterRank()).Arrive(t)
					if broken {
						bar.MapShared(1-b.ClusterRank()).WaitParity(t, 0)
					}
					bar.WaitParity(t, 0)
					t.ClusterSync()
				})
			}
		},
		rule: sm.RuleBarrier,
		want: []string{"thread 0 at", "WaitParity: bar is a barrier of CTA ("},
	}, {
		name: "arrivals at a peer's barrier, one too many", cfg: named("crowded"),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				bar := b.Barrier()
				b.Threads(func(t *sm.Thread) {
					bar.Init(t, 3)
					bar.ExpectTx(t, 16)
					t.ClusterSync()
					if b.ClusterRank() == 0 {
						bar.MapShared(1).ArriveN(t, 2)
						if broken {
							bar.MapShared(1).ArriveN(t, 2)
						}
					}
					t.ClusterSync()
				})
			}
		},
		rule: sm.RuleBarrier,
		want: []string{
			"CTA (0,0,0), thread 0 at", "ArriveN: bar of CTA (1,0,0) phase 0 (last arrived: thread 0 of CTA (0,0,0)",
		},
	}, {
		name: "a multicast before a peer's Init", cfg: named("early"),
		kernel: func(broken bool) sm.Kernel {
			return func(b *sm.Block) {
				x, bar := sm.Shared[int32](b, 4, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					if b.ClusterRank() == 0 || !broken {
						bar.Init(t, 1)
						bar.ArriveTx(t, 1, 16)
					}
					t.ClusterSync()
					if b.ClusterRank() == 0 {
						sm.LoadBulkMulticast(t, x, []int32{1, 2, 3, 4}, bar, 3)
					}
					t.ClusterSync()
					bar.WaitParity(t, 0)
				})
			}
		},
		rule: sm.RuleBarrier,
		want: []string{"LoadBulkMulticast: bar of CTA (1,0,0): barrier not initialized"},
	}}
}

// TestLayoutsDiffer has the arrays of a cluster's CTAs at other addresses.
func TestLayoutsDiffer(t *testing.T) {
	cfg := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}
	for _, late := range []bool{false, true} {
		err := launch(t, cfg, func(b *sm.Block) {
			more := func() { // what only one CTA needs
				if b.ClusterRank() == 0 {
					sm.Shared[int32](b, 64, 16)
				}
			}
			if !late {
				more()
			}
			x := sm.Shared[int32](b, 64, 16)
			if late {
				more()
			}
			b.Threads(func(t *sm.Thread) {
				x.Store(t, 0, int32(1+b.Idx.X))
				t.ClusterSync()
				if got := x.MapShared(1-b.ClusterRank()).Load(t, 0); got != int32(2-b.Idx.X) {
					panic("another array")
				}
				t.ClusterSync()
			})
		})
		if late && err != nil {
			t.Errorf("more behind what both have: %v", err)
		} else if !late {
			faultOf(t, err, sm.RuleShared, "every CTA declares the same")
		}
	}
}

// TestLayoutsAgree has the arrays of a cluster's CTAs declared at other lines of the kernel.
func TestLayoutsAgree(t *testing.T) {
	err := launch(t, sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}, func(b *sm.Block) {
		var x *sm.Array[int32]
		if b.ClusterRank() == 0 {
			x = sm.Shared[int32](b, 64, 16)
		} else {
			x = sm.Shared[int32](b, 64, 16)
		}
		b.Threads(func(t *sm.Thread) { x.Store(t, 0, 1) })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDescriptorOfPeer makes the operand of an instruction of another CTA's memory.
func TestDescriptorOfPeer(t *testing.T) {
	cfg := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 128}}
	for name, descriptor := range map[string]func(x *sm.Array[bf16.BF16]){
		"KMajor":  func(x *sm.Array[bf16.BF16]) { x.KMajor(tile.Swizzle128B) },
		"MNMajor": func(x *sm.Array[bf16.BF16]) { x.At(64).MNMajor(tile.Swizzle128B) },
	} {
		err := launch(t, cfg, func(b *sm.Block) {
			x := sm.Shared[bf16.BF16](b, 64*64, 1024)
			b.Warpgroups(func(w *sm.Warpgroup) {
				descriptor(x.MapShared(1).MapShared(b.ClusterRank())) // its own, by way of a peer's
				descriptor(x.MapShared(1 - b.ClusterRank()))
			})
		})
		faultOf(t, err, sm.RulePanic, name+" of x of CTA", "which is a peer's")
	}
}

// TestExitWhileCopyReads has a CTA leave as soon as it has issued a copy to a peer, or when the peer has waited for it.
func TestExitWhileCopyReads(t *testing.T) {
	cfg := sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}
	for _, m := range modes {
		for _, waits := range []bool{false, true} {
			err := launch(t, in(m, cfg), func(b *sm.Block) {
				x, y, bar := sm.Shared[int32](b, 64, 16), sm.Shared[int32](b, 64, 16), b.Barrier()
				b.Threads(func(t *sm.Thread) {
					bar.Init(t, 1)
					for i := range 64 {
						x.Store(t, i, int32(i))
					}
					t.FenceProxyAsync()
					t.ClusterSync()
					if b.ClusterRank() == 1 {
						t.CopyBulk(y.MapShared(0), x, bar.MapShared(0))
					} else {
						bar.ArriveTx(t, 1, 256)
						bar.WaitParity(t, 0)
					}
					if waits {
						t.ClusterSync()
					}
				})
			})
			if waits && err != nil {
				t.Errorf("%s: %v", mode(m), err)
			} else if !waits {
				faultOf(t, err, sm.RuleExit)
			}
		}
	}
}
