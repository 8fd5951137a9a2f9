package sm_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/leafhopper/sm"
)

// rings is what a kernel that has several of them declares with one function.
type rings struct{ full, empty []sm.Barrier }

func newRings(b *sm.Block) rings { return rings{full: b.Barriers(2), empty: b.Barriers(2)} }

// TestNames has reports name the barrier that is waited for where a line declares several, again and again.
func TestNames(t *testing.T) {
	wait := func(b *sm.Block, bar *sm.Barrier) {
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			bar.Init(w.Thread(0), 1)
			bar.WaitParity(w, 0)
		}))
	}
	for want, kernel := range map[string]sm.Kernel{
		"waits for full[0] phase 0": func(b *sm.Block) {
			newRings(b)
			wait(b, &newRings(b).full[0])
		},
		"waits for empty[1] phase 0": func(b *sm.Block) {
			_, full, _, empty := sm.Shared[int32](b, 4, 16), b.Barriers(2), sm.Shared[int32](b, 4, 16), b.Barriers(2)
			_ = full
			wait(b, &empty[1])
		},
	} {
		faultOf(t, launch(t, sm.Config{Block: sm.Dim3{X: 32}}, kernel), sm.RuleDeadlock, want)
	}
}

// TestBarrier checks that one barrier is what the kernel's variable calls it.
func TestBarrier(t *testing.T) {
	err := sm.Launch(t.Context(), sm.Config{}, func(b *sm.Block) {
		bar := b.Barrier()
		b.Threads(func(t *sm.Thread) {
			bar.Init(t, 2)
			bar.ArriveAndWait(t)
		})
	})
	if err == nil || !strings.Contains(err.Error(), "waits for bar phase 0: 1 of 2 arrivals missing") {
		t.Error(err)
	}
}

func generic[T any](*sm.Block) { panic("stop") }

func TestNameOfGenericKernel(t *testing.T) {
	if f := fault(t, launch(t, sm.Config{}, generic[int32])); f.Kernel != "generic" {
		t.Errorf("the kernel is called %q: %v", f.Kernel, f)
	}
}

// TestElectedWait has the first thread of each of four warps wait.
func TestElectedWait(t *testing.T) {
	err := launch(t, sm.Config{Block: sm.Dim3{X: 128}}, func(b *sm.Block) {
		bar := b.Barrier()
		b.Start(sm.Warps(0, 4, func(w *sm.Warp) {
			if w.Rank() == 0 {
				bar.Init(w.Thread(0), 1)
			}
			w.SyncThreads()
			bar.WaitParity(w.Thread(0), 0)
		}))
	})
	faultOf(t, err, sm.RuleDeadlock, "threads 0, 32, 64, 96 at")
}

// TestContextTellsAccess ends the context of an agent that waits for its own shared memory to change.
func TestContextTellsAccess(t *testing.T) {
	for _, m := range modes {
		ctx, stop := context.WithCancel(t.Context())
		err := sm.Launch(ctx, in(m, sm.Config{Block: sm.Dim3{X: 32}}), func(b *sm.Block) {
			x := sm.Shared[int32](b, 32, 16)
			b.Threads(func(th *sm.Thread) {
				x.Store(th, th.Rank(), 0)
				th.SyncThreads()
				for x.Load(th, th.Rank()) == 0 {
					stop()
				}
			})
		})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "; Load at report_test.go:") {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}

// TestContextTells ends the context of agents that wait for each other in global memory, of which not all are resident:
// of a grid that a GPU would have at once, and of one that none has.
func TestContextTells(t *testing.T) {
	for i, m := range modes {
		cfg, lacks := sm.Config{Grid: sm.Dim3{X: 4}, Resident: 2}, "2 of 4 CTAs had not begun (Config.Cooperative, if others"
		if i == 1 {
			cfg.Grid.X = 4225
			lacks = "4223 of 4225 CTAs had not begun (Config.Resident; 132 SMs have at most 4224 of them at once)"
		}
		ctx, stop := context.WithCancel(t.Context())
		var n atomic.Int32
		err := sm.Launch(ctx, in(m, cfg), func(b *sm.Block) {
			b.Threads(func(th *sm.Thread) {
				n.Add(1)
				for n.Load() < 4 {
					th.ThreadFence(sm.ScopeDevice)
					if n.Load() == 2 {
						stop()
					}
				}
			})
		})
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "sm: launch: context ") ||
			!strings.Contains(err.Error(), "; "+lacks) || !strings.Contains(err.Error(), "; ThreadFence at report_test.go:") ||
			!strings.HasSuffix(err.Error(), ": thread 0 of CTA (0,0,0) and 1 more") &&
				!strings.HasSuffix(err.Error(), ": thread 0 of CTA (1,0,0) and 1 more") {
			t.Errorf("%s: %v", mode(m), err)
		}
	}
}
