package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"example.com/leafhopper/bench"
	"example.com/leafhopper/internal/cli"
)

// The bars of a good neighbour.
const (
	sleepMedianBar = 1500 * time.Microsecond // of sleeps of a millisecond
	sleepTailBar   = 5 * time.Millisecond    // 99 of 100
	burnBar        = 1.3                     // processor time of a helper, in times of calls,
	burnLeast      = 0.02                    // unless it is no more of a core than can be measured
	callersBar     = 0.95                    // of the speed of one worker each, if there are as many as cores
)

// sleeps are how long a goroutine slept that wanted to sleep for a millisecond, beside products.
type sleeps struct {
	M       int     `json:"m"` // 0: beside nothing
	N       int     `json:"n"`
	K       int     `json:"k"`
	GFLOPS  float64 `json:"gflops"`
	Sleeps  int     `json:"sleeps"`
	Median  float64 `json:"median_seconds"`
	P99     float64 `json:"p99_seconds"`
	Longest float64 `json:"longest_seconds"`
	Passed  bool    `json:"passed"`
}

// A burn is the processor time that helpers use where products come with a pause between them.
type burn struct {
	M       int     `json:"m"`
	N       int     `json:"n"`
	K       int     `json:"k"`
	Calls   int     `json:"calls"`
	Call    float64 `json:"call_seconds"`    // mean time of a call
	Alone   float64 `json:"alone_seconds"`   // the same of one worker
	Helpers float64 `json:"helpers_cores"`   // that helpers kept busy, beyond what one worker does
	Ratio   float64 `json:"helpers_to_call"` // their processor time to the time in calls, for each helper that may come
	Passed  bool    `json:"passed"`
}

// A crowd is callers that multiply at once.
type crowd struct {
	M       int     `json:"m"`
	N       int     `json:"n"`
	K       int     `json:"k"`
	Callers int     `json:"callers"`
	GFLOPS  float64 `json:"gflops"`
	Alone   float64 `json:"alone_gflops"` // with one worker each
	Ratio   float64 `json:"ratio"`        // median of those of neighbouring moments
	Barred  bool    `json:"barred"`       // there are as many callers as processors
	Passed  bool    `json:"passed"`
}

type neighbourReport struct {
	Machine  bench.Machine `json:"machine"`
	DType    string        `json:"dtype"`
	Workers  int           `json:"workers"` // 0 is the default
	Pause    float64       `json:"pause_seconds"`
	Sleepers []sleeps      `json:"sleepers"`
	Burns    []burn        `json:"burns"`
	Crowds   []crowd       `json:"callers"`
}

func (r *neighbourReport) write(w io.Writer, format string) error {
	if format == "json" {
		return cli.WriteJSON(w, r)
	}
	m := r.Machine
	fmt.Fprintf(w, "%s, GOMAXPROCS %d, %s; %s\n", m.CPU, m.GOMAXPROCS, workersLine(m), r.DType)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	if len(r.Sleepers) > 0 {
		fmt.Fprintf(t, "\nsleeper: a goroutine sleeps 1 ms, beside products back to back; "+
			"at most %v in the median, %v for 99 of 100\n\n", sleepMedianBar, sleepTailBar)
		fmt.Fprintln(t, "beside\tGFLOP/s\tmedian\t99 of 100\tlongest\t\t")
	}
	for _, s := range r.Sleepers {
		beside, speed := "nothing", "-"
		if s.M > 0 {
			beside, speed = shapeName(s.M, s.N, s.K), fmt.Sprintf("%.1f", s.GFLOPS)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t\n", beside, speed,
			shortTime(s.Median), shortTime(s.P99), shortTime(s.Longest), verdict(s.Passed, true))
	}
	if len(r.Burns) > 0 {
		fmt.Fprintf(t, "\nburn: one call every %v; "+
			"a helper's processor time is at most %.1f times the time in calls\n\n",
			time.Duration(r.Pause*1e9), burnBar)
		fmt.Fprintln(t, "product\tcall\tone worker\thelpers' cores\tof the time in calls\t\t")
	}
	for _, b := range r.Burns {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%s\t\n", shapeName(b.M, b.N, b.K),
			shortTime(b.Call), shortTime(b.Alone), b.Helpers, b.Ratio, verdict(b.Passed, true))
	}
	if len(r.Crowds) > 0 {
		fmt.Fprintf(t, "\ncallers: so many multiply at once; "+
			"at least %.2f of one worker each, if they are as many as processors\n\n", callersBar)
		fmt.Fprintln(t, "product\tcallers\tGFLOP/s\tone worker each\tratio\t\t")
	}
	for _, c := range r.Crowds {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.2f\t%s\t\n", shapeName(c.M, c.N, c.K),
			c.Callers, c.GFLOPS, c.Alone, c.Ratio, verdict(c.Passed, c.Barred))
	}
	return t.Flush()
}

func shapeName(m, n, k int) string {
	if m == n && n == k {
		return fmt.Sprintf("%d³", m)
	}
	return fmt.Sprintf("%dx%dx%d", m, n, k)
}

// shortTime formats seconds.
func shortTime(s float64) string {
	d := time.Duration(s * 1e9)
	switch {
	case d < 100*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

func verdict(passed, barred bool) string {
	switch {
	case !barred:
		return ""
	case passed:
		return "ok"
	}
	return "missed"
}
