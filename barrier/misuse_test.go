package barrier

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestMisuse breaks every rule through every operation that can break it, and
// checks the panic, its text, and that the barrier is as it was.
func TestMisuse(t *testing.T) {
	const big = MaxCount + 1
	none := func(*Barrier) Token { return Token{} }
	tests := []struct {
		name  string
		count int // of the Init; 0 for none
		setup func(b *Barrier) Token
		do    func(b *Barrier, t Token)
		op    string
		rule  Rule
		parts []string
	}{
		{"n zero", 3, none, func(b *Barrier, _ Token) { b.ArriveN(0) }, "ArriveN", RuleCount,
			[]string{"count 0", "1..1048575"}},
		{"n negative", 3, none, func(b *Barrier, _ Token) { b.ArriveN(-1) }, "ArriveN", RuleCount,
			[]string{"count -1"}},
		{"n most negative", 3, none, func(b *Barrier, _ Token) { b.ArriveN(math.MinInt) }, "ArriveN", RuleCount, nil},
		{"n too large", 3, none, func(b *Barrier, _ Token) { b.ArriveN(big) }, "ArriveN", RuleCount,
			[]string{"count 1048576", "1..1048575"}},
		{"drop n zero", 3, none, func(b *Barrier, _ Token) { b.ArriveDropN(0) }, "ArriveDropN", RuleCount, nil},
		{"nocomplete n zero", 3, none, func(b *Barrier, _ Token) { b.ArriveNoComplete(0) }, "ArriveNoComplete",
			RuleCount, nil},
		{"drop nocomplete n zero", 3, none, func(b *Barrier, _ Token) { b.ArriveDropNoComplete(0) },
			"ArriveDropNoComplete", RuleCount, nil},

		{"n over pending", 3, none, func(b *Barrier, _ Token) { b.ArriveN(4) }, "ArriveN", RuleUnderflow,
			[]string{"count 4", "pending 3"}},
		{"arrive over pending", 1, func(b *Barrier) Token { return b.ArriveExpectTx(8) },
			func(b *Barrier, _ Token) { b.Arrive() }, "Arrive", RuleUnderflow,
			[]string{"count 1", "pending 0", "tx 8"}},
		{"expect over pending", 1, func(b *Barrier) Token { return b.ArriveExpectTx(8) },
			func(b *Barrier, _ Token) { b.ArriveExpectTx(8) }, "ArriveExpectTx", RuleUnderflow, nil},
		{"drop over pending", 3, func(b *Barrier) Token { return b.ArriveN(2) },
			func(b *Barrier, _ Token) { b.ArriveDropN(2) }, "ArriveDropN", RuleUnderflow,
			[]string{"count 2", "pending 1"}},
		{"drop expect over pending", 1, func(b *Barrier) Token { return b.ArriveExpectTx(8) },
			func(b *Barrier, _ Token) { b.ArriveDropExpectTx(1) }, "ArriveDropExpectTx", RuleUnderflow, nil},

		{"expect negative", 1, none, func(b *Barrier, _ Token) { b.ExpectTx(-1) }, "ExpectTx", RuleTx,
			[]string{"bytes -1", "0..1048575"}},
		{"expect large", 1, none, func(b *Barrier, _ Token) { b.ExpectTx(MaxTx + 1) }, "ExpectTx", RuleTx,
			[]string{"bytes 1048576", "0..1048575"}},
		{"expect sum", 1, func(b *Barrier) Token { b.ExpectTx(MaxTx - 5); return Token{} },
			func(b *Barrier, _ Token) { b.ExpectTx(6) }, "ExpectTx", RuleTx,
			[]string{"from 1048570 to 1048576", "-1048575..1048575"}},
		{"complete negative", 1, none, func(b *Barrier, _ Token) { b.CompleteTx(-1) }, "CompleteTx", RuleTx,
			[]string{"bytes -1"}},
		{"complete large", 1, none, func(b *Barrier, _ Token) { b.CompleteTx(MaxTx + 1) }, "CompleteTx", RuleTx,
			[]string{"bytes 1048576"}},
		{"complete sum", 1, func(b *Barrier) Token { b.CompleteTx(MaxTx); return Token{} },
			func(b *Barrier, _ Token) { b.CompleteTx(1) }, "CompleteTx", RuleTx, []string{"from -1048575 to -1048576"}},
		{"arrive expect negative", 1, none, func(b *Barrier, _ Token) { b.ArriveExpectTx(-16) }, "ArriveExpectTx",
			RuleTx, []string{"bytes -16"}},
		{"arrive expect sum", 2, func(b *Barrier) Token { b.ExpectTx(MaxTx); return Token{} },
			func(b *Barrier, _ Token) { b.ArriveExpectTx(1) }, "ArriveExpectTx", RuleTx,
			[]string{"from 1048575 to 1048576"}},
		{"arrive drop expect sum", 2, func(b *Barrier) Token { b.ExpectTx(MaxTx); return Token{} },
			func(b *Barrier, _ Token) { b.ArriveDropExpectTx(1) }, "ArriveDropExpectTx", RuleTx, nil},

		{"nocomplete completes", 2, none, func(b *Barrier, _ Token) { b.ArriveNoComplete(2) }, "ArriveNoComplete",
			RuleNoComplete, []string{"count 2", "2 pending"}},
		{"drop nocomplete completes", 1, none, func(b *Barrier, _ Token) { b.ArriveDropNoComplete(1) },
			"ArriveDropNoComplete", RuleNoComplete, nil},

		{"zero token", 1, none, func(b *Barrier, t Token) { b.TestWait(t) }, "TestWait", RuleForeign,
			[]string{"initialization 0, which no arrival returned"}},
		{"other barrier's token", 1, none, func(b *Barrier, _ Token) { b.Wait(mustNew(t, 1).Arrive()) }, "Wait",
			RuleForeign, []string{"token of phase 0 there or of an earlier Init here, barrier in phase 0"}},
		{"other life's token", 1, func(b *Barrier) Token {
			tok := b.Arrive()
			b.Invalidate()
			b.Init(1)
			return tok
		}, func(b *Barrier, t Token) { b.TryWait(t, time.Second) }, "TryWait", RuleForeign, nil},
		{"stale token", 1, twoPhases(2), func(b *Barrier, t Token) { b.TestWait(t) }, "TestWait", RuleStale,
			[]string{"token of phase 0", "barrier in phase 2"}},
		{"stale token waited for", 1, twoPhases(2), func(b *Barrier, t Token) { b.Wait(t) }, "Wait", RuleStale, nil},
		{"token seven phases old", 1, twoPhases(7), func(b *Barrier, t Token) { b.TryWait(t, 0) }, "TryWait", RuleStale,
			[]string{"token of phase 0", "barrier in phase 7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := mustNew(t, tt.count)
			tok := tt.setup(b)
			before := b.word.Load()
			m, err := caught(func() { tt.do(b, tok) })
			if err != nil {
				t.Fatal(err)
			}
			wantMisuse(t, m, tt.op, tt.rule, tt.parts...)
			if after := b.word.Load(); after != before {
				t.Errorf("changed from %v to %v", stateOf(before), stateOf(after))
			}
		})
	}
}

