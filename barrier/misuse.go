package barrier

import (
	"fmt"

	"example.com/leafhopper/internal/enum"
)

// A Misuse is a use of a barrier that PTX leaves undefined. Constructors
// return it; the other methods panic with it.
type Misuse struct {
	Op     string // the method called
	Rule   Rule   // the rule it broke
	Detail string // the values that broke it and the ones allowed
}

// Error returns "barrier: Op: rule: detail".
func (m *Misuse) Error() string {
	return "barrier: " + m.Op + ": " + m.Rule.String() + ": " + m.Detail
}

// A Rule is one of the rules of an mbarrier.
type Rule uint8

const (
	// RuleCount: a count operand is in 1..MaxCount.
	RuleCount Rule = 1 + iota
	// RuleUnderflow: a phase gets no more arrivals than are pending in it.
	RuleUnderflow
	// RuleTx: a byte operand is in 0..MaxTx and the balance in -MaxTx..MaxTx.
	RuleTx
	// RuleLive: Init needs a barrier that is dead.
	RuleLive
	// RuleUninitialized: every other operation needs Init first.
	RuleUninitialized
	// RuleInvalidated: no operation follows Invalidate, and no wait outlives it.
	RuleInvalidated
	// RuleDropped: only Invalidate follows the phase that the last participant
	// has dropped out of.
	RuleDropped
	// RuleStale: a token is of the current phase or of the preceding one.
	RuleStale
	// RuleForeign: a token is of the barrier, and of the life of it, that it is
	// used on.
	RuleForeign
	// RuleNoComplete: an arrive with noComplete does not complete its phase.
	RuleNoComplete
	// RuleUnobserved: a phase does not complete before a wait has observed its
	// predecessor (checked with the build tag invariants only).
	RuleUnobserved
)

var ruleText = [...]string{
	RuleCount: "count out of range",
	"arrival underflow",
	"tx-count out of range",
	"init of a live barrier",
	"barrier not initialized",
	"barrier invalidated",
	"every participant dropped",
	"stale token",
	"token of another barrier",
	"phase completed by noComplete",
	"preceding phase unobserved",
}

// String names the violation.
func (r Rule) String() string { return enum.Name("Rule", ruleText[:], r) }

// The functions misuse* never return. They are kept out of line so that the
// operations stay small.

//go:noinline
func misuse(op string, r Rule, format string, args ...any) {
	panic(newMisuse(op, r, format, args...))
}

func newMisuse(op string, r Rule, format string, args ...any) *Misuse {
	return &Misuse{op, r, fmt.Sprintf(format, args...)}
}

func deadRule(w uint64) Rule {
	switch w {
	case deadInvalid:
		return RuleInvalidated
	case deadDropped:
		return RuleDropped
	}
	return RuleUninitialized
}

//go:noinline
func misuseDead(op string, w uint64) { panic(deadMisuse(op, w)) }

func deadMisuse(op string, w uint64) *Misuse {
	r := deadRule(w)
	switch r {
	case RuleInvalidated:
		return newMisuse(op, r, "Init with a count of 1..%d is all that may follow Invalidate", MaxCount)
	case RuleDropped:
		return newMisuse(op, r, "expected count 0, want 1..%d; only Invalidate is left", MaxCount)
	}
	return newMisuse(op, r, "call Init with a count of 1..%d first, the word is %#x", MaxCount, w)
}

// misuseArrive explains why n arrivals with bytes were refused at w.
//
//go:noinline
func misuseArrive(op string, w uint64, n, bytes int) {
	if n < 1 || n > MaxCount {
		misuse(op, RuleCount, "count %d, want 1..%d", n, MaxCount)
	}
	if uint(bytes) <= MaxTx && !isDead(w) && n > pendingOf(w) {
		misuse(op, RuleUnderflow, "count %d, pending %d (%s)", n, pendingOf(w), stateOf(w))
	}
	misuseTx(op, w, bytes, bytes)
}

//go:noinline
func misuseNoComplete(op string, w uint64, n int) {
	misuse(op, RuleNoComplete, "count %d, want less than the %d pending (%s)", n, pendingOf(w), stateOf(w))
}

//go:noinline
func misuseTx(op string, w uint64, bytes, delta int) { panic(txMisuse(op, w, bytes, delta)) }

// txMisuse explains why bytes, which change the balance by delta, are refused
// at w.
func txMisuse(op string, w uint64, bytes, delta int) *Misuse {
	if bytes < 0 || bytes > MaxTx {
		return newMisuse(op, RuleTx, "bytes %d, want 0..%d", bytes, MaxTx)
	}
	if isDead(w) {
		return deadMisuse(op, w)
	}
	return newMisuse(op, RuleTx, "bytes %d take the balance from %d to %d, want %d..%d",
		bytes, txOf(w), txOf(w)+delta, -MaxTx, MaxTx)
}

// misuseToken explains why t was refused at w by a barrier of that serial.
//
//go:noinline
func misuseToken(op string, w, serial uint64, t Token) {
	if isDead(w) {
		misuseDead(op, w)
	}
	switch t.serial() {
	case serial:
		misuse(op, RuleStale, "token of phase %d, barrier in phase %d (mod %d)", t.phase(), phaseOf(w), phaseMod)
	case 0:
		misuse(op, RuleForeign, "token of initialization 0, which no arrival returned")
	}
	misuse(op, RuleForeign, "token of phase %d there or of an earlier Init here, barrier in phase %d (mod %d)",
		t.phase(), phaseOf(w), phaseMod)
}

// misuseWaiting explains why a wait that began on the life serial cannot go on.
//
//go:noinline
func misuseWaiting(op string, w, now, serial uint64) {
	switch {
	case w == deadDropped:
		misuseDead(op, w)
	case isDead(w):
		misuse(op, RuleInvalidated, "initialization %d ended during the wait, the word is %#x", serial, w)
	}
	misuse(op, RuleInvalidated, "the wait began on initialization %d, the barrier is now of %d", serial, now)
}
