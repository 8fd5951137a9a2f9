package main

import (
	"io"

	"example.com/leafhopper/internal/golden"
)

// A barrierRule says what the bytes do to an mbarrier and what a wait asks.
type barrierRule struct {
	bytesArrive  bool // the last byte counts as an arrival
	ignoresBytes bool // a phase is over when everybody has arrived
	waitsFor     bool // wait(parity P) is true while the phase has parity P
}

// A state is an mbarrier under a rule.
type state struct {
	barrierRule
	phase, expected, pending, tx int
	before                       []int // phase in which each op of the script was done
	left                         []int // arrivals pending before it
}

// do executes op and returns what a test or a count gives.
func (s *state) do(op golden.BarrierOp) (result uint64) {
	s.before, s.left = append(s.before, s.phase), append(s.left, s.pending)
	switch op.Name {
	case "init":
		s.expected, s.pending = op.Arg, op.Arg
	case "arrive":
		s.pending--
	case "arrive_n", "arrive_no_complete":
		s.pending -= op.Arg
	case "arrive_drop":
		s.expected -= op.Arg
		s.pending -= op.Arg
	case "arrive_expect_tx":
		s.tx += op.Arg
		s.pending--
	case "arrive_drop_expect_tx":
		s.tx += op.Arg
		s.expected--
		s.pending--
	case "expect_tx":
		s.tx += op.Arg
	case "complete_tx":
		s.tx -= op.Arg
		if s.bytesArrive && s.tx == 0 && op.Arg > 0 {
			s.pending--
		}
	case "test_wait":
		return bit(s.phase > s.before[op.Arg])
	case "test_wait_parity", "try_wait_parity":
		return bit((s.phase&1 == op.Arg&1) == s.waitsFor)
	case "pending_count":
		return uint64(s.left[op.Arg])
	}
	if s.pending == 0 && (s.tx == 0 || s.ignoresBytes) {
		s.phase++
		s.pending = s.expected
	}
	return 0
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// compared says whether the result of op counts: those of arrives are opaque, and
// so is the answer about a token more than one phase old. right is the state
// under the rule that holds.
func compared(right *state, op golden.BarrierOp) bool {
	switch op.Name {
	case "test_wait":
		return right.phase-right.before[op.Arg] <= 1
	case "test_wait_parity", "try_wait_parity", "pending_count":
		return true
	}
	return false
}

func barriers(w io.Writer) error {
	data, err := recording("barrier/testdata/mbarrier.txt.gz")
	if err != nil {
		return err
	}
	scripts, err := golden.ParseScripts(data)
	if err != nil {
		return err
	}
	apply := func(rule barrierRule) (c count) {
		for _, script := range scripts {
			right, s, same := &state{}, &state{barrierRule: rule}, true
			for _, op := range script {
				right.do(op)
				same = s.do(op) == op.Result || !compared(right, op) && same
			}
			c.add(same)
		}
		return c
	}
	apply(barrierRule{}).print(w, "scripts", "mbarrier: the rule that holds")
	apply(barrierRule{bytesArrive: true}).print(w, "scripts", "the last byte of a copy arrives at the barrier")
	apply(barrierRule{ignoresBytes: true}).print(w, "scripts",
		"the last arrival completes the phase, whatever bytes are missing")
	apply(barrierRule{waitsFor: true}).print(w, "scripts", "a wait for parity P waits until the barrier has parity P")

	var fresh count
	for _, script := range scripts {
		s := &state{}
		for _, op := range script {
			s.do(op)
			if (op.Name == "test_wait_parity" || op.Name == "try_wait_parity") && s.phase == 0 && op.Arg&1 == 1 {
				fresh.add(op.Result == 0)
			}
		}
	}
	fresh.print(w, "waits", "a wait for parity 1 blocks on a barrier in its first phase")
	return nil
}
