package sm_test

import (
	"strings"
	"testing"

	"example.com/leafhopper/sm"
)

// A partitioned cuda::pipeline is a ring of {producers, consumers}: three threads fill a
// stage, a part each, two read all of it.
func TestPipelineIsARing(t *testing.T) {
	const stages, items, producers, threads = 3, 20, 3, 5
	role := func(rank int) sm.Role {
		if rank < producers {
			return sm.Producer
		}
		return sm.Consumer
	}
	for _, check := range []bool{false, true} {
		for _, short := range []bool{false, true} { // one producer leaves a stage too early
			source := []int32{0}
			err := sm.Launch(t.Context(), sm.Config{Block: sm.Dim3{X: threads}, Check: check}, func(b *sm.Block) {
				mem := sm.Shared[int32](b, stages*producers, 16)
				ends := b.Pipeline(stages, role)
				b.Threads(func(th *sm.Thread) {
					rank := th.Rank()
					p := ends[rank]
					for item := range items {
						at := item % stages * producers
						if rank < producers {
							if short && rank == 1 && item == items-1 {
								return
							}
							p.ProducerAcquire()
							sm.MemcpyAsync(th, mem.Slice(at+rank, at+rank+1), source, p)
							p.ProducerCommit()
							continue
						}
						p.ConsumerWait()
						for part := range producers {
							if got := mem.Load(th, at+part); got != source[0] {
								t.Errorf("item %d, part %d: %d", item, part, got)
							}
						}
						p.ConsumerRelease()
					}
				})
			})
			switch {
			case !short && err != nil:
				t.Errorf("check %t: %v", check, err)
			case short && (err == nil || !strings.Contains(err.Error(), ".full[1]") ||
				!strings.Contains(err.Error(), "1 of 3 arrivals missing")):
				t.Errorf("check %t: a producer left a stage early: %v", check, err)
			}
		}
	}
}
