package barrier

import (
	"fmt"
	"testing"

	"example.com/leafhopper/internal/golden"
)

// TestReplay runs every sequence recorded on an H200 and compares every result.
//
// The token of a real arrive is opaque, but in every record its top bit is
// the parity of the phase and the 20 bits below are minus the pending count, so
// those are compared too.
func TestReplay(t *testing.T) {
	scripts, err := golden.Records("testdata/mbarrier.txt.gz", golden.ParseScripts)
	if err != nil {
		t.Fatal(err)
	}
	var n replayCounts
	for i, ops := range scripts {
		if err := replay(ops, &n); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
	}
	t.Logf("%d sequences, %+v", len(scripts), n)
	want := replayCounts{tests: 1912, counts: 396, tokens: 2444, skipped: 34}
	if len(scripts) != 414 || n != want {
		t.Errorf("%d sequences and %+v compared, want 414 and %+v", len(scripts), n, want)
	}
}

// replayCounts says how many results were compared.
type replayCounts struct {
	tests   int // of test_wait*, try_wait*
	counts  int // of pending_count
	tokens  int // of arrives
	skipped int // test_wait of a token more than one phase old, refused
}

func replay(ops []golden.BarrierOp, n *replayCounts) (err error) {
	var b Barrier
	var m model // knows the phase without wrapping, hence which tokens are stale
	m.dead = RuleUninitialized
	tokens := make([]Token, len(ops))
	phases := make([]modelToken, len(ops))
	at := 0
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("op %d %+v: %v", at, ops[at], r)
		}
	}()
	for i, op := range ops {
		at = i
		got := op.Result
		switch op.Name {
		case "init":
			if err := b.Init(op.Arg); err != nil {
				return err
			}
			m.init(op.Arg)
		case "expect_tx":
			b.ExpectTx(op.Arg)
			m.transact(op.Arg, 1)
		case "complete_tx":
			b.CompleteTx(op.Arg)
			m.transact(op.Arg, -1)
		case "test_wait":
			if m.phase-phases[op.Arg].phase > 1 {
				n.skipped++
				if mis, err := caught(func() { b.TestWait(tokens[op.Arg]) }); err != nil || mis.Rule != RuleStale {
					return fmt.Errorf("op %d %+v: token %d phases old: %v, %v", i, op, m.phase-phases[op.Arg].phase,
						mis, err)
				}
				continue
			}
			n.tests++
			got = bit(b.TestWait(tokens[op.Arg]))
		case "test_wait_parity":
			n.tests++
			got = bit(b.TestWaitParity(uint32(op.Arg)))
		case "try_wait_parity":
			n.tests++
			got = bit(b.TryWaitParity(uint32(op.Arg), 1))
		case "pending_count":
			n.counts++
			got = uint64(tokens[op.Arg].Pending())
		default:
			tokens[i], phases[i] = replayArrive(&b, &m, op)
			n.tokens++
			const mask = 1<<64 - 1<<43
			op.Result &= mask
			got = tokens[i].phase()<<63 | uint64(-tokens[i].Pending())<<44>>1&mask
		}
		if got != op.Result {
			return fmt.Errorf("op %d %s %d: got %#x, the GPU %#x", i, op.Name, op.Arg, got, op.Result)
		}
		observing(&b) // the sequences do not always look, which invariants mind
	}
	return nil
}

func replayArrive(b *Barrier, m *model, op golden.BarrierOp) (t Token, p modelToken) {
	switch op.Name {
	case "arrive":
		t = b.Arrive()
		p, _ = m.arrive(1, 0, false, false)
	case "arrive_n":
		t = b.ArriveN(op.Arg)
		p, _ = m.arrive(op.Arg, 0, false, false)
	case "arrive_no_complete":
		t = b.ArriveNoComplete(op.Arg)
		p, _ = m.arrive(op.Arg, 0, false, true)
	case "arrive_expect_tx":
		t = b.ArriveExpectTx(op.Arg)
		p, _ = m.arrive(1, op.Arg, false, false)
	case "arrive_drop":
		t = b.ArriveDropN(op.Arg)
		p, _ = m.arrive(op.Arg, 0, true, false)
	case "arrive_drop_expect_tx":
		t = b.ArriveDropExpectTx(op.Arg)
		p, _ = m.arrive(1, op.Arg, true, false)
	}
	return t, p
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
