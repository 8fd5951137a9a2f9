package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/pipeline"
	"example.com/leafhopper/tile"
)

// eachProblem calls f with random problems of all kinds, for every kernel on every machine that can be pretended. What
// this processor lacks is no matter: nothing is computed.
func eachProblem(t *testing.T, f func(t *testing.T, r *rand.Rand, on *Machine, q *Problem)) {
	each := 1000
	if testing.Short() {
		each = 200
	}
	for i := range Machines {
		m := &Machines[i]
		t.Run(m.Name, func(t *testing.T) {
			on, r := m.Machine.Tune(), rand.New(rand.NewPCG(1, uint64(i)))
			for _, k := range asm.Kernels() {
				for range each {
					q := anyProblem(r, on, k)
					if f(t, r, on, &q); t.Failed() {
						t.Fatalf("%s: %+v", k.Name, q)
					}
				}
			}
		})
	}
}

var types = []asm.Type{asm.BF16, asm.F16, asm.F32, asm.E4M3, asm.E5M2, asm.F64}

// anyProblem returns a random problem as package gemm may pose it.
func anyProblem(r *rand.Rand, on *Machine, k *asm.Kernel) Problem {
	q := Problem{Kernel: k, On: on.Tuned(k), FormB: Form(r.IntN(int(forms)))}
	q.Plain, q.TransA = r.IntN(3) > 0, r.IntN(3) == 0
	for q.Elem = types[r.IntN(len(types))]; !k.Accepts(q.Elem); {
		q.Elem = types[r.IntN(len(types))]
	}
	q.ElemA, q.ElemB = q.Elem, q.Elem
	if narrow := types[3+r.IntN(2)]; k.Arithmetic == asm.Native && k.Accepts(narrow) && r.IntN(4) == 0 {
		*[]*asm.Type{&q.ElemA, &q.ElemB}[r.IntN(2)] = narrow
	}
	if q.Out = types[r.IntN(3)]; k.Sum == asm.F64 {
		q.Out = k.Sum
	}
	const most = 1 << 26 // elements of a matrix
	for q.M = 0; q.M == 0 || max(q.M*q.K, q.N*q.K, q.M*q.N) > most; {
		q.M, q.N, q.K = extent(r), extent(r), extent(r)
	}
	if r.IntN(16) == 0 { // a few dot products
		q.M, q.N, q.K = 1+r.IntN(2), 1+r.IntN(2), q.Elem.Block()*(8+r.IntN(50))+r.IntN(50)
	}
	if q.FormB == InPanels {
		q.N, q.TransC = max(q.N, 2), r.IntN(4) == 0
	}
	if k.Arithmetic == asm.Hopper && r.IntN(2) == 0 {
		if q.Part = SplitUnit * (1 + r.IntN(20)); q.FormB != InPanels && r.IntN(2) == 0 {
			q.Part /= 2
		}
		if q.Part >= q.K {
			q.Part = 0
		}
		// Only a ring has stages for the parts of such a chain.
		q.Asked.Any = q.Part > StageWords || q.FormB == InPanels && q.Part > SplitUnit
	}
	pitch := func(n int, elem asm.Type) int { return (n + r.IntN(2)*r.IntN(70)) * elem.Size() }
	q.PitchA, q.PitchB, q.PitchC = pitch(q.K, q.ElemA), pitch(q.N, q.ElemB), pitch(q.N, q.Out)
	if q.TransA {
		q.PitchA = pitch(q.M, q.ElemA)
	}
	if q.FormB == AlongK {
		q.PitchB = pitch(q.K, q.ElemB)
	}
	if r.IntN(2) == 0 {
		q.LineA = uint8(r.IntN(LineBytes))
	}
	if r.IntN(8) == 0 {
		ask := func(most int) int { return r.IntN(2) * r.IntN(most) }
		q.Asked = Asked{Depth: ask(pipeline.MaxDepth), M: ask(300), N: ask(300), K: ask(300), Any: true}
	}
	q.Staff(1+extent(r)%64, 1+extent(r)%64, r.IntN(4) == 0)
	return q
}

