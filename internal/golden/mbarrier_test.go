package golden

import (
	"slices"
	"testing"
)

func TestScripts(t *testing.T) {
	const scripts = "init 1 0 ; arrive 0 7ffff80000000000 ; test_wait 1 1 ; pending_count 1 5\ninit 1048575 0\n"
	got, err := ParseScripts([]byte(scripts))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]BarrierOp{
		{{"init", 1, 0}, {"arrive", 0, 0x7ffff80000000000}, {"test_wait", 1, 1}, {"pending_count", 1, 5}},
		{{"init", 1048575, 0}},
	}
	if len(got) != 2 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
		t.Errorf("ParseScripts = %v, want %v", got, want)
	}
}

func TestScriptsAreStrict(t *testing.T) {
	for _, line := range []string{
		"", "init 1", "init 1 0 0", "init 1 0; arrive 0 0", "arrive 0 0", "init 1 0 ; init 1 0",
		"init 1 0 ; jump 0 0", "init 1 0 ; arrive 1 0", "init -1 0", "init 1048576 0", "init x 0", "init 1 g",
		"init 1 1",
		"init 1 0 ; test_wait_parity 0 2", "init 1 0 ; test_wait 0 0", "init 1 0 ; test_wait 1 0",
		"init 1 0 ; pending_count 2 0 ; arrive 0 0", "init 1 0 ; arrive 0 0 ; pending_count 1 100000",
		"init 1 0 ; expect_tx 1 1", "init 1 0 ; ",
	} {
		if ops, err := ParseScripts([]byte("init 1 0\n" + line + "\n")); err == nil {
			t.Errorf("ParseScripts accepted %q: %v", line, ops)
		}
	}
	for _, text := range []string{"", "init 1 0"} {
		if _, err := ParseScripts([]byte(text)); err == nil {
			t.Errorf("ParseScripts accepted %q, which ends in no newline", text)
		}
	}
}

func FuzzScripts(f *testing.F) {
	f.Add([]byte("init 1 0 ; arrive 0 7ffff80000000000 ; test_wait 1 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		scripts, err := ParseScripts(data)
		if err != nil {
			return
		}
		for _, ops := range scripts {
			for i, op := range ops {
				if (op.Name == "init") != (i == 0) || (op.Name == "test_wait" || op.Name == "pending_count") &&
					op.Arg >= i {
					t.Fatalf("op %d of %v", i, ops)
				}
			}
		}
	})
}
