package tile_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// newCluster returns n shared memories of random bytes and a barrier for each,
// one arrival a phase.
func newCluster(t testing.TB, r *rand.Rand, n, size int) (tile.Cluster, []barrier.Barrier) {
	t.Helper()
	c := make(tile.Cluster, n)
	for i := range c {
		c[i] = newShared(t, size)
		randomBytes(r, c[i].Bytes())
	}
	return c, newBarriers(t, n)
}

// A multicast leaves in every CTA of the mask what a load leaves there, and
// completes its bytes on the barrier of each; other CTAs see nothing of it.
func TestMulticastMatchesLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range rounds(1000) {
		cfg := randomConfig(r)
		m := newMap(t, cfg)
		size := 16 * r.IntN(40)
		global := tile.Global{Bytes: make([]byte, 1024)}
		randomBytes(r, global.Bytes)
		offset, at, n := 128*r.IntN(9), 16*r.IntN(20), 1+r.IntN(16)
		c, bars := newCluster(t, r, n, offset+max(m.SharedBytes(), size)+16)
		coord := randomCoord(r, cfg, -1<<20)
		mask := uint16(r.IntN(1 << n))
		want := make([][]byte, n)
		for i := range c {
			want[i] = slices.Clone(c[i].Bytes())
		}
		for bulk := range 2 {
			var err error
			sent := m.BoxBytes()
			if bulk == 1 {
				sent = size
				err = c.LoadBulkMulticast(mask, offset, global, at, size, bars)
			} else {
				err = c.LoadMulticast(mask, offset, m, coord, bars)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range c {
				single := newShared(t, len(want[i]))
				copy(single.Bytes(), want[i])
				tx := 0
				if mask>>i&1 == 1 {
					tx = -sent
					if bulk == 1 {
						err = tile.LoadBulk(single, offset, global, at, size, nil)
					} else {
						err = tile.Load(single, offset, m, coord, nil)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if d := firstDiff(c[i].Bytes(), single.Bytes()); d >= 0 {
					t.Fatalf("mask %b: byte %d of CTA %d is %#x, a load leaves %#x", mask, d, i, c[i].Bytes()[d],
						single.Bytes()[d])
				}
				if got := bars[i].State().Tx; got != tx {
					t.Fatalf("mask %b: barrier of CTA %d is at %d bytes, want %d", mask, i, got, tx)
				}
				bars[i].ExpectTx(-tx)
				want[i] = single.Bytes()
			}
		}
	}
}

// A refused multicast writes and signals nowhere, even where it could.
func TestMulticastErrors(t *testing.T) {
	cfg := base()
	cfg.Global = bytes.Repeat([]byte{1}, 256*64)
	m := newMap(t, cfg)
	g := tile.Global{Bytes: cfg.Global}
	origin := []int32{0, 0}
	const tileOp, bulkOp = 1, 2
	for _, c := range []struct {
		ops    int
		change func(c *tile.Cluster, bars *[]barrier.Barrier)
		mask   uint16
		offset int
		m      *tile.TensorMap
		coord  []int32
		at     int
		want   string
	}{
		{ops: tileOp | bulkOp, mask: 0b1001, want: "mask 0b1001 names CTA 3 of a cluster of 3"},
		{ops: tileOp | bulkOp, mask: 1 << 15, want: "names CTA 15"},
		{ops: tileOp, mask: 7, offset: 64, want: "destination offset 64 is not a multiple of 128 (CTA 0)"},
		{ops: bulkOp, mask: 6, offset: 8, want: "destination offset 8 is not a multiple of 16 (CTA 1)"},
		{ops: tileOp | bulkOp, mask: 7, change: func(c *tile.Cluster, _ *[]barrier.Barrier) {
			(*c)[2] = newShared(t, 512)
		}, want: "beyond its 512 bytes (CTA 2)"},
		{ops: tileOp | bulkOp, mask: 7, change: func(c *tile.Cluster, _ *[]barrier.Barrier) { (*c)[1] = nil },
			want: "destination is nil (CTA 1)"},
		{ops: tileOp | bulkOp, mask: 7, change: func(_ *tile.Cluster, bars *[]barrier.Barrier) { *bars = (*bars)[:2] },
			want: "2 barriers for a cluster of 3 CTAs"},
		{ops: tileOp | bulkOp, mask: 7, change: func(c *tile.Cluster, _ *[]barrier.Barrier) {
			*c = slices.Grow(*c, 14)[:17]
		}, want: "cluster of 17 CTAs"},
		{ops: tileOp, mask: 7, m: newMap(t, base()), want: "no global memory"},
		{ops: tileOp, mask: 7, coord: []int32{4, 0}, want: "multicast: inner coordinate 4"},
		{ops: bulkOp, mask: 7, at: 8, want: "source address 0x8"},
		{ops: bulkOp, mask: 7, at: 256 * 64, want: "source offset 16384 end beyond"},
	} {
		for op := tileOp; op <= bulkOp; op++ {
			if c.ops&op == 0 {
				continue
			}
			cluster, bars := newCluster(t, rand.New(rand.NewPCG(1, 1)), 3, m.SharedBytes())
			for i, s := range cluster {
				clear(s.Bytes())
				bars[i].ExpectTx(1024)
			}
			all, allBars := slices.Clone(cluster), bars
			if c.change != nil {
				c.change(&cluster, &bars)
			}
			var err error
			if op == tileOp {
				useMap, coord := m, origin
				if c.m != nil {
					useMap = c.m
				}
				if c.coord != nil {
					coord = c.coord
				}
				err = cluster.LoadMulticast(c.mask, c.offset, useMap, coord, bars)
			} else {
				err = cluster.LoadBulkMulticast(c.mask, c.offset, g, c.at, 1024, bars)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			for i, s := range all {
				if !bytes.Equal(s.Bytes(), make([]byte, len(s.Bytes()))) || allBars[i].State().Tx != 1024 {
					t.Errorf("%q: CTA %d was written or signalled", c.want, i)
				}
			}
		}
	}
}

// Nil barriers signal nobody, an empty mask does nothing.
func TestMulticastWithoutReceivers(t *testing.T) {
	cfg := base()
	cfg.Global = bytes.Repeat([]byte{1}, 256*64)
	m := newMap(t, cfg)
	c, bars := newCluster(t, rand.New(rand.NewPCG(1, 1)), 2, m.SharedBytes())
	clear(c[0].Bytes())
	clear(c[1].Bytes())
	if err := c.LoadMulticast(0, 0, m, []int32{0, 0}, bars); err != nil {
		t.Fatal(err)
	}
	if c[0].Bytes()[0] != 0 || c[1].Bytes()[0] != 0 || bars[0].State().Tx != 0 || bars[1].State().Tx != 0 {
		t.Error("a multicast to nobody reached somebody")
	}
	if err := c.LoadMulticast(2, 0, m, []int32{0, 0}, nil); err != nil {
		t.Fatal(err)
	}
	if c[0].Bytes()[0] != 0 || c[1].Bytes()[0] != 1 {
		t.Error("mask 2 did not reach CTA 1 alone")
	}
}