// twoPhases returns a setup that makes a token and completes n phases.
func twoPhases(n int) func(b *Barrier) Token {
	return func(b *Barrier) Token {
		tok := b.Arrive()
		for range n - 1 {
			observing(b)
			b.Arrive()
		}
		return tok
	}
}

// everyOp is every operation that a dead barrier must refuse.
var everyOp = map[string]func(b *Barrier, t Token){
	"Arrive":               func(b *Barrier, t Token) { b.Arrive() },
	"ArriveN":              func(b *Barrier, t Token) { b.ArriveN(2) },
	"ArriveExpectTx":       func(b *Barrier, t Token) { b.ArriveExpectTx(16) },
	"ArriveNoComplete":     func(b *Barrier, t Token) { b.ArriveNoComplete(1) },
	"ArriveDrop":           func(b *Barrier, t Token) { b.ArriveDrop() },
	"ArriveDropN":          func(b *Barrier, t Token) { b.ArriveDropN(1) },
	"ArriveDropExpectTx":   func(b *Barrier, t Token) { b.ArriveDropExpectTx(16) },
	"ArriveDropNoComplete": func(b *Barrier, t Token) { b.ArriveDropNoComplete(1) },
	"ExpectTx":             func(b *Barrier, t Token) { b.ExpectTx(0) },
	"CompleteTx":           func(b *Barrier, t Token) { b.CompleteTx(0) },
	"TestWait":             func(b *Barrier, t Token) { b.TestWait(t) },
	"TestWaitParity":       func(b *Barrier, t Token) { b.TestWaitParity(1) },
	"TryWait":              func(b *Barrier, t Token) { b.TryWait(t, time.Second) },
	"TryWaitParity":        func(b *Barrier, t Token) { b.TryWaitParity(0, time.Second) },
	"Wait":                 func(b *Barrier, t Token) { b.Wait(t) },
	"WaitParity":           func(b *Barrier, t Token) { b.WaitParity(0) },
}

