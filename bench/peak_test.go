package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/leafhopper/asm"
)

func TestPeak(t *testing.T) {
	for _, k := range asm.Kernels() {
		var got float64
		var err error
		for tries := 0; tries < 100 && got == 0 && err == nil; tries++ { // others may have had the core all the time
			got, err = Peak(t.Context(), k, 1, 2*time.Millisecond)
		}
		if unsupported := k.Supported(); unsupported != nil {
			if !errors.Is(err, unsupported) {
				t.Errorf("%s: error %v, want %v", k.Name, err, unsupported)
			}
			continue
		}
		if err != nil || got < 1e6 || got > 1e14 {
			t.Errorf("%s: %v flop/s, %v", k.Name, got, err)
		}
	}
	k, err := asm.Select(asm.F32, "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Peak(t.Context(), k, 0, time.Millisecond); err == nil {
		t.Error("0 workers: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Peak(ctx, k, 2, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	rep, err := ReportPeaks(t.Context(), []*asm.Kernel{k}, []int{1, 3}, 2)
	if err != nil || len(rep.Peak) != 2 {
		t.Fatalf("ReportPeaks: %+v, %v", rep, err)
	}
	for i, p := range rep.Peak {
		if p.Kernel != "go" || p.Workers != []int{1, 3}[i] || len(p.Samples) != 2 ||
			p.GFLOPS != max(p.Samples[0], p.Samples[1]) {
			t.Errorf("%+v", p)
		}
		if p.GHz < 0.1 || p.GHz > 20 || p.FlopPerCycle < 0.1 || p.CPUShare < 0 || p.CPUShare > 1 {
			t.Errorf("%+v", p)
		}
	}
}
