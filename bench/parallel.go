package bench

import (
	"runtime"
	"sync"
)

// parallel calls f on ranges that cover 0 <= i < n, one per processor, of at
// least grain each, and returns when all are done.
func parallel(n, grain int, f func(lo, hi int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/max(1, grain)))
	var wg sync.WaitGroup
	for p := range parts {
		lo, hi := n*p/parts, n*(p+1)/parts
		if p == parts-1 {
			f(lo, hi)
			break
		}
		wg.Go(func() { f(lo, hi) })
	}
	wg.Wait()
}