func TestDeadBarrier(t *testing.T) {
	for _, kind := range []struct {
		name        string
		rule        Rule
		make        func() (*Barrier, Token)
		init, inval bool // whether Init and Invalidate are allowed
	}{
		{"zero", RuleUninitialized, func() (*Barrier, Token) { return new(Barrier), Token{} }, true, false},
		{"invalidated", RuleInvalidated, func() (*Barrier, Token) {
			b := mustNew(t, 3)
			tok := b.Arrive()
			b.Invalidate()
			return b, tok
		}, true, false},
		{"dropped", RuleDropped, func() (*Barrier, Token) {
			b := mustNew(t, 1)
			return b, b.ArriveDrop()
		}, false, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for op, do := range everyOp {
				b, tok := kind.make()
				m, err := caught(func() { do(b, tok) })
				if err != nil {
					t.Errorf("%s: %v", op, err)
					continue
				}
				wantMisuse(t, m, op, kind.rule)
			}
			b, _ := kind.make()
			if s := b.State(); s.Live || s.Dead != kind.rule || !strings.Contains(b.String(), kind.rule.String()) {
				t.Errorf("state %+v, %v", s, b)
			}
			if m, err := caught(b.Invalidate); (err != nil) != kind.inval {
				t.Errorf("Invalidate: %v, %v", m, err)
			} else if !kind.inval {
				wantMisuse(t, m, "Invalidate", kind.rule)
			}
			b, _ = kind.make()
			if err := b.Init(1); (err == nil) != kind.init {
				t.Errorf("Init: %v", err)
			}
		})
	}
}

func TestInitErrors(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, MaxCount + 1, math.MaxInt} {
		b, err := New(n)
		var m *Misuse
		if b != nil || !errors.As(err, &m) {
			t.Fatalf("New(%d) = %v, %v", n, b, err)
		}
		wantMisuse(t, m, "Init", RuleCount, "1..1048575")
	}
	for _, n := range []int{1, 2, MaxCount} {
		b := mustNew(t, n)
		before := b.word.Load()
		var m *Misuse
		if err := b.Init(5); !errors.As(err, &m) {
			t.Fatalf("second Init: %v", err)
		}
		wantMisuse(t, m, "Init", RuleLive, "count 5")
		if b.word.Load() != before {
			t.Errorf("a refused Init changed the barrier to %v", b)
		}
	}
}

func TestRuleText(t *testing.T) {
	seen := map[string]bool{"": true}
	for r := RuleCount; r <= RuleUnobserved; r++ {
		if text := r.String(); seen[text] || strings.HasPrefix(text, "Rule(") {
			t.Errorf("rule %d: %q is not its own", uint8(r), text)
		}
		seen[r.String()] = true
	}
	for r, want := range map[Rule]string{0: "Rule(0)", RuleUnobserved + 1: "Rule(12)", 200: "Rule(200)"} {
		if got := r.String(); got != want {
			t.Errorf("rule %d is %q, want %q", uint8(r), got, want)
		}
	}
}

