package sm

import (
	"fmt"
	"strings"

	"example.com/leafhopper/internal/enum"
)

// A Rule is a rule of the CUDA programming model or of PTX.
type Rule uint8

const (
	// RuleDeadlock: some agent can go on, or a copy is under way.
	RuleDeadlock Rule = 1 + iota
	// RuleExit: shared memory outlives what is done with it. Copies into it have been
	// waited for, stores out of it committed, and other CTAs' accesses are ordered
	// before its CTA's exit (CUDA C++ Programming Guide, distributed shared memory).
	RuleExit
	// RuleBytes: sizes are those that a copy can have, and both sides hold them (PTX
	// 9.7.9.25, cp.async.bulk).
	RuleBytes
	// RuleAlignment: addresses, sizes and coordinates are multiples of what the copy
	// needs (CUDA C++ Programming Guide, alignment of TMA copies).
	RuleAlignment
	// RuleMap: a tensor map fits the coordinates and the array (PTX 9.7.9.27).
	RuleMap
	// RuleBarrier: an mbarrier is used as PTX 9.7.13.15 defines it.
	RuleBarrier
	// RuleSync: barrier.sync, barrier.cluster and grid.sync are executed by those who take part,
	// with the same operands (PTX 9.7.13.1 and 9.7.13.3), and so is what lanes of a warp do together, who
	// get values from each other alone (PTX 9.7.9.6, shfl.sync; 9.7.13.9 to 9.7.13.12), and setmaxnreg by the warps of
	// a warpgroup (PTX 9.7.19.5).
	RuleSync
	// RuleShared: a CTA's shared memory fits, holds no pointers, and is accessed in bounds, by
	// others once they know that it has begun, which is found under Check (CUDA C++ Programming
	// Guide, distributed shared memory).
	RuleShared
	// RuleGlobal: a [Global] holds no pointers, and is accessed in bounds.
	RuleGlobal
	// RuleStart: a kernel starts its agents once, over ranges of its block.
	RuleStart
	// RuleWGMMA: wgmma.mma_async is issued and waited for as PTX 9.7.15 defines it.
	RuleWGMMA
	// RuleMMA: mma.sync is an instruction that there is, of as many registers as it has (PTX 9.7.14.5); so is mma.sp, of
	// metadata and a selector that PTX defines (9.7.14.6).
	RuleMMA
	// RulePipeline: cuda::pipeline is used as libcu++ defines it.
	RulePipeline
	// RulePanic: code of the kernel does not panic.
	RulePanic
	// RuleAgent: an agent is used on the goroutine that its function runs on.
	RuleAgent
	// RuleSource: what a bulk store reads, and a tensor map that any copy goes through, does not change before it has read
	// it (PTX 9.7.9.25, cp.async.bulk.wait_group.read).
	RuleSource
	// RuleResult: [Config.Verify] finds nothing wrong.
	RuleResult
	// RuleRace: of two accesses of the same byte of shared memory, or of a [Global], one of which writes it, if only what
	// is there, one comes after the other by what the program orders (PTX 8.7.1, data races; 8.9, causality order). It is
	// known under Check, as are those below.
	RuleRace
	// RuleProxy: a fence.proxy.async comes between what writes memory in the generic proxy and a copy or
	// wgmma instruction that reads it (PTX 9.7.13.4; CUDA C++ Programming Guide, async proxy), and a release and an
	// acquire of the tensormap proxy between what changes a map in global memory and a copy through it (9.7.13.16).
	RuleProxy
	// RuleUnwritten: shared memory is read that has been written, for it begins as no value in particular.
	RuleUnwritten
	// RuleLayout: wgmma's matrix descriptor has the swizzle that a tensor load laid the operand out with, and by its
	// start, offsets and base offset what is next in the operand is next in the box: in the row, the next row, or
	// the like in another box (PTX 9.7.15.5.1, shared memory matrix layout). What comes in one dimension, as by
	// LoadBulk, may have been laid out before, and is not judged; so may core matrices, and of rows that lie side by side
	// in global memory every eight. Rows may go on in those of another tensor. An operand that was swizzled
	// before has to come that way: by a map of no swizzle it looks like one whose swizzle was forgotten.
	RuleLayout
	// RulePhase: whoever waits for a phase of an mbarrier sees it end before the phase after it does, by what the
	// program orders; else the wait may be for one more (PTX 9.7.13.15.4, phases of the mbarrier object).
	RulePhase
)

var ruleText = [...]string{
	RuleDeadlock:  "deadlock",
	RuleExit:      "exit",
	RuleBytes:     "bytes",
	RuleAlignment: "alignment",
	RuleMap:       "tensor map",
	RuleBarrier:   "mbarrier",
	RuleSync:      "barrier",
	RuleShared:    "shared memory",
	RuleGlobal:    "global memory",
	RuleStart:     "start of agents",
	RuleWGMMA:     "wgmma",
	RuleMMA:       "mma",
	RulePipeline:  "pipeline",
	RulePanic:     "panic",
	RuleAgent:     "agent",
	RuleSource:    "source of a copy",
	RuleResult:    "result",
	RuleRace:      "race",
	RuleProxy:     "proxy fence",
	RuleUnwritten: "unwritten memory",
	RuleLayout:    "layout",
	RulePhase:     "phase of an mbarrier",
}

// String names the rule.
func (r Rule) String() string { return enum.Name("Rule", ruleText[:], r) }