// extent returns a number of any magnitude, and often one that tiles divide.
func extent(r *rand.Rand) int {
	n := 1 + int(math.Exp(r.Float64()*math.Ln2*float64([]int{8, 13, 13, 22}[r.IntN(4)])))
	if unit := 1 << r.IntN(8); n > unit && r.IntN(2) == 0 {
		return n / unit * unit
	}
	return n
}

// TestPure decides about the same problems in another order, by a machine that is equal, and changes none of them.
func TestPure(t *testing.T) {
	type decided struct {
		Problem
		Plan
	}
	var all []decided
	eachProblem(t, func(t *testing.T, r *rand.Rand, on *Machine, q *Problem) {
		was := *q
		if all = append(all, decided{was, Choose(q)}); *q != was {
			t.Errorf("it was %+v", was)
		}
	})
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, d := range all {
		tuning := *d.On
		d.On = &tuning
		if again := Choose(&d.Problem); again != d.Plan {
			t.Fatalf("%+v:\nfirst %v\nthen  %v", d.Problem, &d.Plan, &again)
		}
	}
}

// TestAlone checks that what many workers leave to its caller any number does, which is asked first.
func TestAlone(t *testing.T) {
	alone := 0
	eachProblem(t, func(t *testing.T, r *rand.Rand, on *Machine, q *Problem) {
		if !q.Alone(Many) {
			return
		}
		alone++
		for c := one; c < crowds; c++ {
			if !q.Alone(c) {
				t.Errorf("%d workers would share it", c+1)
			}
		}
	})
	if alone == 0 {
		t.Error("everything is shared")
	}
}

// TestPlans checks what is chosen for products, and what would be if they had to go by columns or on a ring.
func TestPlans(t *testing.T) {
	shares, sources, items := map[Sharing]int{}, map[SourceB]int{}, 0
	eachProblem(t, func(t *testing.T, r *rand.Rand, on *Machine, q *Problem) {
		g := Choose(q)
		plans := []Plan{g, q.PlanRing()}
		few := &q.On.columns[CrowdOf(q.AtOnce())].most
		if q.M <= max(few[InRows], few[AlongK], few[InPanels]) && !q.Asked.Any && !(q.TransC && q.FormB == InPanels) {
			plans = append(plans, q.PlanColumns())
		}
		for _, g := range plans {
			if err := check(q, &g); err != nil {
				t.Errorf("%v: %v", &g, err)
			}
			sources[g.B]++
		}
		shares[g.Share]++
		if g.Share == ByColumns && g.Columns.Items > 1 {
			items++
		}
	})
	if t.Log(shares, sources, items); items == 0 {
		t.Error("no slab of columns goes from hand to hand")
	}
	for s := ByCaller; s <= ByRing; s++ {
		if shares[s] == 0 {
			t.Errorf("nothing is shared by %v", s)
		}
	}
	for b := UnpackedB; b <= DotsOfB; b++ {
		anywhere := b == StoredB || b == PackedB || b == SlotsOfB
		if sources[b] == 0 && (anywhere || asm.Named("avx512").Supported() == nil) {
			t.Errorf("nobody reads B %v", b)
		}
	}
}

// check returns what is wrong with a plan.
func check(q *Problem, g *Plan) error {
	switch {
	case g.Workers < 1 || g.Workers > q.Workers || g.Share == ByCaller && g.Workers > 1:
		return fmt.Errorf("%d workers, of %d", g.Workers, q.Workers)
	case *g == TinyPlan:
		if !q.Tiny() {
			return fmt.Errorf("it is not tiny")
		}
		return nil
	case g.Share == ByColumns:
		return checkColumns(q, g)
	case g.Share == ByRing:
		return checkRing(q, &g.Ring)
	}
	return checkSlabs(q, g)
}

