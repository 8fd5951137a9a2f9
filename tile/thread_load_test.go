package tile_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// Every kind of asynchronous load leaves what its synchronous form leaves once
// its barriers have completed, however it is shuffled, and completes exactly
// its bytes.
func TestThreadLoadsMatchSynchronous(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 51))
		var th tile.Thread
		if seed > 0 {
			th.Shuffle(seed)
		}
		cfg := randomConfig(r)
		m := newMap(t, cfg)
		size, from := 16*r.IntN(40), 16*r.IntN(9)
		g := tile.Global{Bytes: make([]byte, 1024)}
		randomBytes(r, g.Bytes)
		offset, n := 128*r.IntN(9), 1+r.IntN(4)
		c, bars := newCluster(t, r, n, offset+max(m.SharedBytes(), size)+1024)
		src := newShared(t, 1024)
		randomBytes(r, src.Bytes())
		mask := uint16(r.IntN(1<<n)) | 1
		coord := randomCoord(r, cfg, -1<<20)
		twin := make(tile.Cluster, n)
		for i := range twin {
			twin[i] = newShared(t, len(c[i].Bytes()))
			copy(twin[i].Bytes(), c[i].Bytes())
		}

		var sync, async error
		bytesDone := size
		kind := r.IntN(6)
		if kind != 1 && kind != 3 {
			mask = 1
		}
		if kind < 2 {
			bytesDone = m.BoxBytes()
		}
		for i := range bars {
			if mask>>i&1 == 1 {
				bars[i].ArriveExpectTx(bytesDone)
			}
		}
		switch kind {
		case 0:
			sync = tile.Load(twin[0], offset, m, coord, nil)
			async = th.Load(c[0], offset, m, coord, &bars[0])
		case 1:
			sync = twin.LoadMulticast(mask, offset, m, coord, nil)
			async = th.LoadMulticast(c, mask, offset, m, coord, bars)
		case 2:
			sync = tile.LoadBulk(twin[0], offset, g, from, size, nil)
			async = th.LoadBulk(c[0], offset, g, from, size, &bars[0])
		case 3:
			sync = twin.LoadBulkMulticast(mask, offset, g, from, size, nil)
			async = th.LoadBulkMulticast(c, mask, offset, g, from, size, bars)
		case 4:
			sync = tile.CopyBulk(twin[0], offset, src, from, size, nil)
			async = th.CopyBulk(c[0], offset, src, from, size, &bars[0])
		case 5:
			sync = tile.ReduceShared(twin[0], offset, tile.ReduceAdd, tile.Uint64, src, from, size, nil)
			async = th.ReduceShared(c[0], offset, tile.ReduceAdd, tile.Uint64, src, from, size, &bars[0])
		}
		if sync != nil || async != nil {
			t.Fatal(sync, async)
		}
		clear(coord) // the caller's again
		for i := range c {
			if mask>>i&1 == 1 {
				bars[i].WaitParity(0)
			}
			if s := bars[i].State(); s.Tx != 0 || s.Phase != int(mask>>i&1) {
				t.Fatalf("seed %d, kind %d: barrier of CTA %d: %v", seed, kind, i, s)
			}
			if d := firstDiff(c[i].Bytes(), twin[i].Bytes()); d >= 0 {
				t.Fatalf("seed %d, kind %d: byte %d of CTA %d is %#x, synchronously %#x", seed, kind, d, i,
					c[i].Bytes()[d], twin[i].Bytes()[d])
			}
		}
	}
}

// A multicast to nobody is over when it is issued: no barrier tells when its source has
// been read. The race detector finds one that reads it.
func TestThreadLoadToNobody(t *testing.T) {
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	m, g := newMap(t, cfg), tile.Global{Bytes: cfg.Global}
	c, bars := newCluster(t, rand.New(rand.NewPCG(1, 1)), 2, 4096)
	var plain, shuffled tile.Thread
	shuffled.Shuffle(1)
	for _, th := range []*tile.Thread{&plain, &shuffled} {
		for range 50 {
			if err := th.LoadBulkMulticast(c, 0, 0, g, 0, 1024, bars); err != nil {
				t.Fatal(err)
			}
			if err := th.LoadMulticast(c, 0, 0, m, []int32{0, 0}, bars); err != nil {
				t.Fatal(err)
			}
			for i := range cfg.Global {
				cfg.Global[i]++
			}
		}
	}
}

// Asynchronous loads find errors when they are issued and need a barrier.
func TestThreadLoadErrors(t *testing.T) {
	cfg := base()
	cfg.Global = make([]byte, 256*64)
	m, s, g := newMap(t, cfg), newShared(t, 1024), tile.Global{Bytes: cfg.Global}
	c, bars := newCluster(t, rand.New(rand.NewPCG(1, 1)), 2, 1024)
	coord := []int32{0, 0}
	var th tile.Thread
	for _, e := range []struct {
		want string
		err  error
	}{
		{"load: barrier is nil", th.Load(s, 0, m, coord, nil)},
		{"load: inner coordinate 4", th.Load(s, 0, m, []int32{4, 0}, &bars[0])},
		{"multicast: barrier is nil", th.LoadMulticast(c, 3, 0, m, coord, nil)},
		{"multicast: mask 0b100 names", th.LoadMulticast(c, 4, 0, m, coord, bars)},
		{"bulk load: barrier is nil", th.LoadBulk(s, 0, g, 0, 16, nil)},
		{"bulk load: size 8", th.LoadBulk(s, 0, g, 0, 8, &bars[0])},
		{"bulk multicast: barrier is nil", th.LoadBulkMulticast(c, 3, 0, g, 0, 16, nil)},
		{"bulk multicast: source address", th.LoadBulkMulticast(c, 3, 0, g, 8, 16, bars)},
		{"bulk copy: barrier is nil", th.CopyBulk(c[0], 0, c[1], 0, 16, nil)},
		{"bulk copy: 32 bytes at source offset 16 and destination offset 0 overlap",
			th.CopyBulk(c[0], 0, c[0], 16, 32, &bars[0])},
		{"load: tensor map is nil", th.Load(s, 0, nil, coord, &bars[0])},
		{"multicast: tensor map is nil", th.LoadMulticast(c, 3, 0, nil, coord, bars)},
		{"shared reduce: barrier is nil", th.ReduceShared(c[0], 0, tile.ReduceAdd, tile.Uint32, c[1], 0, 16, nil)},
		{"shared reduce: ReduceAdd is not defined for Float32",
			th.ReduceShared(c[0], 0, tile.ReduceAdd, tile.Float32, c[1], 0, 16, &bars[0])},
	} {
		if e.err == nil || !strings.HasPrefix(e.err.Error(), "tile: "+e.want) {
			t.Errorf("error %v, want %q", e.err, e.want)
		}
	}
	for i := range bars {
		if s := bars[i].State(); s.Tx != 0 || s.Phase != 0 {
			t.Errorf("barrier %d: %v", i, s)
		}
	}
}

