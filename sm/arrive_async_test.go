package sm_test

import (
	"testing"

	"example.com/leafhopper/sm"
)

// TestArriveAsyncMisuse has copies whose end arrives where it must not, or where nobody waits for it.
func TestArriveAsyncMisuse(t *testing.T) {
	src, pair := ramp(64), sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}}
	for _, c := range []struct {
		name string
		f    func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier)
		rule sm.Rule
		want []string
	}{
		{"once too often", func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) {
			bar.Init(t, 2)
			bar.ExpectTx(t, 4)
			bar.Arrive(t)
			for range 2 {
				bar.ArriveAsyncNoInc(t)
			}
			bar.WaitParity(t, 0)
		}, sm.RuleBarrier, []string{", arrival issued by thread 0 at", "ArriveAsyncNoInc: bar ", "arrival underflow"}},
		{"Init counts what has been added", func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) {
			bar.Init(t, 2)
			sm.MemcpyAsync(t, x, src[:1], nil)
			bar.ArriveAsync(t)
			bar.ArriveAndWait(t)
		}, sm.RuleDeadlock, []string{"waits for bar phase 0: 1 of 2 arrivals missing"}},
		{"not initialised", func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) {
			sm.MemcpyAsync(t, x, src[:1], nil)
			bar.ArriveAsyncNoInc(t)
		}, sm.RuleBarrier, []string{": ArriveAsyncNoInc: "}},
		{"a peer's", func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) {
			bar.Init(t, 1)
			t.ClusterSync()
			bar.MapShared(1 - t.Block().ClusterRank()).ArriveAsync(t)
		}, sm.RuleBarrier, []string{": ArriveAsync: bar is a barrier of CTA ("}},
		{"nobody waits", func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) {
			bar.Init(t, 1)
			sm.MemcpyAsync(t, x, src[:1], nil)
			bar.ArriveAsyncNoInc(t)
		}, sm.RuleExit, []string{"which nobody has seen complete"}},
		{"a copy behind the arrival", func(t *sm.Thread, x *sm.Array[int32], bar *sm.Barrier) {
			bar.Init(t, 1)
			sm.MemcpyAsync(t, x, src[:1], nil)
			bar.ArriveAsyncNoInc(t)
			sm.MemcpyAsync(t, x.At(1), src[:1], nil)
			bar.WaitParity(t, 0)
		}, sm.RuleExit, []string{": MemcpyAsync: nobody has waited for the copy"}},
	} {
		for _, m := range modes {
			t.Run(c.name+"/"+mode(m), func(t *testing.T) {
				faultOf(t, launch(t, in(m, pair), func(b *sm.Block) {
					x, bar := sm.Shared[int32](b, 64, 16), b.Barrier()
					b.Threads(func(t *sm.Thread) { c.f(t, x, bar) })
				}), c.rule, c.want...)
			})
		}
	}
}
