// Command checkjson checks a report that "gemmbench compare -format json" wrote:
// nothing is missing, every result is verified, and no speed is out of reach. The
// names of its fields are checked by the tests of package bench.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"example.com/leafhopper/bench"
)

func main() {
	if len(os.Args) != 2 {
		fail("usage: checkjson FILE")
	}
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail("%v", err)
	}
	var r bench.Report
	if err := json.Unmarshal(data, &r); err != nil {
		fail("%s: %v", os.Args[1], err)
	}
	if r.Machine.Go == "" || len(r.Peak) == 0 || len(r.Results) == 0 {
		fail("on Go %q, %d peaks and %d results; none may be missing", r.Machine.Go, len(r.Peak), len(r.Results))
	}
	for _, p := range r.Peak {
		if p.GFLOPS <= 0 || len(p.Samples) == 0 {
			fail("peak %+v", p)
		}
	}
	bound := slices.ContainsFunc(r.Peak, func(p bench.PeakResult) bool { return p.LowerBound })
	for i, res := range r.Results {
		switch {
		case !res.Verified:
			fail("result %d is not verified: %s", i, res.Failure)
		case res.GFLOPS <= 0:
			fail("result %d has %v GFLOP/s", i, res.GFLOPS)
		case res.PeakFraction > 1.02 && !bound:
			fail("result %d has %.3f of the peak, more than there can be", i, res.PeakFraction)
		case (res.VsDepth1 != nil) != (res.Depth != 1):
			fail("result %d of depth %d has vs_depth1: %v", i, res.Depth, res.VsDepth1)
		}
	}
	fmt.Printf("%d peaks, %d results, all verified\n", len(r.Peak), len(r.Results))
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "checkjson: "+format+"\n", args...)
	os.Exit(1)
}