// cover returns an error unless n ranges follow each other, of which none is empty, from 0 to size.
func cover(what string, n, size int, of func(i int) (from, to int)) error {
	end := 0
	for i := range n {
		from, to := of(i)
		if from != end || to <= from {
			return fmt.Errorf("%s %d to %d come after %d", what, from, to, end)
		}
		end = to
	}
	if end != size {
		return fmt.Errorf("%s end at %d of %d", what, end, size)
	}
	return nil
}

// checkSlabs checks that slabs cover C, and ranges K, once, and that scratch memory is enough for them.
func checkSlabs(q *Problem, g *Plan) error {
	k, c, high := q.Kernel, &g.Slabs, 0
	err := cover("rows", c.Count/max(1, c.Across), q.M, func(i int) (from, to int) {
		from, to = c.RowsOf(i, q.M)
		high = max(high, to-from)
		return from, to
	})
	if err == nil {
		err = cover("columns", c.Across, q.N, func(i int) (from, to int) { return c.ColsOf(i, q.N) })
	}
	if err == nil {
		err = cover("blocks", c.Ranges, q.Blocks(), func(i int) (from, to int) {
			return i * c.Span, min((i+1)*c.Span, q.Blocks())
		})
	}
	switch {
	case err != nil:
		return err
	case c.Count%c.Across != 0 || c.Count*c.Ranges > barrier.MaxCount:
		return fmt.Errorf("%d slabs of %d ranges, %d side by side", c.Count, c.Ranges, c.Across)
	case g.B == DotsOfB:
		if c.Span%asm.Lanes != 0 {
			return fmt.Errorf("%d blocks of a range are not summed %d at a time", c.Span, asm.Lanes)
		}
		return nil
	case c.Ranges > 1 && (q.Blocks()-c.Span+1)*q.M*q.N*4 > sharedBytes:
		return fmt.Errorf("%d sums of each element are kept apart", q.Blocks()-c.Span+1)
	case g.Share == BySlabs && float64(c.Rows+c.Cols)*
		float64(min(c.Span*q.ChainK(), q.K)*q.Elem.Size()) > slabBytes:
		return fmt.Errorf("a context would wait too long")
	case g.B == StreamedB && k.PanelA(q.Words(q.K))+high*min(c.Cols, q.N)*4 > ScratchBytes-2*tile.SlotAlign:
		return fmt.Errorf("a panel of few rows and their sums are more than %d bytes", ScratchBytes)
	case g.B.lies():
		return nil
	}
	// What a worker needs at once, in floating point, as an int of 32 bits may not count it.
	words, strips := q.Words(g.Step), 1
	if g.Step < q.K {
		strips = CeilDiv(min(c.Cols, q.N), k.NR) // all of which wait for more of K
	}
	panels, most := float64(CeilDiv(high, k.MR)), float64(ScratchBytes-2*tile.SlotAlign)
	a, b, sums := 0., 0., float64(strips)*panels*float64(k.MR*k.NR*4)
	if g.A == PanelsOfA {
		a = panels * float64(k.PanelA(words))
	}
	if g.B == PackedB {
		b = float64(k.PanelB(words))
	}
	if g.A == RowsOfA && k.Edge() != nil && q.Direct() && g.Sums != InScratch {
		sums = 0 // C has them
	}
	switch room := &g.Room; {
	case a+b+sums > most:
		return fmt.Errorf("panels of %v and %v bytes and sums of %v are more than %v", a, b, sums, most)
	case float64(room.A) < a || float64(room.B) < b || float64(room.Acc*strips) < sums:
		return fmt.Errorf("%+v for panels of %v and %v bytes and sums of %v", *room, a, b, sums)
	case g.Sums == InC && !q.Direct():
		return fmt.Errorf("sums in a C that does not hold them")
	}
	return nil
}

