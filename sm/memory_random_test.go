package sm_test

import (
	"math/rand/v2"
	"testing"

	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
)

// A globalProgram is phases in which rows of global memory are written by one thread, read by all, or combined by all,
// by loads and stores and by all kinds of copies. Between two there is a GridSync, or a barrier made of an atomic.
type globalProgram struct {
	seed   uint64
	plans  [4][10]globalPlan
	by     [4]int // what is behind a phase
	broken globalPlan
	at     [2]int // the phase and the row in which another CTA does that too
	data   []int32
	count  []uint32
	rows   *tile.TensorMap
	vector *tile.TensorMap
}

// A globalPlan is what is done with a row in a phase, by whom if by one, and in which way if there are several.
type globalPlan struct{ what, who, how int }

const globalCTAs, globalThreads = 3, 2

const (
	globalWrite = iota
	globalRead
	globalAdd
	globalReduce
)

func newGlobalProgram(t *testing.T, seed uint64) *globalProgram {
	p := &globalProgram{seed: seed, data: make([]int32, 16*10), count: make([]uint32, 1)}
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range p.plans {
		p.by[i] = r.IntN(2)
		for j := range p.plans[i] {
			p.plans[i][j] = globalPlan{r.IntN(4), r.IntN(globalCTAs * globalThreads), r.IntN(5)}
		}
	}
	p.at = [2]int{r.IntN(len(p.plans)), r.IntN(len(p.plans[0]))}
	p.broken = globalPlan{what: r.IntN(2), how: r.IntN(5)}
	var err [2]error
	p.rows, err[0] = sm.NewTensorMap(p.data, tile.Config{Dims: []uint64{16, 10}, Box: []uint32{16, 1}})
	p.vector, err[1] = sm.NewTensorMap(p.data, tile.Config{Dims: []uint64{160}, Box: []uint32{16}})
	if err != [2]error{} {
		t.Fatal(err)
	}
	return p
}

func (p *globalProgram) kernel(broken bool) sm.Kernel {
	return func(b *sm.Block) {
		x, count := sm.Global(b, p.data), sm.Global(b, p.count)
		rows, full := sm.Shared[int32](b, 32*globalThreads, 128), b.Barriers(globalThreads)
		b.Threads(func(t *sm.Thread) {
			own := rand.New(rand.NewPCG(p.seed, uint64(2+b.Idx.X*globalThreads+t.Rank())))
			row, full := rows.At(32*t.Rank()).Slice(0, 16), &full[t.Rank()]
			full.Init(t, 1)
			do := func(i int, plan globalPlan) {
				part := p.data[16*i : 16*i+16]
				switch {
				case plan.what == globalAdd:
					sm.AtomicAdd(t, x.At(16*i+own.IntN(16)), 1)
					return
				case plan.how == 0 && plan.what == globalWrite:
					x.Write(t, 16*i, ramp(16))
					return
				case plan.how == 1 && plan.what == globalWrite:
					for j := range 16 {
						x.Store(t, 16*i+j, 1)
					}
					return
				case plan.how == 0 && plan.what == globalRead:
					x.Read(t, 16*i, make([]int32, 16))
					return
				case plan.how == 1 && plan.what == globalRead:
					x.Load(t, 16*i+own.IntN(16))
					return
				}
				row.Write(t, 0, ramp(16))
				t.FenceProxyAsync()
				if plan.what == globalRead {
					switch plan.how {
					case 2:
						t.LoadTensor(row, p.rows, full, 0, i)
					case 3:
						t.LoadTensor(row, p.vector, full, 16*i)
					default:
						sm.LoadBulk(t, row, part, full)
					}
					full.Wait(t, full.ArriveTx(t, 1, 64))
					return
				}
				switch {
				case plan.what == globalReduce:
					t.ReduceTensor(tile.ReduceAdd, p.rows, row, 0, i)
				case plan.how == 2:
					t.StoreTensor(p.rows, row, 0, i)
				case plan.how == 3:
					t.StoreTensor(p.vector, row, 16*i)
				default:
					sm.StoreBulk(t, part, row)
				}
				t.CommitGroup()
				t.WaitGroup(0)
			}
			met := uint32(0)
			for phase := range p.plans {
				for _, i := range own.Perm(len(p.plans[phase])) {
					plan := p.plans[phase][i]
					fault := broken && p.at == [2]int{phase, i}
					switch id := b.Idx.X*globalThreads + t.Rank(); {
					case fault && id == plan.who:
						do(i, globalPlan{what: globalWrite, how: plan.how})
					case fault && id == (plan.who+globalThreads)%(globalCTAs*globalThreads):
						do(i, p.broken)
					case !fault && plan.what == globalRead:
						do(i, globalPlan{globalRead, 0, own.IntN(5)})
					case !fault && (plan.what != globalWrite || id == plan.who):
						do(i, plan)
					}
				}
				t.FenceProxyAsync()
				if p.by[phase] == 0 {
					t.GridSync()
					continue
				}
				t.SyncThreads()
				if met += globalCTAs; t.Rank() == 0 {
					t.ThreadFence(sm.ScopeDevice)
					sm.AtomicAdd(t, count, 1)
					for sm.AtomicLoad(t, count) < met {
					}
					t.ThreadFence(sm.ScopeDevice)
				}
				t.SyncThreads()
			}
		})
	}
}

// TestGlobalRandom: of random programs nothing is said, until two CTAs do something with a row at a time that one
// writes.
func TestGlobalRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(few(2)) {
		p := newGlobalProgram(t, seed)
		for _, m := range modes {
			cfg := in(m, sm.Config{
				Grid: sm.Dim3{X: globalCTAs}, Block: sm.Dim3{X: globalThreads}, Cooperative: true, Seed: seed,
				Reset: func() { clear(p.data); clear(p.count) },
			})
			if err := launch(t, cfg, p.kernel(false)); err != nil {
				t.Errorf("program %d, %s: %v", seed, mode(m), err)
			}
			if m.Check {
				faultOf(t, launch(t, cfg, p.kernel(true)), sm.RuleRace, " of x", "not ordered after the ", " of CTA (")
			}
		}
	}
}
