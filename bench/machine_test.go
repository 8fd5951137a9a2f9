package bench

import "testing"

func TestPhysicalCores(t *testing.T) {
	for _, test := range []struct{ counted, threads, want int }{
		{2, 4, 2}, {4, 4, 4}, {254, 2, 0}, {0, 4, 0}, {-1, 4, 0},
	} {
		if got := physicalCores(test.counted, test.threads); got != test.want {
			t.Errorf("%d cores counted, %d threads: %d, want %d", test.counted, test.threads, got, test.want)
		}
	}
	if m := ThisMachine(); m.Cores < 0 || m.Cores > m.Threads {
		t.Errorf("%d cores, %d threads", m.Cores, m.Threads)
	}
}
