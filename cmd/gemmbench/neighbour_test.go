package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/cli"
)

func neighbourOf(t *testing.T, args ...string) (rep neighbourReport) {
	t.Helper()
	args = append([]string{"neighbour", "-duration", "50ms", "-format", "json"}, args...)
	d := json.NewDecoder(strings.NewReader(succeed(t, args...)))
	d.DisallowUnknownFields()
	if err := d.Decode(&rep); err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestNeighbour wants numbers that agree with each other; whether the bars are met depends on what
// else the machine does.
func TestNeighbour(t *testing.T) {
	rep := neighbourOf(t, "-size", "48,8x40x16", "-callers", "1,5", "-dtype", "bf16", "-pause", "20us")
	if len(rep.Sleepers) != 3 || len(rep.Burns) != 2 || len(rep.Crowds) != 4 || rep.DType != "bf16" ||
		rep.Pause != 20e-6 || rep.Machine.Workers < 1 {
		t.Fatalf("%+v", rep)
	}
	for i, s := range rep.Sleepers {
		if (i > 0) != (s.GFLOPS > 0) || s.Sleeps < 1 || s.Median < 1e-3 || s.P99 < s.Median || s.Longest < s.P99 {
			t.Errorf("%+v", s)
		}
	}
	for _, b := range rep.Burns {
		if b.Calls < 1 || b.Call <= 0 || b.Alone <= 0 || b.Helpers < 0 || b.Ratio < 0 || b.Helpers == 0 && !b.Passed {
			t.Errorf("%+v", b)
		}
	}
	for _, c := range rep.Crowds {
		if c.GFLOPS <= 0 || c.Alone <= 0 || c.Ratio <= 0 || c.Barred != (c.Callers >= rep.Machine.Workers) ||
			!c.Barred && !c.Passed {
			t.Errorf("%+v", c)
		}
	}
}

// TestNeighbourMemory wants operands refused that do not fit in memory, of the parts that are asked for.
func TestNeighbourMemory(t *testing.T) {
	if bench.ThisMachine().Memory == 0 {
		t.Skip("nothing is too large if nobody knows how much there is")
	}
	for _, args := range []string{
		"neighbour -size 1048576", "neighbour -part sleeper -size 16,1048576",
		"neighbour -part callers -size 32768 -callers 1,4096", // each with 4 GiB of C
	} {
		code, stdout, stderr := gemmbench(t, strings.Fields(args)...)
		if want := "gemmbench: neighbour: not enough memory: the operands "; code != cli.Usage || stdout != "" ||
			!strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q, want one line with %q", args, code, stdout, stderr, want)
		}
	}
}

// TestNeighbourInterrupted wants no call of any caller after an interrupt.
func TestNeighbourInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &neighbour{dtype: asm.F32, duration: time.Hour}
	calls := 0
	c := &neighbourCall{size: [3]int{8, 8, 8}, multiply: func(...gemm.Option) error { calls++; return nil }}
	cancel()
	if _, err := n.callers(ctx, c.size, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("the first call: %v", err)
	}
	n.burn(ctx, c, 1)
	n.crowd(ctx, []*neighbourCall{c}, bench.Machine{})
	if calls > 0 {
		t.Errorf("%d calls", calls)
	}
}

// TestNeighbourLong wants only long products to end with the context.
func TestNeighbourLong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for n, want := range map[int]error{1024: nil, 2048: context.Canceled} {
		c := newCall(ctx, [3]int{n, n, n}, productsOf[float32, float32]([3]int{8, 8, 8})())
		if c.call(alone); !errors.Is(c.err, want) {
			t.Errorf("%d³: %v, want %v", n, c.err, want)
		}
	}
}

func TestNeighbourParts(t *testing.T) {
	rep := neighbourOf(t, "-part", "Burn", "-size", "16", "-workers", "1")
	if len(rep.Sleepers) != 0 || len(rep.Burns) != 1 || len(rep.Crowds) != 0 || rep.Workers != 1 {
		t.Errorf("%+v", rep)
	}
	if rep := neighbourOf(t, "-part", "burn", "-size", "16", "-dtype", "F64"); rep.DType != "f64" ||
		rep.Burns[0].Calls < 1 {
		t.Errorf("%+v", rep)
	}
	stdout := succeed(t, "neighbour", "-size", "32", "-callers", "3", "-duration", "50ms", "-dtype", "f16")
	for _, want := range []string{"sleeper: ", "beside", "nothing", "burn: one call every 150µs", "helpers' cores",
		"callers: ", "32³", "one worker each", "by default, for "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}
