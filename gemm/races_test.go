package gemm_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/race"
	"example.com/leafhopper/internal/racetest"
)

// table has the operands of some products of n by n, which goroutines share.
type table struct {
	a, b, c, d gemm.Matrix[float32]
	bias       []float32
	wide       gemm.Matrix[bf16.BF16] // its left half is as wide as its right, in words that both have a part of
	x          gemm.Matrix[bf16.BF16]
	long       gemm.Matrix[float32]
}

func newTable(n int) *table {
	square := func() gemm.Matrix[float32] { return gemm.NewMatrix[float32](n, n) }
	return &table{
		square(), square(), square(), square(), make([]float32, n),
		gemm.NewMatrix[bf16.BF16](n, 2*n), gemm.NewMatrix[bf16.BF16](n, n),
		gemm.NewMatrix[float32](1024, 1024),
	}
}

func (o *table) multiply() error { return gemm.Multiply(o.c, o.a, o.b) }

func (o *table) multiplyBatch() error {
	type batch = []gemm.Matrix[float32]
	return gemm.MultiplyBatch(batch{o.c}, batch{o.a}, batch{o.b})
}

func (o *table) addBias() error { return gemm.Multiply(o.d, o.a, o.b, gemm.WithBias(o.bias)) }

func (o *table) pack() error {
	_, err := gemm.Pack(o.b)
	return err
}

// packLong takes so long that it looks for an idle P, to which it would give way.
func (o *table) packLong() error {
	_, err := gemm.Pack(o.long)
	return err
}

// multiplyNone has no B, and so nothing to do.
func (o *table) multiplyNone() error {
	n := o.a.Rows
	return gemm.Multiply(gemm.NewMatrix[float32](n, 0), o.a, gemm.NewMatrix[float32](n, 0))
}

// half multiplies to the left half of wide, or to the right.
func (o *table) half(from int) error {
	h := gemm.Matrix[bf16.BF16]{Rows: o.x.Rows, Cols: o.x.Cols, Stride: o.wide.Stride, Data: o.wide.Data[from:]}
	return gemm.Multiply(h, o.x, o.x)
}

// set writes the last element of m.
func set(m gemm.Matrix[float32]) error {
	m.Data[len(m.Data)-1] = 1
	return nil
}

// A meeting is what two goroutines do, first the one, then the other, though nothing orders them.
type meeting struct {
	name          string
	first, second func(o *table) error
	fine          bool // for neither writes what the other reads or writes
	long          bool // in Go it makes so many accesses that the race detector may forget those before
}

var meetings = []meeting{
	{"one C", (*table).multiply, (*table).multiply, false, false},
	{"C of a batch", (*table).multiplyBatch, (*table).multiply, false, false},
	{"A is written", (*table).multiply, func(o *table) error { return set(o.a) }, false, false},
	{"B was written", func(o *table) error { return set(o.b) }, (*table).multiply, false, false},
	{"B was written before Pack", func(o *table) error { return set(o.b) }, (*table).pack, false, false},
	{"B is written after Pack", (*table).packLong, func(o *table) error {
		err := newTable(1).packLong()
		set(o.long)
		return err
	}, false, true},
	{"C is written", (*table).multiplyBatch, func(o *table) error { return set(o.c) }, false, false},
	{"C is A of another", (*table).multiply, func(o *table) error { return gemm.Multiply(o.d, o.c, o.b) }, false, false},
	{"A was encoded", func(o *table) error { bf16.Encode(o.x.Data, o.a.Data); return nil },
		func(o *table) error { return o.half(0) }, false, false},
	{"C is decoded", func(o *table) error { return o.half(0) },
		func(o *table) error { bf16.Decode(o.d.Data, o.wide.Data[:len(o.d.Data)]); return nil }, false, false},
	{"bias was written", func(o *table) error { o.bias[0] = 1; return nil }, (*table).addBias, false, false},

	{"A and B are shared", (*table).multiply, (*table).addBias, true, false},
	{"C side by side", func(o *table) error { return o.half(0) },
		func(o *table) error { return o.half(o.x.Cols) }, true, false},
	{"no elements", (*table).multiplyNone, func(o *table) error { return set(o.a) }, true, false},
}

// TestRaces runs meetings each in a process of its own, whose race detector is to report all but those that are fine. In
// Go none is long, nor works before or after.
func TestRaces(t *testing.T) {
	t.Parallel()
	if name := racetest.Program(); name != "" {
		meet(t, name)
		return
	}
	if !race.Enabled {
		t.Skip("needs go test -race")
	}
	hows := []string{"small", "second works before", "first works after"}
	k, err := asm.Select(asm.F32, "")
	inGo := err != nil || k.Name == "go"
	if inGo {
		hows = hows[:1]
	}
	for _, m := range meetings {
		if m.long && inGo {
			continue
		}
		for _, how := range hows {
			name := m.name + "/" + how
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n, out, err := racetest.Run("TestRaces", name)
				if n > 0 == m.fine || n > 0 != (err != nil) {
					t.Errorf("%d races are reported: %v\n%.2000s", n, err, out)
				}
			})
		}
	}
}

// meet has two goroutines do what the meeting says, in an order of which the race detector does not know. One of them
// may come from a product of its own or go on to one, of which all orders it that the engine locks.
func meet(t *testing.T, name string) {
	name, how, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(meetings, func(m meeting) bool { return m.name == name })
	n := 96 // of which workers share a product
	if how == "small" {
		n = 5
	}
	o := newTable(n)
	run := func(do func(o *table) error) {
		if err := do(o); err != nil {
			t.Error(err)
		}
	}
	work := func(*table) error { return newTable(n).multiply() }
	racetest.Unordered(func() {
		run(meetings[i].first)
		if how == "first works after" {
			run(work)
		}
	}, func() {
		if how == "second works before" {
			run(work)
		}
		run(meetings[i].second)
	})
}