// checkColumns checks that slabs and steps cover B, and that scratch memory is enough for a block of columns. What that
// takes is counted here anew, as what computes it lays it out.
func checkColumns(q *Problem, g *Plan) error {
	k, c := q.Kernel, &g.Columns
	unit := q.unitK(g.Step)
	err := cover("columns", c.Slabs, q.N, func(i int) (from, to int) { return i * c.Cols, min((i+1)*c.Cols, q.N) })
	if err == nil {
		err = cover("steps", c.Steps, q.K, func(step int) (from, to int) {
			from, n := q.ColumnStep(g, step)
			if n > g.Step || from/unit != (from+n-1)/unit {
				return from, from // which is an error
			}
			return from, from + n
		})
	}
	switch {
	case err != nil:
		return err
	case c.Block < 1 || c.Cols%k.NR != 0 || c.Block%k.NR != 0:
		return fmt.Errorf("slabs of %d columns and blocks of %d are not panels of %d", c.Cols, c.Block, k.NR)
	case g.Step < 1 || g.Step%k.KPack != 0:
		return fmt.Errorf("%d steps of %d elements of K, in words of %d", c.Steps, g.Step, k.KPack)
	case c.Items < 1 || c.Items > pipeline.MaxDepth || c.Span < 1 || c.Span%c.Each != 0 ||
		(c.Items-1)*c.Span >= c.Steps || c.Items*c.Span < c.Steps:
		return fmt.Errorf("%d items of %d steps are not %d steps", c.Items, c.Span, c.Steps)
	case q.BytesAcc(g) > itemsAcc:
		return fmt.Errorf("accumulators that outlast items take %d bytes, the bound is %d", q.BytesAcc(g), itemsAcc)
	case c.JobPanels < 1 || c.JobPanels*g.Workers < c.Steps*c.PanelsA:
		return fmt.Errorf("%d panels of a job", c.JobPanels)
	}
	cols := min(c.Block, c.Cols, q.N)
	if g.B == StreamedB {
		if got := q.M * cols * 4; got > ScratchBytes {
			return fmt.Errorf("%d rows of %d columns take %d bytes, there are %d", q.M, cols, got, ScratchBytes)
		}
		if wide := k.StreamWidth(q.ElemB, min(q.M, k.MR)); q.FormB == InPanels && g.Workers == 1 && c.PanelsA == 1 &&
			c.Slabs > 1 && c.Cols%wide != 0 {
			return fmt.Errorf("slabs of %d columns are not what is read at a time, %d", c.Cols, wide)
		}
		return nil
	}
	panels, acc := CeilDiv(cols, k.NR), streamAcc
	switch g.B {
	case BehindB:
		acc = (ScratchBytes - q.BehindBytes(g)) / q.SumsEach(g)
	case SweptB:
		acc = BroomAcc / q.SumsEach(g)
	case TurnedB:
		panels, acc = c.TurnedTiles, StreamB
	}
	if got := panels * c.PanelsA * k.MR * k.NR * 4; got > acc {
		return fmt.Errorf("the accumulators of %d columns take %d bytes, there are %d", cols, got, acc)
	}
	switch g.B {
	case BehindB:
		return nil // panels are before the accumulators
	case SweptB:
		if got := asm.SweepN / k.NR * k.PanelB(q.Words(g.Step)); got > asm.SweepRoom {
			return fmt.Errorf("a piece of B takes %d bytes, there are %d", got, asm.SweepRoom)
		}
		return nil
	case TurnedB:
		most := min(max(k.NR, slabBytes/(c.PanelsA*q.K*q.ElemB.Size())), longCols)
		if c.Cols > most && c.Slabs < maxSlabs/2 {
			return fmt.Errorf("%d slabs of %d columns, the bound is %d", c.Slabs, c.Cols, most)
		}
		row := k.KStep(q.ElemB) * 4
		if q.K > q.ChainK() { // sums of a block of which something is left are apart
			row += k.NR * 4
		}
		if got := c.TurnedTiles * k.MR * row; got > ScratchBytes-StreamB {
			return fmt.Errorf("what is left of K takes %d bytes, there are %d", got, ScratchBytes-StreamB)
		}
		return nil
	}
	if got := panels * k.PanelB(q.Words(min(g.Step, q.K))); q.FormB != InPanels && got > StreamB {
		return fmt.Errorf("%d panels of B take %d bytes, there are %d", panels, got, StreamB)
	}
	return nil
}
