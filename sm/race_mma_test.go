package sm_test

import (
	"runtime"
	"strings"
	"testing"

	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/racetest"
	"example.com/leafhopper/mma"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// multipliers are agents of which each call multiplies, and orders nothing.
var multipliers = map[string]func(m *meetings) sm.Part{
	"mma": func(m *meetings) sm.Part {
		return sm.Warps(0, 2, func(w *sm.Warp) {
			m.run(w, func() {
				for _, op := range []mma.Op{
					{Shape: mma.M16N8K16, A: mma.BF16, B: mma.BF16, D: mma.F32},
					{Shape: mma.M16N8K32, A: mma.E4M3, B: mma.E4M3, D: mma.F32},
					{Shape: mma.M16N8K256, A: mma.B1, B: mma.B1, D: mma.S32, BitOp: mma.XorPopc},
				} {
					w.MMA(op, op.FragmentD().Make(), op.FragmentA().Make(), op.FragmentB().Make())
				}
				op := mma.Op{Shape: mma.M16N8K64, A: mma.E4M3, B: mma.E4M3, D: mma.F32, Sparse: true}
				_, meta, _ := mma.Compress(op, make([]uint8, 16*64), 64)
				w.MMASparse(op, op.FragmentD().Make(), op.FragmentA().Make(), op.FragmentB().Make(), &meta[0], 0)
			})
		})
	},
	"wgmma of 16 bits": wgmmas(wgmma.Op{Kind: wgmma.BF16F32, N: 8}),
	"wgmma of 8 bits":  wgmmas(wgmma.Op{Kind: wgmma.E4M3F32, N: 8}),
	"wgmma, integers":  wgmmas(wgmma.Op{Kind: wgmma.S8S32, N: 8}),
	"sparse wgmma":     wgmmas(wgmma.Op{Kind: wgmma.BF16F32, N: 8, Sparse: true}),
}

func wgmmas(op wgmma.Op) func(m *meetings) sm.Part {
	var meta wgmma.Metadata
	for i := range meta {
		meta[i] = 0x44444444 // of every chunk the first two elements are stored
	}
	return func(m *meetings) sm.Part {
		return sm.Warpgroups(0, 2, func(w *sm.Warpgroup) {
			d, x := w.Accumulators(op.Kind.AccumulatorType(), op.N), m.operands
			m.run(w, func() {
				w.Fence()
				if op.Sparse {
					w.MMASparse(op, d, x.KMajor(tile.Swizzle32B), x.KMajor(tile.Swizzle64B), &meta, 0)
				} else {
					w.MMA(op, d, x.KMajor(tile.Swizzle32B), x.KMajor(tile.Swizzle32B))
				}
				w.CommitGroup()
				w.WaitGroup(0)
			})
		})
	}
}

// meetings are the times that one agent stores an element, and another, later, loads it.
type meetings struct {
	broken   bool // nothing orders them
	x        *sm.Array[int64]
	operands *sm.Array[uint8]
	later    chan struct{} // of which the race detector is not to know
}

// run has two agents multiply, the one between its store and the meeting, the other between that and its load. They
// are on one processor, as what sync.Pool keeps is of one.
func (m *meetings) run(a interface {
	sm.Agent
	Rank() int
	SyncThreads()
}, multiply func()) {
	runtime.GOMAXPROCS(1)
	for i := range m.x.Len() {
		if a.Rank() == 0 {
			m.x.Store(a, i, 1)
			multiply()
		}
		if m.broken {
			m.meet(a.Rank())
		} else {
			a.SyncThreads()
		}
		if a.Rank() == 1 {
			multiply()
			m.x.Load(a, i)
		}
	}
}

func (m *meetings) meet(rank int) {
	race.Hide()
	defer race.Show()
	if rank == 0 {
		m.later <- struct{}{}
	} else {
		<-m.later
	}
}

// TestMultiplyRaces runs multipliers each in a process of its own, whose race detector is to report every one of the
// accesses that nothing orders.
func TestMultiplyRaces(t *testing.T) {
	t.Parallel()
	const times = 6
	if name := racetest.Program(); name != "" {
		name, broken := strings.CutSuffix(name, "/broken")
		err := launch(t, block(256), func(b *sm.Block) {
			m := &meetings{broken: broken, later: make(chan struct{})}
			m.x, m.operands = sm.Shared[int64](b, times, 16), sm.Shared[uint8](b, 8<<10, 1024)
			b.Start(multipliers[name](m))
		})
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !race.Enabled {
		t.Skip("needs go test -race")
	}
	for name := range multipliers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n, out, err := racetest.Run("TestMultiplyRaces", name); n != 0 || err != nil {
				t.Errorf("%d races are reported where there is none: %v\n%.2000s", n, err, out)
			}
			if n, out, err := racetest.Run("TestMultiplyRaces", name+"/broken"); n != times || err == nil {
				t.Errorf("%d races are reported of %d: %v\n%.2000s", n, times, err, out)
			}
		})
	}
}
