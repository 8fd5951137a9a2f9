package wgmma

import (
	"errors"
	"fmt"
	"testing"
)

// rule returns the rule that err or a panic value names, 0 if none.
func rule(v any) Rule {
	var m *Misuse
	if err, ok := v.(error); ok && errors.As(err, &m) {
		return m.Rule
	}
	return 0
}

// recovered returns what f panics with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// A pending instruction owns its registers.
func TestPendingRegisters(t *testing.T) {
	w := newWorkbench(t)
	for _, checked := range []bool{true, false} {
		var opts []Option
		want := Rule(0)
		if checked {
			opts, want = []Option{Checked()}, RulePending
		}
		wg := NewWarpgroup(w.shared, opts...)
		d, a := newAccumulator(t, F32, 8), NewFragment(BF16F32)
		accesses := map[string]func(){
			"At":                   func() { d.At(0, 0) },
			"Set":                  func() { d.Set(0, 0, 1) },
			"Bits":                 func() { d.Bits(0, 0) },
			"SetBits":              func() { d.SetBits(0, 0, 1) },
			"Register":             func() { d.Register(0, 0) },
			"Float32":              func() { d.Float32(0, 0) },
			"SetRegister":          func() { d.SetRegister(0, 0, 1) },
			"Fragment.Bits":        func() { a.Bits(0, 0) },
			"Fragment.SetBits":     func() { a.SetBits(0, 0, 1) },
			"Fragment.Register":    func() { a.Register(0, 0) },
			"Fragment.SetRegister": func() { a.SetRegister(0, 0, 1) },
		}
		check := func(when string, want Rule) {
			t.Helper()
			for name, access := range accesses {
				if got := rule(recovered(access)); got != want {
					t.Errorf("checked %v, %s: %s broke rule %d (%v), want %d", checked, when, name, got, got, want)
				}
			}
		}
		check("before", 0)
		wg.Fence()
		if err := wg.MMA(Op{N: 8}, d, a, w.b); err != nil {
			t.Fatal(err)
		}
		check("issued", want)
		wg.CommitGroup()
		check("committed", want)
		wg.CommitGroup()
		if err := wg.WaitGroup(2); err != nil {
			t.Fatal(err)
		}
		check("not covered", want)
		if err := wg.WaitGroup(1); err != nil {
			t.Fatal(err)
		}
		check("waited", 0)
	}
}

// An MMA needs a Fence after registers were touched, and only then.
func TestFenceRule(t *testing.T) {
	w := newWorkbench(t)
	wg := NewWarpgroup(w.shared, Checked())
	d, other := newAccumulator(t, F32, 8), newAccumulator(t, F32, 8)
	a := NewFragment(BF16F32)
	mma := func(op Op, a Operand) Rule {
		t.Helper()
		op.N = 8
		err := wg.MMA(op, d, a, w.b)
		if err != nil && rule(err) == 0 {
			t.Fatal(err)
		}
		return rule(err)
	}
	wait := func() {
		t.Helper()
		wg.CommitGroup()
		if err := wg.WaitGroup(0); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		what string
		do   func()
		op   Op
		a    Operand
		want Rule
	}{
		{"first, no fence", nil, Op{}, w.a, RuleFence},
		{"first, fenced", wg.Fence, Op{}, w.a, 0},
		{"same shape again", nil, Op{}, w.a, 0},
		{"same shape, other kind", nil, Op{Kind: F16F32}, w.a, 0},
		{"other shape", nil, Op{Kind: TF32F32}, w.a, RuleFence},
		{"other shape, fenced", wg.Fence, Op{Kind: TF32F32}, w.a, 0},
		{"after a wait, untouched", wait, Op{Kind: TF32F32}, w.a, 0},
		{"after a read", func() { wait(); d.At(0, 0) }, Op{Kind: TF32F32}, w.a, RuleFence},
		{"after a read and a fence", wg.Fence, Op{Kind: TF32F32}, w.a, 0},
		{"after a write", func() { wait(); wg.Fence(); d.Set(0, 0, 1) }, Op{Kind: TF32F32}, w.a, RuleFence},
		{"after a write elsewhere", func() { wg.Fence(); other.Set(0, 0, 1) }, Op{Kind: TF32F32}, w.a, 0},
		{"fenced fragment", wg.Fence, Op{}, a, 0},
		{"the same fragment", nil, Op{}, a, 0},
		{"written fragment", func() { wait(); a.SetBits(0, 0, 1) }, Op{}, a, RuleFence},
		{"written fragment, fence of another warpgroup", NewWarpgroup(nil).Fence, Op{}, a, RuleFence},
		{"written fragment, fenced", wg.Fence, Op{}, a, 0},
	} {
		if s.do != nil {
			s.do()
		}
		if got := mma(s.op, s.a); got != s.want {
			t.Errorf("%s: rule %d (%v), want %d", s.what, got, got, s.want)
		}
	}
	wait()
}

