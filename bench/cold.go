package bench

import (
	"sync"
	"sync/atomic"
	"time"
)

// touched keeps the compiler from dropping reads.
var touched atomic.Uint32

// readCold reads every copy of A and B once, on as many goroutines as c has workers, of which each touches every
// line of its part, and returns the time of a call's. All copies together do not fit in the caches.
func (c *caseRun) readCold() time.Duration {
	start := time.Now()
	part := func(w int) {
		sum := uint32(0)
		for i := range c.p.b {
			for _, o := range []*operand{c.p.a[i], c.p.b[i]} {
				mem := o.raw
				mem = mem[len(mem)*w/c.workers : len(mem)*(w+1)/c.workers]
				for at := 0; at < len(mem); at += 64 {
					sum += uint32(mem[at])
				}
			}
		}
		touched.Add(sum)
	}
	var others sync.WaitGroup
	for w := range c.workers - 1 {
		others.Go(func() { part(w) })
	}
	part(c.workers - 1)
	others.Wait()
	return time.Since(start) / time.Duration(len(c.p.b)/c.each)
}
