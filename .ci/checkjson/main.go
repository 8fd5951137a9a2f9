// Command checkjson checks the JSON that "gemmbench compare -format json"
// wrote: exactly the documented fields, and every result verified.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type report struct {
	Machine map[string]any `json:"machine"`
	Peak    []struct {
		Kernel  *string  `json:"kernel"`
		Workers *int     `json:"workers"`
		GFLOPS  *float64 `json:"gflops"`

		GHz          *float64  `json:"ghz"`
		FlopPerCycle *float64  `json:"flop_per_cycle"`
		CPUShare     *float64  `json:"cpu_share"`
		LowerBound   *bool     `json:"lower_bound"`
		Samples      []float64 `json:"samples"`
	} `json:"peak"`
	Results []map[string]any `json:"results"`
	Load    *struct {
		CPUShare *float64 `json:"cpu_share"`
		Steal    *float64 `json:"steal"`
	} `json:"load"`
}

var resultFields = []string{
	"m", "n", "k", "dtype", "out", "trans", "depth", "depth_used", "workers", "kernel", "prepacked", "count",
	"seconds_median", "seconds_min", "seconds_max", "gflops", "peak_fraction",
	"producer_wait", "consumer_wait", "allocs_per_op", "checked", "verified", "max_error",
	"arith", "alpha", "beta", "seed", "cold", "min_time", "samples",
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: checkjson FILE")
	}
	f, err := os.Open(os.Args[1])
	if err != nil {
		fail("%v", err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	var r report
	if err := d.Decode(&r); err != nil {
		fail("%v", err)
	}
	if len(r.Machine) == 0 || len(r.Peak) == 0 || len(r.Results) == 0 {
		fail("machine has %d fields, peak %d and results %d entries; none may be empty",
			len(r.Machine), len(r.Peak), len(r.Results))
	}
	bound := false
	for i, p := range r.Peak {
		if p.Kernel == nil || p.Workers == nil || p.GFLOPS == nil || *p.GFLOPS <= 0 ||
			p.GHz == nil || p.FlopPerCycle == nil || p.CPUShare == nil || p.LowerBound == nil || len(p.Samples) == 0 {
			fail("peak %d lacks a field or is not positive", i)
		}
		bound = bound || *p.LowerBound
	}
	if r.Load == nil || r.Load.CPUShare == nil || r.Load.Steal == nil {
		fail("load lacks a field")
	}
	for i, m := range r.Results {
		for _, name := range resultFields {
			if _, ok := m[name]; !ok {
				fail("result %d lacks %q", i, name)
			}
		}
		fields := len(resultFields)
		if _, ok := m["vs_depth1"]; ok != (m["depth"] != 1.0) {
			fail("result %d of depth %v has vs_depth1: %v", i, m["depth"], ok)
		} else if ok {
			fields++
		}
		if len(m) != fields {
			fail("result %d has %d fields, not %d", i, len(m), fields)
		}
		if m["verified"] != true {
			fail("result %d is not verified", i)
		}
		if g, _ := m["gflops"].(float64); g <= 0 {
			fail("result %d has %v GFLOP/s", i, m["gflops"])
		}
		if f, _ := m["peak_fraction"].(float64); f > 1.02 && !bound {
			fail("result %d has %.3f of the peak, more than there can be", i, f)
		}
	}
	fmt.Printf("%d peaks, %d results, all verified\n", len(r.Peak), len(r.Results))
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "checkjson: "+format+"\n", args...)
	os.Exit(1)
}
