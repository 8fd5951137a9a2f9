package sm_test

import (
	"testing"
	"time"

	"example.com/leafhopper/internal/hostile"
	"example.com/leafhopper/sm"
)

// Contexts that break their contract end their own launch, or not, and nothing else.
func TestHostileContext(t *testing.T) {
	for _, k := range hostile.Kinds() {
		for _, check := range []bool{false, true} {
			for _, asked := range []int{0, 1, 3} {
				ctx := k.New(asked)
				timer := time.AfterFunc(time.Millisecond, ctx.Turn)
				got := hostile.Call(func() error {
					return sm.Launch(ctx, sm.Config{Grid: sm.Dim3{X: 20}, Block: sm.Dim3{X: 64},
						Check: check}, func(b *sm.Block) {
						b.Threads(func(t *sm.Thread) { t.SyncThreads() })
					})
				})
				timer.Stop()
				if got.Err == nil && got.Panic == nil && !got.Exit {
					continue // it was over before
				}
				if err := sm.Launch(t.Context(), sm.Config{Check: check}, func(*sm.Block) {}); err != nil {
					t.Fatalf("%s: the launch after it: %v", k.Name, err)
				}
			}
		}
	}
}
