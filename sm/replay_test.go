//go:build !invariants

// What was recorded does not look at every phase, which the tag invariants demands.

package sm_test

import (
	"slices"
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/sm"
)

// TestReplayClusters does what was recorded on an H100: what loads and tests return, and all of
// shared memory at the end, is the same.
func TestReplayClusters(t *testing.T) {
	t.Parallel()
	all, err := golden.Records("testdata/cluster.jsonl.gz", golden.ParseClusters)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1000 {
		t.Errorf("%d scenarios, want 1000", len(all))
	}
	for i := range all {
		// Every operation is over before the next, copies too, for which nobody waits: not under Check.
		if text, err := replay.Cluster(t.Context(), &all[i], sm.Config{}); text != "" || err != nil {
			t.Errorf("scenario %d: %s %v", i, text, err)
		}
	}
}

// TestReplayWarps does what a warp did on an H100, in every mode, and TestReplayAtomics what a thread did there.
func TestReplayWarps(t *testing.T) { replayAll(t, "warp.txt.gz", 240, golden.ParseWarps, replay.Warp) }

func TestReplayAtomics(t *testing.T) {
	t.Parallel()
	replayAll(t, "atomic.txt.gz", 840, golden.ParseAtomics, replay.Atomic)
}

func replayAll[T any](
	t *testing.T, file string, n int, parse func([]byte) ([]T, error), check func(*T, sm.Config) (string, error),
) {
	all := records(t, file, n, parse)
	for i := range all {
		for _, cfg := range []sm.Config{{}, {Check: true, Seed: uint64(i), Schedule: sm.Random}} {
			if text, err := check(&all[i], cfg); text != "" || err != nil {
				t.Errorf("record %d, check %v: %s %v", i, cfg.Check, text, err)
			}
		}
	}
}

// TestReplayBarriers does the sequences recorded on an H200 that have only what sm has.
func TestReplayBarriers(t *testing.T) {
	scripts, err := golden.Records("../barrier/testdata/mbarrier.txt.gz", golden.ParseScripts)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{
		"init", "arrive", "arrive_n", "arrive_expect_tx", "expect_tx", "complete_tx", "test_wait", "test_wait_parity",
		"try_wait_parity", "pending_count",
	}
	replayed := 0
	for i, ops := range scripts {
		if slices.ContainsFunc(ops, func(op golden.BarrierOp) bool { return !slices.Contains(known, op.Name) }) {
			continue
		}
		replayed++
		err := launch(t, sm.Config{}, func(b *sm.Block) {
			bar := b.Barrier()
			b.Threads(func(th *sm.Thread) {
				tokens, phases, phase := make([]sm.Token, len(ops)), make([]int, len(ops)), 0
				for j, op := range ops {
					got := op.Result
					if op.Name != "init" && bar.TestWaitParity(th, phase) {
						t.Errorf("script %d, op %d: phase %d is over", i, j, phase)
					}
					phases[j] = phase
					switch op.Name {
					case "init":
						bar.Init(th, op.Arg)
					case "arrive":
						tokens[j] = bar.Arrive(th)
					case "arrive_n":
						tokens[j] = bar.ArriveN(th, op.Arg)
					case "arrive_expect_tx":
						tokens[j] = bar.ArriveTx(th, 1, op.Arg)
					case "expect_tx":
						bar.ExpectTx(th, op.Arg)
					case "complete_tx":
						bar.CompleteTx(th, op.Arg)
					case "test_wait":
						if phase-phases[op.Arg] <= 1 { // else it is out of contract
							got = bit(bar.TestWait(th, tokens[op.Arg]))
						}
					case "test_wait_parity":
						got = bit(bar.TestWaitParity(th, op.Arg))
					case "try_wait_parity":
						got = bit(bar.TryWaitParity(th, op.Arg))
					case "pending_count":
						got = uint64(tokens[op.Arg].Pending())
					}
					if got != op.Result {
						t.Errorf("script %d, op %d %s %d: %d, the GPU %d", i, j, op.Name, op.Arg, got, op.Result)
					}
					if bar.TestWaitParity(th, phase) {
						phase++
					}
				}
			})
		})
		if err != nil {
			t.Errorf("script %d: %v", i, err)
		}
	}
	if replayed < 100 {
		t.Errorf("%d sequences replayed", replayed)
	}
	t.Logf("%d of %d sequences replayed", replayed, len(scripts))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
