package tile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/barrier"
)

// A shuffled delivery puts every unit once at every receiver, each piece before
// its bytes complete, in pieces and orders that differ from seed to seed.
func TestDeliveryPieces(t *testing.T) {
	const units, unit, receivers = 12, 16, 3
	orders := map[[receivers * units]int]bool{}
	split := false
	for seed := range uint64(60) {
		bars := make([]barrier.Barrier, receivers)
		d := delivery{n: units, unit: unit, fetch: func() []byte { return nil }}
		for i := range bars {
			if err := bars[i].Init(1); err != nil {
				t.Fatal(err)
			}
			bars[i].ExpectTx(units * unit)
			d.to = append(d.to, receiver{mem: make([]byte, units), bar: &bars[i]})
		}
		var order [receivers * units]int
		step := 0
		d.put = func(dst, _ []byte, lo, hi int) {
			to := slices.IndexFunc(d.to, func(r receiver) bool { return &r.mem[0] == &dst[0] })
			left := 0
			for i := range dst {
				if i >= lo && i < hi {
					dst[i]++
					order[step] = to*units + i
					step++
				}
				left += int(1 - dst[i])
			}
			// The piece is written and not signalled yet.
			if got := bars[to].State().Tx; got != (left+hi-lo)*unit {
				t.Errorf("seed %d: barrier at %d bytes with %d units missing and %d about to be signalled", seed, got, left, hi-lo)
			}
			split = split || hi-lo < units
		}
		d.runShuffled(rand.New(rand.NewPCG(seed, 0)))
		for i := range bars {
			if s := bars[i].State(); s.Tx != 0 || slices.ContainsFunc(d.to[i].mem, func(v byte) bool { return v != 1 }) {
				t.Errorf("seed %d: receiver %d has %v and units %v", seed, i, s, d.to[i].mem)
			}
		}
		orders[order] = true
	}
	if !split || len(orders) < 50 {
		t.Errorf("%d orders from 60 seeds, split into pieces: %v", len(orders), split)
	}
}
