package sm_test

import (
	"strings"
	"testing"

	"example.com/leafhopper/sm"
)

// A partitioned cuda::pipeline is a ring of {producers, consumers}: three threads fill a
// stage, a part each, two read all of it.
func TestPipelineIsARing(t *testing.T) {
	const stages, items, producers, threads = 3, 20, 3, 5
	role := func(rank int) sm.Role {
		if rank < producers {
			return sm.Producer
		}
		return sm.Consumer
	}
	for _, check := range []bool{false, true} {
		for _, short := range []bool{false, true} { // one producer leaves a stage too early
			source := []int32{0}
			err := sm.Launch(t.Context(), sm.Config{Block: sm.Dim3{X: threads}, Check: check}, func(b *sm.Block) {
				mem := sm.Shared[int32](b, stages*producers, 16)
				ends := b.Pipeline(stages, role)
				b.Threads(func(th *sm.Thread) {
					rank := th.Rank()
					p := ends[rank]
					for item := range items {
						at := item % stages * producers
						if rank < producers {
							if short && rank == 1 && item == items-1 {
								return
							}
							p.ProducerAcquire()
							sm.MemcpyAsync(th, mem.Slice(at+rank, at+rank+1), source, p)
							p.ProducerCommit()
							continue
						}
						p.ConsumerWait()
						for part := range producers {
							if got := mem.Load(th, at+part); got != source[0] {
								t.Errorf("item %d, part %d: %d", item, part, got)
							}
						}
						p.ConsumerRelease()
					}
				})
			})
			switch {
			case !short && err != nil:
				t.Errorf("check %t: %v", check, err)
			case short && (err == nil || !strings.Contains(err.Error(), ".full[1]") ||
				!strings.Contains(err.Error(), "1 of 3 arrivals missing")):
				t.Errorf("check %t: a producer left a stage early: %v", check, err)
			}
		}
	}
}

// TestAsyncGroups is the main loop of a kernel for Ampere: stages filled by cp.async, of which a thread waits for its
// own and __syncthreads tells it of the others'.
func TestAsyncGroups(t *testing.T) {
	t.Parallel()
	const stages, tile, tiles = 3, 64, 7
	src := ramp(tile * tiles)
	kernel := func(pending int, sync bool) sm.Kernel {
		broken := pending > stages-2 || !sync
		return func(b *sm.Block) {
			buf := sm.Shared[int32](b, stages*tile, 16)
			b.Threads(func(t *sm.Thread) {
				load := func(i int) {
					if i < tiles {
						at := i%stages*tile + t.Rank()
						sm.MemcpyAsync(t, buf.Slice(at, at+1), src[i*tile+t.Rank():][:1], nil)
					}
					t.CommitAsync()
				}
				for i := range stages - 1 {
					load(i)
				}
				for i := range tiles {
					t.WaitAsync(pending)
					if sync {
						t.SyncThreads()
					}
					load(i + stages - 1)
					got, other := buf.Load(t, i%stages*tile+t.Rank()), buf.Load(t, i%stages*tile+tile-1-t.Rank())
					want, of := src[i*tile+t.Rank()], src[i*tile+tile-1-t.Rank()]
					assert(broken || got == want && other == of, "tile %d: %d and %d", i, got, other)
				}
			})
		}
	}
	for _, m := range modes {
		cfg := in(m, sm.Config{Block: sm.Dim3{X: tile}})
		for seed := range uint64(10) {
			cfg.Seed = seed
			if err := launch(t, cfg, kernel(stages-2, true)); err != nil {
				t.Fatalf("%s: %v", mode(m), err)
			}
		}
		if m.Check && m.Schedule != sm.Eager {
			for _, broken := range []sm.Kernel{kernel(stages-1, true), kernel(stages-2, false)} {
				faultOf(t, sm.Explore(t.Context(), cfg, 10, broken), sm.RuleRace, " of buf: ")
			}
		}
	}
	faultOf(t, launch(t, sm.Config{}, func(b *sm.Block) {
		b.Threads(func(t *sm.Thread) { t.WaitAsync(-1) })
	}), sm.RuleBytes, "WaitAsync: -1 groups, want 0 or more")
}

// TestGroupWait: a group that waits for its copies waits for its threads, which have copied a part each.
func TestGroupWait(t *testing.T) {
	const threads = 64
	src := ramp(2 * threads)
	for _, m := range modes {
		cfg := in(m, sm.Config{Block: sm.Dim3{X: threads}})
		for cfg.Seed = range uint64(10) {
			err := launch(t, cfg, func(b *sm.Block) {
				buf := sm.Shared[int32](b, 2*threads, 16)
				b.Threads(func(t *sm.Thread) {
					g := t.ThisThreadBlock()
					for i := range 2 {
						sm.MemcpyAsync(g, buf.Slice(i*threads, (i+1)*threads), src[i*threads:][:threads], nil)
						g.CommitAsync()
					}
					for i := range 2 {
						g.WaitAsync(1 - i)
						at := (i+1)*threads - 1 - t.Rank()
						assert(buf.Load(t, at) == src[at], "stage %d: element %d is %d", i, at, buf.Load(t, at))
					}
				})
			})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", mode(m), cfg.Seed, err)
			}
		}
	}
}
