package tile_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/barrier"
	"example.com/leafhopper/tile"
)

// A barrier that cannot take the bytes of a copy is an error before a byte is written or another CTA's barrier, which
// comes first, is signalled. It says why.
func TestBarrierRefusesBytes(t *testing.T) {
	global := bytes.Repeat([]byte{7}, 4096)
	g := tile.Global{Bytes: global}
	m := newMap(t, tile.Config{DataType: tile.Uint8, Global: global, Dims: []uint64{4096}, Box: []uint32{256}})
	panel := newPanelMap(t, tile.PanelConfig{
		Kernel: portable(t, asm.F32), Type: asm.F32, Side: tile.SideB, Global: global, Rows: 16, K: 16, Stride: 64,
	})
	var th tile.Thread
	for name, copyTo := range map[string]func(c tile.Cluster, bars []barrier.Barrier) error{
		"load": func(c tile.Cluster, bars []barrier.Barrier) error {
			return tile.Load(c[1], 0, m, []int32{0}, &bars[1])
		},
		"multicast": func(c tile.Cluster, bars []barrier.Barrier) error {
			return c.LoadMulticast(3, 0, m, []int32{0}, bars)
		},
		"bulk load": func(c tile.Cluster, bars []barrier.Barrier) error {
			return tile.LoadBulk(c[1], 0, g, 0, 256, &bars[1])
		},
		"bulk multicast": func(c tile.Cluster, bars []barrier.Barrier) error {
			return c.LoadBulkMulticast(3, 0, g, 0, 256, bars)
		},
		"bulk copy": func(c tile.Cluster, bars []barrier.Barrier) error {
			return tile.CopyBulk(c[1], 0, c[2], 0, 256, &bars[1])
		},
		"shared reduce": func(c tile.Cluster, bars []barrier.Barrier) error {
			return tile.ReduceShared(c[1], 0, tile.ReduceAdd, tile.Uint32, c[2], 0, 256, &bars[1])
		},
		"panel box": func(c tile.Cluster, bars []barrier.Barrier) error {
			return panel.Load(c[1].Bytes(), 0, 16, 0, 16, bars[:2])
		},
		"load by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.Load(c[1], 0, m, []int32{0}, &bars[1])
		},
		"multicast by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.LoadMulticast(c, 3, 0, m, []int32{0}, bars)
		},
		"bulk load by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.LoadBulk(c[1], 0, g, 0, 256, &bars[1])
		},
		"bulk multicast by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.LoadBulkMulticast(c, 3, 0, g, 0, 256, bars)
		},
		"bulk copy by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.CopyBulk(c[1], 0, c[2], 0, 256, &bars[1])
		},
		"shared reduce by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.ReduceShared(c[1], 0, tile.ReduceAdd, tile.Uint32, c[2], 0, 256, &bars[1])
		},
		"async copy by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.CopyAsync(c[1], 0, global[:5], &bars[1])
		},
		"async store by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.StoreAsync(c[1], 0, global[:4], &bars[1])
		},
		"async reduce by a thread": func(c tile.Cluster, bars []barrier.Barrier) error {
			return th.ReduceAsync(c[1], 0, tile.ReduceAdd, tile.Uint32, global[:4], &bars[1])
		},
	} {
		for why, spoil := range map[string]func(b *barrier.Barrier){
			"barrier not initialized":   nil,
			"barrier invalidated":       func(b *barrier.Barrier) { b.Invalidate() },
			"every participant dropped": func(b *barrier.Barrier) { b.ArriveDrop() },
			fmt.Sprintf("take the balance from %d to", 3-barrier.MaxTx): func(b *barrier.Barrier) {
				b.CompleteTx(barrier.MaxTx - 3)
			},
		} {
			c := tile.Cluster{newShared(t, 2048), newShared(t, 2048), newShared(t, 256)}
			for i := range c[2].Bytes() {
				c[2].Bytes()[i] = 1
			}
			bars := make([]barrier.Barrier, 3)
			for i := range bars {
				if i != 1 || spoil != nil {
					bars[i].Init(1)
				}
			}
			bars[0].ExpectTx(256)
			if spoil != nil {
				spoil(&bars[1])
			}
			before := bars[1].State()
			err := copyTo(c, bars)
			want := "tile: " + strings.TrimSuffix(name, " by a thread") + ": barrier: CompleteTx: "
			var misuse *barrier.Misuse
			var ofCopy *tile.Misuse
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), why) ||
				!errors.As(err, &misuse) || errors.As(err, &ofCopy) {
				t.Errorf("%s: error %v, want %q and %q in it", name, err, want, why)
			}
			if strings.Contains(name, "multicast") && !strings.HasSuffix(err.Error(), " (CTA 1)") {
				t.Errorf("%s: error %v does not name CTA 1", name, err)
			}
			for i, s := range c[:2] {
				if !bytes.Equal(s.Bytes(), make([]byte, 2048)) {
					t.Errorf("%s: %v, and CTA %d was written", name, err, i)
				}
			}
			if tx := bars[0].State().Tx; tx != 256 || bars[1].State() != before {
				t.Errorf("%s: %v, and barriers went from 256 bytes to %d, from %v to %v", name, err, tx, before,
					bars[1].State())
			}
		}
	}
}

// Who executes the copies of a thread lands them when their barrier can take the bytes.
func TestBarrierOfExecutedCopy(t *testing.T) {
	s, bars := newShared(t, 64), newBarriers(t, 1)
	bars[0].CompleteTx(barrier.MaxTx)
	var issued *tile.Transfer
	th := tile.Thread{Execute: func(c *tile.Transfer) { issued = c }}
	if err := th.LoadBulk(s, 0, tile.Global{Bytes: []byte("the sixteen bytes")}, 0, 16, &bars[0]); err != nil {
		t.Fatal(err)
	}
	bars[0].ExpectTx(16)
	issued.Finish()
	if got, tx := string(s.Bytes()[:16]), bars[0].State().Tx; got != "the sixteen byte" || tx != -barrier.MaxTx {
		t.Errorf("landed %q, balance %d", got, tx)
	}
}
