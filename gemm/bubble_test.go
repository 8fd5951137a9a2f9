package gemm_test

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"

	"example.com/leafhopper/gemm"
)

// bubbleCase is the environment variable that names the case of TestBubble that a process of its own runs.
const bubbleCase = "GEMM_BUBBLE_CASE"

// TestBubble makes products of a process in bubbles of testing/synctest and outside of them, in several orders. What
// the runtime finds wrong with a channel of a bubble ends the process, so each order has one.
func TestBubble(t *testing.T) {
	const size, calls = 128, 5
	a := gemm.NewMatrix[float32](size, size)
	multiply := func(t *testing.T, n int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := gemm.NewMatrix[float32](size, size)
		for range n {
			for _, opt := range []gemm.Option{gemm.WithContext(ctx), gemm.WithDepth(2)} {
				if err := gemm.Multiply(c, a, a, gemm.WithWorkers(3), opt); err != nil {
					t.Error(err)
				}
			}
		}
	}
	inBubble := func(n int) { synctest.Test(t, func(t *testing.T) { multiply(t, n) }) }
	cases := map[string]func(){
		"first in a bubble": func() { inBubble(1); multiply(t, 1); inBubble(1) },
		"in turns": func() {
			for range 5 {
				multiply(t, calls)
				inBubble(calls)
			}
		},
		"at once": func() {
			var outside sync.WaitGroup
			for range 3 {
				outside.Go(func() { multiply(t, 3*calls) })
			}
			inBubble(3 * calls)
			outside.Wait()
		},
	}
	if run, child := cases[os.Getenv(bubbleCase)]; child {
		run()
		return
	}
	for name := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBubble$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), bubbleCase+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%.900s", err, out)
			}
		})
	}
}