// A Fault is what is wrong with a launch. One of RuleResult is of its results; all others are why it ended early: an
// operation that a GPU faults on or PTX leaves undefined, a deadlock, or a panic.
type Fault struct {
	Kernel string
	CTA    Dim3   // none of RuleResult, nor an Agent, Op and Site
	Agent  string // such as "thread 3"; empty in a deadlock, where Waits has all
	Op     string // such as "LoadTensor"
	Site   string // "file.go:line" of the kernel's code
	Rule   Rule
	Detail string

	// Waits are the agents of a deadlock, those that wait for the same at the same place
	// together.
	Waits []Wait
	// Stack is that of a panic.
	Stack []byte
	// Seed and Switches are those of a checked launch. A launch with this seed has the
	// same fault. Switches is where its order differs from that of agents that run until
	// they wait, nil if there are more than 262,144: [Explore] leaves as few as it can.
	Seed     uint64
	Switches []Switch

	checked  bool // Seed is that of a checked launch
	explored bool // Switches are those that Explore has left
	cause    error
}

// A Wait is what some agents of a deadlock wait for.
type Wait struct {
	CTA    Dim3
	Agents string // such as "thread 0", or "threads 0-31, 40"
	Site   string
	For    string // such as "waits for full[2] phase 4: 0 arrivals missing, 16 bytes missing"
}

// Error returns the whole report, of several lines for a deadlock.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.Rule == RuleDeadlock {
		fmt.Fprintf(&b, "sm: deadlock in %s, CTA %v: %s", f.Kernel, f.CTA, f.Detail)
		f.writeWaits(&b)
	} else {
		fmt.Fprintf(&b, "sm: %s: %s", f.Rule, f.Kernel)
		if f.Rule != RuleResult {
			fmt.Fprintf(&b, ", CTA %v", f.CTA)
		}
		if f.Agent != "" {
			fmt.Fprintf(&b, ", %s", f.Agent)
		}
		if f.Site != "" {
			fmt.Fprintf(&b, " at %s", f.Site)
		}
		if f.Op != "" {
			fmt.Fprintf(&b, ": %s", f.Op)
		}
		fmt.Fprintf(&b, ": %s", f.Detail)
	}
	switch n := len(f.Switches); {
	case n > mostSwitches:
		fmt.Fprintf(&b, "\n  seed %d, %d switches", f.Seed, n)
		if !f.explored {
			b.WriteString("; Explore finds the few that matter")
		}
	case n > 0:
		fmt.Fprintf(&b, "\n  seed %d; agents run until they wait, except:", f.Seed)
		for _, s := range f.Switches {
			fmt.Fprintf(&b, "\n  %v", s)
		}
	case f.checked:
		fmt.Fprintf(&b, "\n  seed %d", f.Seed)
	}
	if len(f.Stack) > 0 {
		fmt.Fprintf(&b, "\n\n%s", f.Stack)
	}
	return b.String()
}

// mostSwitches is how many a message lists.
const mostSwitches = 16

// widestAgents is how many columns the agents of a wait take for which those of the others are padded.
const widestAgents = 24

func (f *Fault) writeWaits(b *strings.Builder) {
	agents, sites, several := 0, 0, false
	for _, w := range f.Waits {
		sites = max(sites, len(w.Site))
		if len(w.Agents) <= widestAgents {
			agents = max(agents, len(w.Agents))
		}
		several = several || w.CTA != f.CTA
	}
	for _, w := range f.Waits {
		b.WriteString("\n  ")
		if several {
			fmt.Fprintf(b, "CTA %v ", w.CTA)
		}
		fmt.Fprintf(b, "%-*s at %-*s %s", agents, w.Agents, sites, w.Site, w.For)
	}
}

// Unwrap returns the error behind the fault, if there is one: a [*barrier.Misuse], a
// [*tile.Misuse], a [*wgmma.Misuse], or the error that a kernel panicked with.
func (f *Fault) Unwrap() error { return f.cause }

// abandon unwinds a runner of a launch that has stopped.
type abandon struct{ launch *launch }

// Error is what the program ends with if the goroutine is none of the launch's.
func (a abandon) Error() string {
	if a.launch.err == nil {
		return "sm: the launch of the agent is over"
	}
	return "sm: a goroutine that the kernel has started itself outlives the launch: " + a.launch.err.Error()
}

// fail stops the launch with a fault of a and unwinds its runner.
func (a *agent) fail(rule Rule, format string, args ...any) {
	a.failWith(nil, rule, format, args...)
}

// says returns the text of an error of a package below, without its name.
func says(err error) string {
	_, text, _ := strings.Cut(err.Error(), ": ")
	return text
}

func (a *agent) failWith(err error, rule Rule, format string, args ...any) {
	a.run.stop(a, &Fault{Rule: rule, Detail: fmt.Sprintf(format, args...), cause: err})
	a.run.unwind()
}

// stop completes f, a fault of the operation that r is at in the name of a, and stops
// the launch with it.
func (r *runner) stop(a *agent, f *Fault) {
	l := r.cta.launch
	f.Kernel, f.CTA = l.Name, r.cta.idx
	if f.Rule != RuleDeadlock {
		f.Agent, f.Op, f.Site = a.String(), r.op, r.site.String()
	}
	l.seeded(f)
	l.stop(f)
}

// seeded completes a fault of a checked launch with the order that it takes.
func (l *launch) seeded(f *Fault) {
	if l.sched != nil {
		f.checked, f.Seed, f.Switches = true, l.Seed, l.sched.switches()
	}
}
