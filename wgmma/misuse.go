package wgmma

import (
	"fmt"
	"sync/atomic"

	"example.com/leafhopper/internal/enum"
)

// A Misuse is an order of operations that PTX leaves undefined, found in
// checked mode. Warpgroup methods return it; register accesses panic with it.
type Misuse struct {
	Rule   Rule
	Detail string // what broke it
}

// Error returns "wgmma: rule: detail".
func (m *Misuse) Error() string { return "wgmma: " + m.Rule.String() + ": " + m.Detail }

// A Rule is one of the rules of asynchrony of wgmma.mma_async.
type Rule uint8

const (
	// RuleFence: a Fence separates an access to registers from the next MMA on
	// them, except between MMAs of one shape (PTX 9.7.15.7.1, wgmma.fence).
	RuleFence Rule = 1 + iota
	// RulePending: nobody touches the registers of an MMA, and no other
	// warpgroup takes them, before WaitGroup has covered it (PTX 9.7.15.7.3).
	RulePending
	// RuleOperand: shared memory that an MMA reads does not change before
	// WaitGroup has covered it (PTX 9.7.15.7.3).
	RuleOperand
)

var ruleText = [...]string{
	RuleFence:   "registers not fenced",
	RulePending: "registers of a pending instruction touched",
	RuleOperand: "operand of a pending instruction overwritten",
}

// String names the violation.
func (r Rule) String() string { return enum.Name("Rule", ruleText[:], r) }

func misuse(r Rule, format string, args ...any) *Misuse {
	return &Misuse{r, fmt.Sprintf(format, args...)}
}

// A stamp is a moment as checked mode tells them apart: fences divide time. An
// access and a fence that bear the same stamp came in the order fence, access.
type stamp uint64

var clock atomic.Uint64

// now returns the stamp of an access.
func now() stamp { return stamp(clock.Load()) }

// tick returns the stamp of a fence, later than that of every access before it.
func tick() stamp { return stamp(clock.Add(1)) }