// TestUnobservedStale checks a word that a caller read long ago, whose phase others have
// since observed and completed.
func TestUnobservedStale(t *testing.T) {
	b := mustNew(t, 1)
	b.observe(1)
	b.Arrive()
	stale := b.word.Load() // of phase 1
	b.Arrive()
	b.forget(stale)
	if m, _ := caught(func() { b.checkObserved("Arrive", stale) }); m != nil {
		t.Errorf("a stale word: %v", m)
	}
	now := b.word.Load() // of phase 2, which nobody has seen begin
	m, err := caught(func() { b.checkObserved("Arrive", now) })
	if err != nil {
		t.Error(err)
	}
	wantMisuse(t, m, "Arrive", RuleUnobserved, "phase 2", "phase 1")
}

// TestForgetLate holds up the completer of phase 0 until the barrier is in phase 8, whose
// note is the same bit.
func TestForgetLate(t *testing.T) {
	b := mustNew(t, 1)
	late := b.word.Load()
	for p := range uint64(phaseMod) {
		b.observe(p)
		b.Arrive()
	}
	b.observe(0)
	b.forget(late)
	if m, _ := caught(func() { b.checkObserved("Arrive", b.word.Load()) }); m != nil {
		t.Error(m)
	}
	b.Arrive()
	b.forget(late) // now it is the note of a phase that is over
	if s := b.seen.Load(); s&1 != 0 {
		t.Errorf("the notes are %b after phase 8", s&(1<<phaseMod-1))
	}
}

// TestUnobserved checks the rule that somebody looks at every phase, which holds
// from phase 1 on, when it is compiled in; without it nothing may object.
func TestUnobserved(t *testing.T) {
	for _, look := range []func(b *Barrier, tok Token, phase int){
		func(b *Barrier, tok Token, phase int) { b.TestWait(tok) },
		func(b *Barrier, tok Token, phase int) { b.TestWaitParity(uint32(phase)) },
		func(b *Barrier, tok Token, phase int) { b.Wait(tok) },
		func(b *Barrier, tok Token, phase int) { b.WaitParity(uint32(phase)) },
	} {
		b := mustNew(t, 1)
		for phase := range 20 {
			look(b, b.Arrive(), phase)
		}
		b.Arrive()
		m, err := caught(func() { b.Arrive() })
		switch {
		case !invariants && m != nil:
			t.Error(m)
		case invariants && err != nil:
			t.Error(err)
		case invariants:
			wantMisuse(t, m, "Arrive", RuleUnobserved, "phase 5", "phase 4")
		}
	}
}

// TestCheckTx asks before it completes bytes, in every state.
func TestCheckTx(t *testing.T) {
	for name, prepare := range map[string]func(b *Barrier){
		"new":         nil,
		"fresh":       func(*Barrier) {},
		"expecting":   func(b *Barrier) { b.ExpectTx(100) },
		"far behind":  func(b *Barrier) { b.CompleteTx(MaxTx - 100) },
		"full":        func(b *Barrier) { b.ExpectTx(MaxTx) },
		"invalidated": func(b *Barrier) { b.Invalidate() },
		"dropped":     func(b *Barrier) { b.ArriveDrop() },
	} {
		for _, bytes := range []int{math.MinInt, -1, 0, 99, 100, 101, MaxTx, MaxTx + 1, math.MaxInt} {
			var b Barrier
			if prepare != nil {
				if err := b.Init(1); err != nil {
					t.Fatal(err)
				}
				prepare(&b)
			}
			before := b.State()
			err := b.CheckTx(bytes)
			if after := b.State(); after != before {
				t.Errorf("%s: CheckTx(%d) changes the barrier from %v to %v", name, bytes, before, after)
			}
			var panicked any
			func() {
				defer func() { panicked = recover() }()
				b.CompleteTx(bytes)
			}()
			if (err == nil) != (panicked == nil) || err != nil && err.Error() != panicked.(*Misuse).Error() {
				t.Errorf("%s: CheckTx(%d) = %v, CompleteTx panics with %v", name, bytes, err, panicked)
			}
		}
	}
}
