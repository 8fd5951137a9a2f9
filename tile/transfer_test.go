package tile

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/leafhopper/barrier"
)

// A shuffled transfer puts every unit once at every receiver, each piece before
// its bytes complete, in pieces and orders that differ from seed to seed.
func TestTransferPieces(t *testing.T) {
	const units, unit, receivers = 12, 16, 3
	orders := map[[receivers * units]int]bool{}
	split := false
	for seed := range uint64(60) {
		bars := make([]barrier.Barrier, receivers)
		var to []receiver
		for i := range bars {
			if err := bars[i].Init(1); err != nil {
				t.Fatal(err)
			}
			bars[i].ExpectTx(units * unit)
			to = append(to, receiver{mem: make([]byte, units), bar: &bars[i]})
		}
		d := newTransfer(units, unit, to)
		d.fetch = func() []byte { return nil }
		var order [receivers * units]int
		step := 0
		d.put = func(dst, _ []byte, lo, hi int) {
			to := slices.IndexFunc(to, func(r receiver) bool { return &r.mem[0] == &dst[0] })
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
				t.Errorf("seed %d: barrier at %d bytes with %d units missing and %d about to be signalled", seed, got,
					left, hi-lo)
			}
			split = split || hi-lo < units
		}
		d.spread(rand.New(rand.NewPCG(seed, 0)))
		for i := range bars {
			if s := bars[i].State(); s.Tx != 0 || slices.ContainsFunc(to[i].mem, func(v byte) bool { return v != 1 }) {
				t.Errorf("seed %d: receiver %d has %v and units %v", seed, i, s, to[i].mem)
			}
		}
		orders[order] = true
	}
	if !split || len(orders) < 50 {
		t.Errorf("%d orders from 60 seeds, split into pieces: %v", len(orders), split)
	}
}

// An Execute is given every transfer, and decides when it lands: here all but the stores
// at once, and those when a wait needs them.
func TestExecute(t *testing.T) {
	s, _ := NewShared(4096)
	g := Global{Bytes: make([]byte, 4096)}
	for i := range g.Bytes {
		g.Bytes[i] = byte(i * 7)
	}
	b, _ := barrier.New(1)
	var loads, stores int
	th := Thread{Execute: func(c *Transfer) {
		if c.Grouped() {
			stores++
			return
		}
		loads++
		c.Split(rand.New(rand.NewPCG(1, 2)))
		for c.Step() {
		}
		c.Finish()
	}}
	b.ExpectTx(1024)
	if err := th.LoadBulk(s, 0, g, 512, 1024, b); err != nil {
		t.Fatal(err)
	}
	if tx := b.State().Tx; tx != 0 || !slices.Equal(s.Bytes()[:1024], g.Bytes[512:1536]) {
		t.Errorf("after the load, by the caller's own goroutine, %d bytes are missing", tx)
	}
	if err := th.StoreBulk(g, 2048, s, 0, 1024); err != nil {
		t.Fatal(err)
	}
	if th.Open() != 1 {
		t.Errorf("%d transfers are not committed, want 1", th.Open())
	}
	th.CommitGroup()
	th.WaitGroup(0)
	if th.Open() != 0 || !slices.Equal(g.Bytes[2048:3072], g.Bytes[512:1536]) {
		t.Error("the store has not landed")
	}
	if loads != 1 || stores != 1 {
		t.Errorf("Execute was given %d loads and %d stores, want one of each", loads, stores)
	}
}

// After Read a source is the caller's again, whatever copies it.
func TestTransferRead(t *testing.T) {
	s, err := NewShared(64)
	if err != nil {
		t.Fatal(err)
	}
	var issued *Transfer
	th := Thread{Execute: func(c *Transfer) { issued = c }}
	for name, issue := range map[string]func(src []byte, b *barrier.Barrier) error{
		"LoadBulk":   func(src []byte, b *barrier.Barrier) error { return th.LoadBulk(s, 0, Global{Bytes: src}, 0, 16, b) },
		"CopyAsync":  func(src []byte, b *barrier.Barrier) error { return th.CopyAsync(s, 0, src, b) },
		"StoreAsync": func(src []byte, b *barrier.Barrier) error { return th.StoreAsync(s, 0, src, b) },
	} {
		for _, pieces := range []bool{false, true} {
			src := bytes.Repeat([]byte{1}, 16)
			b, _ := barrier.New(1)
			b.ArriveExpectTx(16)
			clear(s.Bytes())
			if err := issue(src, b); err != nil {
				t.Fatal(err)
			}
			if pieces {
				issued.Split(rand.New(rand.NewPCG(3, 4)))
				issued.Step()
			} else {
				issued.Read()
			}
			for i := range src {
				src[i] = 9
			}
			issued.Finish()
			if got := s.Bytes()[:16]; !bytes.Equal(got, bytes.Repeat([]byte{1}, 16)) || !b.TestWaitParity(0) {
				t.Errorf("%s, in pieces %v: %v landed, want what was read", name, pieces, got)
			}
		}
	}
}
