package replay

import (
	"errors"
	"fmt"
	"time"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/golden"
)

// A held token, with the number of the phase it is of.
type held struct {
	token barrier.Token
	phase int
}

// A script runs on a barrier of its own. Tokens of a GPU are opaque, so the
// result of an arrive is not compared; what is asked of the token is.
type script struct {
	bar    barrier.Barrier
	phase  int // since init, unlike the barrier's it does not wrap
	tokens []held
}

// Script does what was done on an mbarrier, and says how what it returns differs from the GPU's, or "".
func Script(ops *[]golden.BarrierOp) (string, error) {
	s := script{tokens: make([]held, len(*ops))}
	for i, op := range *ops {
		got, compare, err := s.do(i, op)
		if err != nil {
			return fmt.Sprintf("op %d, %s %d: %v", i, op.Name, op.Arg, err), nil
		}
		if compare && got != op.Result {
			return fmt.Sprintf("op %d, %s %d: %d, the GPU said %d (%v)",
				i, op.Name, op.Arg, got, op.Result, s.bar.State()), nil
		}
		s.look()
	}
	return "", nil
}

// do executes op, the i-th of the script. compare says that its result counts.
func (s *script) do(i int, op golden.BarrierOp) (got uint64, compare bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, ok := p.(*barrier.Misuse)
			if !ok {
				panic(p)
			}
			err = m
		}
	}()
	b := &s.bar
	switch op.Name {
	case "init":
		return 0, false, b.Init(op.Arg)
	case "expect_tx":
		b.ExpectTx(op.Arg)
	case "complete_tx":
		b.CompleteTx(op.Arg)
	case "test_wait":
		h := s.tokens[op.Arg]
		if s.phase-h.phase > 1 {
			return 0, false, nil // out of contract: the GPU's answer means nothing
		}
		return uint64(bit(b.TestWait(h.token))), true, nil
	case "test_wait_parity":
		return uint64(bit(b.TestWaitParity(uint32(op.Arg)))), true, nil
	case "try_wait_parity":
		return uint64(bit(b.TryWaitParity(uint32(op.Arg), time.Nanosecond))), true, nil
	case "pending_count":
		return uint64(s.tokens[op.Arg].token.Pending()), true, nil
	case "arrive":
		s.tokens[i] = held{b.Arrive(), s.phase}
	case "arrive_n":
		s.tokens[i] = held{b.ArriveN(op.Arg), s.phase}
	case "arrive_no_complete":
		s.tokens[i] = held{b.ArriveNoComplete(op.Arg), s.phase}
	case "arrive_expect_tx":
		s.tokens[i] = held{b.ArriveExpectTx(op.Arg), s.phase}
	case "arrive_drop":
		s.tokens[i] = held{b.ArriveDropN(op.Arg), s.phase}
	case "arrive_drop_expect_tx":
		s.tokens[i] = held{b.ArriveDropExpectTx(op.Arg), s.phase}
	default:
		return 0, false, errors.New("unknown operation")
	}
	return 0, false, nil
}

// look follows the phase, of which an operation completes one at most, and
// observes the one that is over, as the build tag invariants wants.
func (s *script) look() {
	state := s.bar.State()
	if !state.Live {
		return
	}
	if (state.Phase^s.phase)&1 != 0 {
		s.phase++
	}
	s.bar.TestWaitParity(uint32(s.phase+1) & 1)
}
