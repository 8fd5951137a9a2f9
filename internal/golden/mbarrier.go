package golden

import (
	"fmt"
	"strconv"
	"strings"
)

// A BarrierOp is one operation on an mbarrier and its result. Arg is its
// operand, 0 if it has none; of test_wait and pending_count it is the index in
// the script of the arrive whose token they use. The result of an arrive is the
// opaque token, that of init, expect_tx and complete_tx is 0.
type BarrierOp struct {
	Name   string
	Arg    int
	Result uint64
}

// barrierOps maps the operations to whether they return a token.
var barrierOps = map[string]bool{
	"init": false, "arrive": true, "arrive_n": true, "arrive_no_complete": true,
	"arrive_expect_tx": true, "arrive_drop": true, "arrive_drop_expect_tx": true,
	"expect_tx": false, "complete_tx": false, "test_wait": false,
	"test_wait_parity": false, "try_wait_parity": false, "pending_count": false,
}

// ParseScripts reads the lines of mbarrier.txt, each of which is a script on one
// barrier: "op argument result ; op argument result ; ...". It begins with its
// only init.
func ParseScripts(data []byte) ([][]BarrierOp, error) {
	return parseLines(data, parseScript)
}

func parseScript(script *[]BarrierOp, row string) error {
	for n, text := range strings.Split(row, " ; ") {
		op, err := parseBarrierOp(*script, text)
		if err != nil {
			return fmt.Errorf("op %d %q: %w", n, text, err)
		}
		*script = append(*script, op)
	}
	return nil
}

// parseBarrierOp reads the operation that follows those before.
func parseBarrierOp(before []BarrierOp, text string) (op BarrierOp, err error) {
	f := strings.Split(text, " ")
	if len(f) != 3 {
		return op, fmt.Errorf("want 3 fields, got %d", len(f))
	}
	token, known := barrierOps[f[0]]
	if !known {
		return op, fmt.Errorf("unknown operation")
	}
	if (f[0] == "init") != (len(before) == 0) {
		return op, fmt.Errorf("init must be the first and only the first")
	}
	arg, err := strconv.ParseUint(f[1], 10, 20)
	if err != nil {
		return op, fmt.Errorf("operand: %w", err)
	}
	result, err := strconv.ParseUint(f[2], 16, 64)
	if err != nil {
		return op, fmt.Errorf("result: %w", err)
	}
	op = BarrierOp{f[0], int(arg), result}
	largest := uint64(0)
	switch {
	case token:
		largest = 1<<64 - 1
	case op.Name == "pending_count":
		largest = 1<<20 - 1
	case strings.Contains(op.Name, "_wait"):
		largest = 1
	}
	switch {
	case result > largest:
		return op, fmt.Errorf("result %#x is over %#x", result, largest)
	case op.Name == "arrive" && arg != 0:
		return op, fmt.Errorf("arrive has no operand")
	case op.Name == "test_wait" || op.Name == "pending_count":
		if op.Arg >= len(before) || !barrierOps[before[op.Arg].Name] {
			return op, fmt.Errorf("op %d made no token", op.Arg)
		}
	}
	return op, nil
}
