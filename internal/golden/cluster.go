package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Codes of the operations of a [ClusterScenario], and their arguments. A target is a rank, a
// mask has a bit for each.
const (
	ClusterArrive            = iota // target, barrier, 1
	ClusterArriveTx                 // target, barrier, bytes
	ClusterExpectTx                 // target, barrier, bytes
	ClusterCompleteTx               // target, barrier, bytes
	ClusterCopy                     // target, destination, source, bytes, barrier: shared to shared
	ClusterMulticast                // mask, destination, source, bytes, barrier: global to shared
	ClusterMulticastTensor          // mask, destination, x, y, barrier: a box of 16 x 8
	ClusterStoreAsync               // target, destination, value, barrier
	ClusterAddAsync                 // target, destination, value, barrier
	ClusterStore                    // target, destination, value
	ClusterLoad                     // target, source
	ClusterTestParity               // barrier, parity
	ClusterAdd                      // target, destination, source, bytes, barrier: uint32, shared to shared
	ClusterMulticastSwizzled        // mask, destination, x, y, barrier: a box of 32 x 8, swizzled over 128 bytes
	clusterOps
)

// What the CTAs of a scenario have.
const (
	ClusterSharedSize = 4096
	ClusterGlobalSize = 16384 // as a tensor 64 x 64 int32
	ClusterBarriers   = 4
)

// A ClusterScenario is what was done in a cluster, one operation after the other, and what came
// of it.
type ClusterScenario struct {
	CTAs   int
	Init   [ClusterBarriers]int // arrivals that the barriers of each CTA expect
	Ops    []ClusterOp
	Values []uint32 // that ClusterLoad and ClusterTestParity returned, in order
	Shared []uint32 // CRC-32 (IEEE) of the shared memory of each CTA at the end
}

// A ClusterOp is one operation, by a thread of the CTA of that rank.
type ClusterOp struct {
	Rank, Code int
	Args       [5]int
}

// FillClusterShared writes what the shared memory of a CTA holds at first.
func FillClusterShared(b []byte, rank int) {
	for i := range b {
		b[i] = byte(7*i + 31*rank)
	}
}

// FillClusterGlobal writes what global memory holds.
func FillClusterGlobal(b []byte) {
	for i := range b {
		b[i] = byte(131*i>>3 ^ i)
	}
}

// ParseClusters reads the lines of cluster.jsonl, each of which is a scenario.
func ParseClusters(data []byte) ([]ClusterScenario, error) {
	return parseLines(data, (*ClusterScenario).parse)
}

func (s *ClusterScenario) parse(row string) error {
	var r struct {
		N    int      `json:"n"`
		Init []int    `json:"init"`
		Ops  [][]int  `json:"ops"`
		Smem []string `json:"smem"`
		Vals []uint32 `json:"vals"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(row)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return err
	}
	switch {
	case d.More():
		return fmt.Errorf("more than one scenario")
	case r.N < 1 || r.N > 8:
		return fmt.Errorf("%d CTAs, want 1 to 8", r.N)
	case len(r.Init) != ClusterBarriers:
		return fmt.Errorf("%d barriers, want %d", len(r.Init), ClusterBarriers)
	case len(r.Smem) != r.N:
		return fmt.Errorf("%d sums of shared memory, want %d", len(r.Smem), r.N)
	}
	s.CTAs, s.Values = r.N, r.Vals
	for i, n := range r.Init {
		if n < 1 {
			return fmt.Errorf("barrier %d expects %d arrivals, want 1 or more", i, n)
		}
		s.Init[i] = n
	}
	values := 0
	for i, f := range r.Ops {
		if len(f) != 7 {
			return fmt.Errorf("op %d has %d numbers, want 7", i, len(f))
		}
		op := ClusterOp{f[0], f[1], [5]int(f[2:])}
		if err := op.check(r.N); err != nil {
			return fmt.Errorf("op %d %v: %w", i, f, err)
		}
		if op.Code == ClusterLoad || op.Code == ClusterTestParity {
			values++
		}
		s.Ops = append(s.Ops, op)
	}
	if values != len(r.Vals) {
		return fmt.Errorf("%d values of %d operations", len(r.Vals), values)
	}
	for _, text := range r.Smem {
		crc, err := strconv.ParseUint(text, 16, 32)
		if err != nil || len(text) != 8 {
			return fmt.Errorf("bad sum %q", text)
		}
		s.Shared = append(s.Shared, uint32(crc))
	}
	return nil
}

// check refuses what the recorder cannot have written for a cluster of n CTAs.
func (o *ClusterOp) check(n int) error {
	type limit struct {
		what           string
		v, least, most int
	}
	a := o.Args
	limits := []limit{{"rank", o.Rank, 0, n - 1}, {"operation", o.Code, 0, clusterOps - 1}}
	const words = ClusterSharedSize - 4
	switch o.Code {
	case ClusterMulticast, ClusterMulticastTensor, ClusterMulticastSwizzled:
		limits = append(limits, limit{"mask", a[0], 0, 1<<n - 1}, limit{"barrier", a[4], 0, ClusterBarriers - 1})
	case ClusterTestParity:
		limits = append(limits, limit{"barrier", a[0], 0, ClusterBarriers - 1}, limit{"parity", a[1], 0, 1})
	default:
		limits = append(limits, limit{"target", a[0], 0, n - 1})
	}
	switch o.Code {
	case ClusterArrive, ClusterArriveTx, ClusterExpectTx, ClusterCompleteTx:
		limits = append(limits, limit{"barrier", a[1], 0, ClusterBarriers - 1}, limit{"operand", a[2], 1, 1<<20 - 1})
	case ClusterCopy, ClusterAdd:
		limits = append(limits,
			limit{"barrier", a[4], 0, ClusterBarriers - 1}, limit{"bytes", a[3], 16, ClusterSharedSize},
			limit{"destination", a[1], 0, ClusterSharedSize - a[3]}, limit{"source", a[2], 0, ClusterSharedSize - a[3]})
	case ClusterMulticast:
		limits = append(limits, limit{"bytes", a[3], 16, ClusterSharedSize},
			limit{"destination", a[1], 0, ClusterSharedSize - a[3]}, limit{"source", a[2], 0, ClusterGlobalSize - a[3]})
	case ClusterMulticastTensor:
		limits = append(limits, limit{"destination", a[1], 0, ClusterSharedSize - 16*8*4})
	case ClusterMulticastSwizzled:
		limits = append(limits, limit{"destination", a[1], 0, ClusterSharedSize - 32*8*4})
	case ClusterStoreAsync, ClusterAddAsync:
		limits = append(limits, limit{"destination", a[1], 0, words}, limit{"value", a[2], 0, 1<<31 - 1},
			limit{"barrier", a[3], 0, ClusterBarriers - 1})
	case ClusterStore:
		limits = append(limits, limit{"destination", a[1], 0, words}, limit{"value", a[2], 0, 1<<31 - 1})
	case ClusterLoad:
		limits = append(limits, limit{"source", a[1], 0, words})
	}
	for _, l := range limits {
		if l.v < l.least || l.v > l.most {
			return fmt.Errorf("%s %d is outside %d to %d", l.what, l.v, l.least, l.most)
		}
	}
	return nil
}
