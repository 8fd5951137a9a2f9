package replay

import (
	"context"
	"fmt"
	"math"
	"strings"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/sm"
)

// BankWavefronts has a warp of package sm do a record, in the mode of cfg, and says how the wavefronts that sm.Banks
// counts differ from the GPU's, or "".
func BankWavefronts(r *golden.BankAccess, cfg sm.Config) (string, error) {
	return banks(r, cfg, "wavefronts", 0)
}

// BankCycles is BankWavefronts of cycles, of which there is one for each wavefront, but some at least.
func BankCycles(r *golden.BankAccess, cfg sm.Config) (string, error) {
	least := 0
	switch r.Op {
	case "ld.shared.v2.u32", "ld.shared.v4.u32":
		if least = r.Size() / 4; r.Together() {
			least /= 2
		}
	case "st.shared.v2.u32", "st.shared.v4.u32", "atom.shared.exch.b64":
		least = r.Size() / 4
	case "atom.shared.cas.b64":
		least = 4
	}
	return banks(r, cfg, "cycles", least)
}

// banks compares what a record takes with the wavefronts counted, or least if that is more.
func banks(r *golden.BankAccess, cfg sm.Config, what string, least int) (string, error) {
	cfg.Block, cfg.Banks = sm.Dim3{X: golden.WarpLanes}, new(sm.Banks)
	err := sm.Launch(context.Background(), cfg, func(b *sm.Block) {
		bytes := sm.Shared[uint8](b, golden.BankBytes, 1024)
		b.Start(sm.Warps(0, 1, func(w *sm.Warp) {
			if n := r.Matrices(); n > 0 {
				row := func(lane int) sm.Region { return bytes.At(r.At[lane]) }
				if registers := make([][golden.WarpLanes]uint32, n); r.Op[:2] == "ld" {
					w.LoadMatrix(row, registers)
				} else {
					w.StoreMatrix(row, registers)
				}
				return
			}
			for lane, at := range r.At {
				if r.Mask>>lane&1 != 0 {
					access(r, w.Thread(lane), at, bytes)
				}
			}
		}))
	})
	if err != nil {
		return fmt.Sprintf("%s: %v", r.Op, err), nil
	}
	lines := cfg.Banks.Lines()
	if len(lines) != 1 || lines[0].Requests != 1 {
		return fmt.Sprintf("%s: it is not one request: %v", r.Op, lines), nil
	}
	// Cycles are measured, and may be some hundredths off.
	if got := max(lines[0].Wavefronts, least); math.Abs(float64(got)-r.Taken) > 0.2 {
		return fmt.Sprintf("%s, mask %#x: %d %s, on the GPU %.2f", r.Op, r.Mask, got, what, r.Taken), nil
	}
	return "", nil
}

// access has a thread do a record's operation at an address.
func access(r *golden.BankAccess, t *sm.Thread, at int, bytes *sm.Array[uint8]) {
	f, size := strings.Split(r.Op, "."), r.Size()
	there := bytes.Slice(at, at+size)
	switch op := (golden.Atomic{Op: f[2]}); {
	case f[0] == "atom" && f[3] == "b64":
		integer(&op, t, sm.Recast[uint64](there), 0, 0)
	case f[0] == "atom" && f[3] == "s32":
		integer(&op, t, sm.Recast[int32](there), 0, 0)
	case f[0] == "atom":
		count(&op, t, sm.Recast[uint32](there), 0, 0)
	case size == 2:
		one(f[0], t, sm.Recast[uint16](there))
	case size == 4:
		one(f[0], t, sm.Recast[uint32](there))
	case size == 1:
		one(f[0], t, there)
	case f[0] == "ld":
		there.Read(t, 0, make([]uint8, size))
	default:
		there.Write(t, 0, make([]uint8, size))
	}
}

// one loads or stores an element.
func one[T any](op string, t *sm.Thread, a *sm.Array[T]) {
	if op == "st" {
		var zero T
		a.Store(t, 0, zero)
	} else {
		a.Load(t, 0)
	}
}
