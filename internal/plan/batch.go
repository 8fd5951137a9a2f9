package plan

import "example.com/leafhopper/barrier"

// A Batch is what decisions know of products that are computed in one call: those of them that one worker would compute
// by itself.
type Batch struct {
	Products       int
	flops, largest float64 // of all, and of one
	counted        float64 // as which they count where it takes longer to bring B
}

// Flops returns the flops of all.
func (b *Batch) Flops() float64 { return b.flops }

// Add adds q, of which a tiny one is on no machine.
func (b *Batch) Add(q *Problem) {
	flops := q.Flops()
	b.Products++
	b.flops, b.largest = b.flops+flops, max(b.largest, flops)
	if q.On != nil {
		flops = q.counted(Many)
	}
	b.counted += flops
}

const (
	// Workers who share a product are taken to keep their processors busy for this part of the time: 512³ of float32 on
	// 16 vCPUs of an Emerald Rapids for 0.78, of bf16 for 0.47 (docs/machines/emerald-rapids.md).
	busyShare = 0.75
	// Flops that are worth a claim of a slab, a hundredth of their time in float32 with AVX-512.
	claimFlops = 1 << 20
)

// Whole reports whether all are done sooner if each is one worker's than if workers share one after the other.
func (b *Batch) Whole(workers int) bool {
	mean := b.flops / float64(max(1, b.Products))
	rounds := float64(CeilDiv(b.Products, workers)) // of one product for every worker
	return max(b.largest, rounds*mean) <= b.flops/float64(workers)/busyShare
}

// Slabs returns as how many slabs workers claim them, each of some that follow each other; 1 if to hand them over takes
// longer than it saves.
func (b *Batch) Slabs(on *Tuning, workers int) int {
	if workers == 1 || b.counted <= on.shared[CrowdOf(workers)] {
		return 1
	}
	return min(b.Products, barrier.MaxCount, max(slabsEach*workers, int(b.counted/claimFlops)))
}
