//go:build !invariants

// What was recorded does not look at every phase, which the tag invariants demands.

package sm_test

import (
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// TestReplayClusters does what was recorded on an H100: what loads and tests return, and all of
// shared memory at the end, is the same.
func TestReplayClusters(t *testing.T) {
	data, err := golden.Read("testdata/cluster.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	all, err := golden.ParseClusters(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1000 {
		t.Errorf("%d scenarios, want 1000", len(all))
	}
	global := make([]uint32, golden.ClusterGlobalSize/4)
	bytes := make([]byte, golden.ClusterGlobalSize)
	golden.FillClusterGlobal(bytes)
	for i := range global {
		global[i] = uint32(bytes[4*i]) | uint32(bytes[4*i+1])<<8 | uint32(bytes[4*i+2])<<16 | uint32(bytes[4*i+3])<<24
	}
	r := replay{global: global, plain: replayMap(t, global, 16, tile.SwizzleNone), swizzled: replayMap(t, global, 32, tile.Swizzle128B)}
	for i, s := range all {
		r.run(t, i, s, sm.Config{})
		if i%10 == 0 && !testing.Short() {
			// Every operation is over before the next, copies too.
			r.run(t, i, s, sm.Config{Check: true, Schedule: sm.Eager, Seed: uint64(i)})
		}
	}
}

func replayMap(t *testing.T, global []uint32, width uint32, s tile.Swizzle) *tile.TensorMap {
	m, err := sm.NewTensorMap(global, tile.Config{DataType: tile.Int32, Dims: []uint64{64, 64}, Box: []uint32{width, 8}, Swizzle: s})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// replay is what all scenarios share.
type replay struct {
	global          []uint32
	plain, swizzled *tile.TensorMap
}

func (r *replay) run(t *testing.T, i int, s golden.ClusterScenario, cfg sm.Config) {
	t.Helper()
	var values []uint32
	sums := make([]uint32, s.CTAs)
	cfg.Grid, cfg.Cluster = sm.Dim3{X: s.CTAs}, sm.Dim3{X: s.CTAs}
	err := launch(t, cfg, func(b *sm.Block) {
		mem := sm.Shared[uint32](b, golden.ClusterSharedSize/4, 1024)
		bars := b.Barriers(golden.ClusterBarriers)
		b.Threads(func(th *sm.Thread) {
			golden.FillClusterShared(mem.Bytes(), b.ClusterRank())
			for j := range bars {
				bars[j].Init(th, s.Init[j])
			}
			th.ClusterSync()
			for _, op := range s.Ops {
				if op.Rank == b.ClusterRank() {
					if v, ok := r.op(th, mem, bars, op); ok {
						values = append(values, v)
					}
				}
				th.ClusterSync()
			}
			sums[b.ClusterRank()] = crc32.ChecksumIEEE(mem.Bytes())
			th.ClusterSync()
		})
	})
	// A scenario may end with copies that nobody has waited for, or whose bytes nobody has expected.
	if f := (*sm.Fault)(nil); err != nil && !(errors.As(err, &f) && f.Op == "exit" && (f.Rule == sm.RuleExit || f.Rule == sm.RuleBytes)) {
		t.Fatalf("scenario %d, %s: %v", i, mode(cfg), err)
	}
	if !slices.Equal(values, s.Values) {
		t.Errorf("scenario %d, %s: loads and tests return %v, the GPU %v", i, mode(cfg), values, s.Values)
	}
	if !slices.Equal(sums, s.Shared) {
		t.Errorf("scenario %d, %s: shared memory has sums %08x, on the GPU %08x", i, mode(cfg), sums, s.Shared)
	}
}

// op does one operation, and returns its value if it has one.
func (r *replay) op(t *sm.Thread, mem *sm.Array[uint32], bars []sm.Barrier, op golden.ClusterOp) (v uint32, ok bool) {
	a := op.Args
	at := func(i int) *sm.Array[uint32] { return mem.MapShared(a[0]).At(a[i] / 4) }
	span := func(m *sm.Array[uint32], from, bytes int) *sm.Array[uint32] { return m.Slice(from/4, (from+bytes)/4) }
	bar := func(i int) *sm.Barrier { return bars[a[i]].MapShared(a[0]) }
	switch op.Code {
	case golden.ClusterArrive:
		bar(1).ArriveN(t, a[2])
	case golden.ClusterArriveTx:
		bar(1).ArriveTx(t, 1, a[2])
	case golden.ClusterExpectTx:
		bar(1).ExpectTx(t, a[2])
	case golden.ClusterCompleteTx:
		bar(1).CompleteTx(t, a[2])
	case golden.ClusterCopy:
		t.CopyBulk(span(mem.MapShared(a[0]), a[1], a[3]), span(mem, a[2], a[3]), bar(4))
	case golden.ClusterAdd:
		t.ReduceBulk(tile.ReduceAdd, span(mem.MapShared(a[0]), a[1], a[3]), span(mem, a[2], a[3]), bar(4))
	case golden.ClusterMulticast:
		sm.LoadBulkMulticast(t, span(mem, a[1], a[3]), r.global[a[2]/4:][:a[3]/4], &bars[a[4]], uint16(a[0]))
	case golden.ClusterMulticastTensor:
		t.LoadTensorMulticast(mem.At(a[1]/4), r.plain, &bars[a[4]], uint16(a[0]), a[2], a[3])
	case golden.ClusterMulticastSwizzled:
		t.LoadTensorMulticast(mem.At(a[1]/4), r.swizzled, &bars[a[4]], uint16(a[0]), a[2], a[3])
	case golden.ClusterStoreAsync:
		sm.StoreAsync(t, at(1), uint32(a[2]), bar(3))
	case golden.ClusterAddAsync:
		sm.ReduceAsync(t, tile.ReduceAdd, at(1), uint32(a[2]), bar(3))
	case golden.ClusterStore:
		at(1).Store(t, 0, uint32(a[2]))
	case golden.ClusterLoad:
		return at(1).Load(t, 0), true
	case golden.ClusterTestParity:
		if bars[a[0]].TestWaitParity(t, a[1]) {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// TestReplayBarriers does the sequences recorded on an H200 that have only what sm has.
func TestReplayBarriers(t *testing.T) {
	data, err := golden.Read("../barrier/testdata/mbarrier.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := golden.ParseScripts(data)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"init", "arrive", "arrive_n", "arrive_expect_tx", "expect_tx", "complete_tx", "test_wait", "test_wait_parity", "try_wait_parity", "pending_count"}
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