// An accumulator cannot be pending in two warpgroups.
func TestPendingElsewhere(t *testing.T) {
	w := newWorkbench(t)
	one, two := NewWarpgroup(w.shared, Checked()), NewWarpgroup(w.shared, Checked())
	d := newAccumulator(t, F32, 8)
	one.Fence()
	two.Fence()
	if err := one.MMA(Op{N: 8}, d, w.a, w.b); err != nil {
		t.Fatal(err)
	}
	if err := two.MMA(Op{N: 8}, d, w.a, w.b); rule(err) != RulePending {
		t.Errorf("error %v, want rule %v", err, RulePending)
	}
	one.CommitGroup()
	if err := one.MMA(Op{N: 8}, d, w.a, w.b); err != nil {
		t.Errorf("in the same warpgroup: %v", err)
	}
}

// An operand that changes before the wait is reported, by name, and the group
// is complete all the same.
func TestOperandOverwritten(t *testing.T) {
	w := newWorkbench(t)
	for name, at := range map[string]int{"A": 0, "B": bAt + 17, "": bAt + 16*8} {
		clear(w.shared.Bytes())
		wg := NewWarpgroup(w.shared, Checked())
		d := newAccumulator(t, F32, 8)
		wg.Fence()
		if err := wg.MMA(Op{N: 8}, d, w.a, w.b); err != nil {
			t.Fatal(err)
		}
		wg.CommitGroup()
		w.shared.Bytes()[at]++
		err := wg.WaitGroup(0)
		if got, want := rule(err), map[bool]Rule{true: RuleOperand}[name != ""]; got != want {
			t.Errorf("byte %d: error %v, want rule %d", at, err, want)
		}
		if want := "wgmma: operand of a pending instruction overwritten: m64n8k16.f32.bf16.bf16: operand " + name +
			" changed between MMA and WaitGroup"; name != "" && err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		if wg.Pending() != 0 || d.At(0, 0) != 0 {
			t.Errorf("%d groups pending, D = %v", wg.Pending(), d.At(0, 0))
		}
	}
}

func TestRuleStrings(t *testing.T) {
	seen := map[string]bool{}
	for r := RuleFence; r <= RuleOperand; r++ {
		if text := r.String(); seen[text] || text == fmt.Sprintf("Rule(%d)", uint8(r)) {
			t.Errorf("rule %d: %q is not its own", uint8(r), text)
		}
		seen[r.String()] = true
	}
	for r, want := range map[Rule]string{0: "Rule(0)", RuleOperand + 1: "Rule(4)", 255: "Rule(255)"} {
		if got := r.String(); got != want {
			t.Errorf("rule %d is %q, want %q", uint8(r), got, want)
		}
	}
}

// Reset is NewWarpgroup, but for the memory.
func TestReset(t *testing.T) {
	w := newWorkbench(t)
	w.fill(2, 8, func() uint32 { return 0x3f80 }) // 1
	op := Op{Kind: BF16F32, N: 8}
	wg, d := NewWarpgroup(w.shared, Checked(), Within(0)), newAccumulator(t, F32, 8)
	wg.Fence()
	if err := wg.MMA(op, d, w.a, w.b); err == nil || rule(err) != 0 {
		t.Errorf("within nothing: %v", err)
	}
	wg.Reset(Checked())
	if err := wg.MMA(op, d, w.a, w.b); rule(err) != RuleFence {
		t.Errorf("a fence from before Reset: %v", err)
	}
	wg.Reset()
	for range 2 {
		if err := wg.MMA(op, d, w.a, w.b); err != nil {
			t.Fatal(err)
		}
		wg.CommitGroup()
	}
	wg.Reset()
	if err := wg.WaitGroup(0); err != nil || wg.Pending() != 0 || d.At(1, 2) != 0 {
		t.Errorf("%v, %d groups are pending, D is %v", err, wg.Pending(), d.At(1, 2))
	}
	if issue(t, wg, op, d, w.a, w.b); d.At(1, 2) != 16 {
		t.Errorf("D is %v, want 16", d.At(1, 2))
	}
	wg.Reset(Checked())
	for range 2 { // the second finds registers of which nothing is pending
		wg.Fence()
		if err := wg.MMA(op, d, w.a, w.b); err != nil {
			t.Fatal(err)
		}
		wg.Reset(Checked())
		if d.At(1, 2) != 16 {
			t.Errorf("D is %v, want 16 as before", d.At(1, 2))
		}
	}
	if n := testing.AllocsPerRun(10, func() { wg.Reset(); issue(t, wg, op, d, w.a, w.b) }); n > 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}
