package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// clusterGlobal is the global memory of all scenarios, which none of them writes.
type clusterGlobal struct {
	words           []uint32
	plain, swizzled *tile.TensorMap
}

var global = sync.OnceValues(func() (*clusterGlobal, error) {
	bytes := make([]byte, golden.ClusterGlobalSize)
	golden.FillClusterGlobal(bytes)
	g := &clusterGlobal{words: make([]uint32, len(bytes)/4)}
	for i := range g.words {
		g.words[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	cfg := tile.Config{DataType: tile.Int32, Dims: []uint64{64, 64}, Box: []uint32{16, 8}}
	var err error
	if g.plain, err = sm.NewTensorMap(g.words, cfg); err != nil {
		return nil, err
	}
	cfg.Box, cfg.Swizzle = []uint32{32, 8}, tile.Swizzle128B
	g.swizzled, err = sm.NewTensorMap(g.words, cfg)
	return g, err
})

// Cluster runs a scenario as a kernel of package sm, in the mode of cfg, and says how what loads and tests return and
// what shared memory holds at the end differ from the GPU's, or "". The error is that of ctx.
func Cluster(ctx context.Context, s *golden.ClusterScenario, cfg sm.Config) (string, error) {
	g, err := global()
	if err != nil {
		return err.Error(), nil
	}
	var values []uint32
	sums := make([]uint32, s.CTAs)
	cfg.Grid, cfg.Cluster = sm.Dim3{X: s.CTAs}, sm.Dim3{X: s.CTAs}
	err = sm.Launch(ctx, cfg, func(b *sm.Block) {
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
					if v, ok := g.do(th, mem, bars, op); ok {
						values = append(values, v)
					}
				}
				th.ClusterSync()
			}
			sums[b.ClusterRank()] = crc32.ChecksumIEEE(mem.Bytes())
			th.ClusterSync()
		})
	})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	// A scenario may end with copies that nobody has waited for, or whose bytes nobody has expected.
	var f *sm.Fault
	ended := errors.As(err, &f) && f.Op == "exit" && (f.Rule == sm.RuleExit || f.Rule == sm.RuleBytes)
	if err != nil && !ended {
		return err.Error(), nil
	}
	if !slices.Equal(values, s.Values) {
		return fmt.Sprintf("loads and tests return %v, on the GPU %v", values, s.Values), nil
	}
	if !slices.Equal(sums, s.Shared) {
		return fmt.Sprintf("shared memory has sums %08x, on the GPU %08x", sums, s.Shared), nil
	}
	return "", nil
}

// do does one operation, and returns its value if it has one.
func (g *clusterGlobal) do(
	t *sm.Thread, mem *sm.Array[uint32], bars []sm.Barrier, op golden.ClusterOp,
) (v uint32, ok bool) {
	a := op.Args
	target := func() *sm.Array[uint32] { return mem.MapShared(a[0]).At(a[1] / 4) }
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
		sm.LoadBulkMulticast(t, span(mem, a[1], a[3]), g.words[a[2]/4:][:a[3]/4], &bars[a[4]], uint16(a[0]))
	case golden.ClusterMulticastTensor:
		t.LoadTensorMulticast(mem.At(a[1]/4), g.plain, &bars[a[4]], uint16(a[0]), a[2], a[3])
	case golden.ClusterMulticastSwizzled:
		t.LoadTensorMulticast(mem.At(a[1]/4), g.swizzled, &bars[a[4]], uint16(a[0]), a[2], a[3])
	case golden.ClusterStoreAsync:
		sm.StoreAsync(t, target(), uint32(a[2]), bar(3))
	case golden.ClusterAddAsync:
		sm.ReduceAsync(t, tile.ReduceAdd, target(), uint32(a[2]), bar(3))
	case golden.ClusterStore:
		target().Store(t, 0, uint32(a[2]))
	case golden.ClusterLoad:
		return target().Load(t, 0), true
	case golden.ClusterTestParity:
		if bars[a[0]].TestWaitParity(t, a[1]) {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