// A cluster of CTAs, a producer and a consumer goroutine in each, works a ring:
// CTA i fetches slice i of every tile and multicasts it to all; each consumer
// adds up what it got, reduces its sum into CTA 0's shared memory and the tile
// into global memory. The race detector sees every copy.
func TestClusterOfThreads(t *testing.T) {
	const (
		ctas, depth, tiles = 4, 2, 12
		slice              = 64 // bytes
		stage              = ctas * slice
	)
	r := rand.New(rand.NewPCG(61, 62))
	in := tile.Global{Bytes: make([]byte, tiles*stage)}
	out := tile.Global{Bytes: make([]byte, tiles*stage)}
	randomBytes(r, in.Bytes)
	cluster, _ := newCluster(t, r, ctas, depth*stage+32)
	full := make([][]barrier.Barrier, depth)  // one for each CTA
	empty := make([][]barrier.Barrier, depth) // each waits for the consumers of all
	for i := range depth {
		full[i], empty[i] = make([]barrier.Barrier, ctas), make([]barrier.Barrier, ctas)
		for k := range ctas {
			if full[i][k].Init(1) != nil || empty[i][k].Init(ctas) != nil {
				t.Fatal("Init")
			}
		}
	}
	total := newBarrier(t)
	total.ArriveExpectTx(ctas * 16)
	clear(cluster[0].Bytes()[depth*stage:])

	var wg sync.WaitGroup
	for rank := range ctas {
		wg.Go(func() { // producer
			var th tile.Thread
			th.Shuffle(uint64(rank))
			for k := range tiles {
				s, phase := k%depth, uint32(k/depth)
				empty[s][rank].WaitParity(phase + 1)
				full[s][rank].ArriveExpectTx(stage)
				at := rank * slice
				if err := th.LoadBulkMulticast(cluster, 1<<ctas-1, s*stage+at, in, k*stage+at, slice,
					full[s]); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() { // consumer
			var th tile.Thread
			th.Shuffle(uint64(rank) + 100)
			sum, mem := uint32(0), cluster[rank].Bytes()
			for k := range tiles {
				s, phase := k%depth, uint32(k/depth)
				full[s][rank].WaitParity(phase)
				for i := s * stage; i < (s+1)*stage; i += 4 {
					sum += binary.LittleEndian.Uint32(mem[i:])
				}
				if err := th.ReduceBulk(out, k*stage, tile.ReduceAdd, tile.Uint32, cluster[rank], s*stage,
					stage); err != nil {
					t.Error(err)
				}
				th.CommitGroup()
				th.WaitGroupRead(0)
				for to := range ctas {
					empty[s][to].Arrive()
				}
			}
			th.WaitGroup(0)
			mine := mem[depth*stage+16:]
			clear(mine)
			binary.LittleEndian.PutUint32(mine, sum)
			if err := th.ReduceShared(cluster[0], depth*stage, tile.ReduceAdd, tile.Uint32, cluster[rank],
				depth*stage+16, 16, total); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	total.WaitParity(0)

	sum := uint32(0)
	for i := 0; i < len(in.Bytes); i += 4 {
		w := binary.LittleEndian.Uint32(in.Bytes[i:])
		sum += w
		if got := binary.LittleEndian.Uint32(out.Bytes[i:]); got != ctas*w {
			t.Fatalf("word %d of the output is %#x, want %d times %#x", i/4, got, ctas, w)
		}
	}
	if got := binary.LittleEndian.Uint32(cluster[0].Bytes()[depth*stage:]); got != ctas*sum {
		t.Errorf("the sum is %#x, want %d times %#x", got, ctas, sum)
	}
}

// Reductions into the shared memory of one CTA by many lose nothing.
func TestReduceSharedIsAtomic(t *testing.T) {
	const workers, rounds, size = 4, 50, 5000 &^ 15
	dst := newShared(t, size)
	ones := bytes.Repeat([]byte{1, 0, 0, 0}, size/4)
	var wg sync.WaitGroup
	for range workers {
		src := newShared(t, size)
		copy(src.Bytes(), ones)
		wg.Go(func() {
			for range rounds {
				if err := tile.ReduceShared(dst, 0, tile.ReduceAdd, tile.Uint32, src, 0, size, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if want := bytes.Repeat([]byte{workers * rounds, 0, 0, 0}, size/4); !slices.Equal(dst.Bytes(), want) {
		t.Errorf("byte %d differs", firstDiff(dst.Bytes(), want))
	}
}
