package barrier

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A goldenOp is one operation that an H200 executed, and its result.
type goldenOp struct {
	name   string
	arg    int
	result uint64
}

var goldenNames = map[string]bool{
	"init": true, "arrive": true, "arrive_n": true, "arrive_no_complete": true,
	"arrive_expect_tx": true, "arrive_drop": true, "arrive_drop_expect_tx": true,
	"expect_tx": true, "complete_tx": true, "test_wait": true,
	"test_wait_parity": true, "try_wait_parity": true, "pending_count": true,
}

// parseGolden parses "op argument result ; op argument result ; ...", which
// begins with its only init. An operation without operand has 0 there.
func parseGolden(line string) ([]goldenOp, error) {
	var ops []goldenOp
	for i, text := range strings.Split(line, " ; ") {
		f := strings.Split(text, " ")
		if len(f) != 3 {
			return nil, fmt.Errorf("op %d %q: %d fields, want 3", i, text, len(f))
		}
		if !goldenNames[f[0]] {
			return nil, fmt.Errorf("op %d: unknown operation %q", i, f[0])
		}
		if (f[0] == "init") != (i == 0) {
			return nil, fmt.Errorf("op %d is %q: init must be the first and only the first", i, f[0])
		}
		arg, err := strconv.ParseUint(f[1], 10, 20)
		if err != nil {
			return nil, fmt.Errorf("op %d %q: %v", i, text, err)
		}
		result, err := strconv.ParseUint(f[2], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("op %d %q: %v", i, text, err)
		}
		op := goldenOp{f[0], int(arg), result}
		switch op.name {
		case "init", "expect_tx", "complete_tx":
			if result != 0 {
				return nil, fmt.Errorf("op %d %q has a result", i, text)
			}
		case "test_wait_parity", "try_wait_parity", "test_wait":
			if result > 1 {
				return nil, fmt.Errorf("op %d %q: result %d, want 0 or 1", i, text, result)
			}
		}
		if op.name == "arrive" && arg != 0 {
			return nil, fmt.Errorf("op %d %q: arrive takes no operand", i, text)
		}
		if op.name == "test_wait" || op.name == "pending_count" {
			if op.arg >= i || !strings.HasPrefix(ops[op.arg].name, "arrive") {
				return nil, fmt.Errorf("op %d %q: op %d made no token", i, text, op.arg)
			}
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func TestParseGoldenIsStrict(t *testing.T) {
	if _, err := parseGolden("init 1 0 ; arrive 0 7ffff80000000000 ; test_wait 1 1"); err != nil {
		t.Error(err)
	}
	for _, line := range []string{
		"", "init 1", "init 1 0 0", "init 1 0; arrive 0 0", "arrive 0 0", "init 1 0 ; init 1 0",
		"init 1 0 ; jump 0 0", "init 1 0 ; arrive 1 0", "init -1 0", "init 1048576 0", "init x 0", "init 1 g", "init 1 1",
		"init 1 0 ; test_wait_parity 0 2", "init 1 0 ; test_wait 0 0", "init 1 0 ; test_wait 1 0",
		"init 1 0 ; pending_count 2 0 ; arrive 0 0", "init 1 0 ; expect_tx 1 1", "init 1 0 ; ",
	} {
		if ops, err := parseGolden(line); err == nil {
			t.Errorf("parseGolden(%q) accepted it: %v", line, ops)
		}
	}
}

// TestReplay runs every sequence recorded on an H200 and compares every result.
//
// The token of a real arrive is opaque, but in every record its top bit is
// the parity of the phase and the 20 bits below are minus the pending count, so
// those are compared too.
func TestReplay(t *testing.T) {
	f, err := os.Open("testdata/mbarrier.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var n replayCounts
	lines := 0
	in := bufio.NewScanner(z)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		lines++
		ops, err := parseGolden(in.Text())
		if err != nil {
			t.Fatalf("line %d: %v", lines, err)
		}
		if err := replay(ops, &n); err != nil {
			t.Errorf("line %d: %v", lines, err)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sequences, %+v", lines, n)
	want := replayCounts{tests: 1912, counts: 396, tokens: 2444, skipped: 34}
	if lines != 414 || n != want {
		t.Errorf("%d sequences and %+v compared, want 414 and %+v", lines, n, want)
	}
}

// replayCounts says how many results were compared.
type replayCounts struct {
	tests   int // of test_wait*, try_wait*
	counts  int // of pending_count
	tokens  int // of arrives
	skipped int // test_wait of a token more than one phase old, refused
}

func replay(ops []goldenOp, n *replayCounts) (err error) {
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
		got := op.result
		switch op.name {
		case "init":
			if err := b.Init(op.arg); err != nil {
				return err
			}
			m.init(op.arg)
		case "expect_tx":
			b.ExpectTx(op.arg)
			m.transact(op.arg, 1)
		case "complete_tx":
			b.CompleteTx(op.arg)
			m.transact(op.arg, -1)
		case "test_wait":
			if m.phase-phases[op.arg].phase > 1 {
				n.skipped++
				if mis, err := caught(func() { b.TestWait(tokens[op.arg]) }); err != nil || mis.Rule != RuleStale {
					return fmt.Errorf("op %d %+v: token %d phases old: %v, %v", i, op, m.phase-phases[op.arg].phase, mis, err)
				}
				continue
			}
			n.tests++
			got = bit(b.TestWait(tokens[op.arg]))
		case "test_wait_parity":
			n.tests++
			got = bit(b.TestWaitParity(uint32(op.arg)))
		case "try_wait_parity":
			n.tests++
			got = bit(b.TryWaitParity(uint32(op.arg), 1))
		case "pending_count":
			n.counts++
			got = uint64(tokens[op.arg].Pending())
		default:
			tokens[i], phases[i] = replayArrive(&b, &m, op)
			n.tokens++
			const mask = 1<<64 - 1<<43
			op.result &= mask
			got = tokens[i].phase()<<63 | uint64(-tokens[i].Pending())<<44>>1&mask
		}
		if got != op.result {
			return fmt.Errorf("op %d %s %d: got %#x, the GPU %#x", i, op.name, op.arg, got, op.result)
		}
		observing(&b) // the sequences do not always look, which checked mode minds
	}
	return nil
}

func replayArrive(b *Barrier, m *model, op goldenOp) (t Token, p modelToken) {
	switch op.name {
	case "arrive":
		t = b.Arrive()
		p, _ = m.arrive(1, 0, false, false)
	case "arrive_n":
		t = b.ArriveN(op.arg)
		p, _ = m.arrive(op.arg, 0, false, false)
	case "arrive_no_complete":
		t = b.ArriveNoComplete(op.arg)
		p, _ = m.arrive(op.arg, 0, false, true)
	case "arrive_expect_tx":
		t = b.ArriveExpectTx(op.arg)
		p, _ = m.arrive(1, op.arg, false, false)
	case "arrive_drop":
		t = b.ArriveDropN(op.arg)
		p, _ = m.arrive(op.arg, 0, true, false)
	case "arrive_drop_expect_tx":
		t = b.ArriveDropExpectTx(op.arg)
		p, _ = m.arrive(1, op.arg, true, false)
	}
	return t, p
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
