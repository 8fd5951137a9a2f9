package bench

import (
	"math"
	"slices"

	"example.com/leafhopper/gemm"
)

// A Result is what a Runner measured of one variant. The JSON names are an
// interface.
type Result struct {
	M             int     `json:"m"`
	N             int     `json:"n"`
	K             int     `json:"k"`
	DType         string  `json:"dtype"` // of A and B
	Out           string  `json:"out"`   // of C
	Trans         string  `json:"trans"`
	Depth         int     `json:"depth"`          // as asked for; 0 leaves the choice to the engine
	DepthUsed     int     `json:"depth_used"`     // stages of the ring that ran; 0 without a ring, or as a batch chose
	Workers       int     `json:"workers"`        // as asked for; if that was 0, as many as the engine takes
	Kernel        string  `json:"kernel"`         // that ran
	Prepacked     bool    `json:"prepacked"`      // B was packed before the time started
	Count         int     `json:"count"`          // samples
	SecondsMedian float64 `json:"seconds_median"` // that a call takes its caller
	SecondsMin    float64 `json:"seconds_min"`
	SecondsMax    float64 `json:"seconds_max"`
	GFLOPS        float64 `json:"gflops"` // of all callers and products, at the median
	// PeakFraction is of the peak of kernel and Workers, even if fewer ran; of all callers up to the processors.
	PeakFraction float64 `json:"peak_fraction"`
	ProducerWait float64 `json:"producer_wait"` // fraction of workers × elapsed; 0 of a batch, which does not tell
	ConsumerWait float64 `json:"consumer_wait"`
	AllocsPerOp  float64 `json:"allocs_per_op"` // of a call, by the whole process
	Checked      bool    `json:"checked"`       // verification was on
	Verified     bool    `json:"verified"`      // and it was right, the same bits in every call
	// MaxError is the largest |c - ref| / bound, which is 0 or infinite in Hopper's arithmetic; 0 if not checked.
	MaxError   float64 `json:"max_error"`
	Failure    string  `json:"failure,omitempty"` // why Checked but not Verified
	Arith      string  `json:"arith"`             // "native" or "hopper"
	Alpha      float64 `json:"alpha"`
	Beta       float64 `json:"beta"`
	Seed       uint64  `json:"seed"`
	Cold       bool    `json:"cold"`                 // see [Runner]
	MinTime    float64 `json:"min_time"`             // seconds that a sample took at least
	Tile       string  `json:"tile,omitempty"`       // "MxNxK", if one was asked for
	SplitK     int     `json:"splitk,omitempty"`     // parts of K, if more than 1
	Promotion  int     `json:"promotion,omitempty"`  // elements of K after which a chain begins anew, if it does
	Scales     string  `json:"scales,omitempty"`     // "tensor" or "row", if there are any
	Bias       bool    `json:"bias,omitempty"`       // of the columns of C
	Activation string  `json:"activation,omitempty"` // if it is not the identity
	Callers    int     `json:"callers,omitempty"`    // at once, if more than 1
	Batch      int     `json:"batch,omitempty"`      // products in a call, each with its own A, B and C, if more than 1
	// Scaling is GFLOPS over that with 1 worker and 1 caller, if either varies and that was measured.
	Scaling float64 `json:"scaling,omitempty"`

	// If Cold, 10⁹ bytes of A and B a second, and those of as many goroutines that touch every line of them, no more.
	GBs     float64 `json:"gb_per_s,omitempty"`
	ReadGBs float64 `json:"read_gb_per_s,omitempty"`

	// Samples are the seconds that a call takes its caller, in the order of the rounds.
	Samples  []float64 `json:"samples"`
	VsDepth1 *Versus   `json:"vs_depth1,omitempty"` // if depth 1 of the same was measured; set as the report is written
	VsPlain  *Versus   `json:"vs_plain,omitempty"`  // where the same without scales, bias and activation was; likewise
	// CallsSamples are the seconds that the products of a batch take in as many calls of Multiply in a row, and VsCalls
	// how much faster the one call is; likewise.
	CallsSamples []float64 `json:"calls_samples,omitempty"`
	VsCalls      *Versus   `json:"vs_calls,omitempty"`

	Trace *gemm.Trace `json:"-"` // of one product, if asked for; see [Runner]
}

// Flops returns the floating-point operations of one product.
func (r *Result) Flops() float64 { return 2 * float64(r.M) * float64(r.N) * float64(r.K) }

// gflops returns the speed of all callers and products whose calls take that many seconds.
func (r *Result) gflops(seconds float64) float64 {
	return r.Flops() * float64(max(1, r.Callers)*max(1, r.Batch)) / seconds / 1e9
}

// vsCalls compares a batch with as many calls, or returns nil.
func (r *Result) vsCalls() *Versus { return versus(r.CallsSamples, r.Samples) }

// Spread returns (largest sample - smallest sample) / median.
func (r *Result) Spread() float64 {
	if r.SecondsMedian == 0 {
		return 0
	}
	return (r.SecondsMax - r.SecondsMin) / r.SecondsMedian
}

// A PeakResult is the measured peak of a kernel on a number of workers.
type PeakResult struct {
	Kernel  string  `json:"kernel"`
	Workers int     `json:"workers"`
	GFLOPS  float64 `json:"gflops"` // largest of Samples

	GHz          float64   `json:"ghz"`            // fastest clock of a thread, right after it
	FlopPerCycle float64   `json:"flop_per_cycle"` // GFLOPS over GHz and the workers that can run at once
	CPUShare     float64   `json:"cpu_share"`      // processor time that the threads got / wanted; 0 is unknown
	LowerBound   bool      `json:"lower_bound"`    // the threads never ran together for a millisecond
	Samples      []float64 `json:"samples"`        // GFLOP/s in the best millisecond of each measurement, in order
}

// A Report is all that one run measured. The JSON names are an interface.
type Report struct {
	Machine Machine      `json:"machine"`
	Peak    []PeakResult `json:"peak"`
	Results []Result     `json:"results"`
	Load    Load         `json:"load"`

	Notes []string `json:"-"` // lines for the head of a table
	Width int      `json:"-"` // columns of drawings in a table; 0 is 100
}

// Failures returns the results that were checked and are wrong.
func (r *Report) Failures() []Result {
	var failed []Result
	for _, res := range r.Results {
		if res.Checked && !res.Verified {
			failed = append(failed, res)
		}
	}
	return failed
}

// Median returns the middle of s, or the mean of the two in the middle. It is
// 0 for no samples.
func Median(s []float64) float64 {
	if len(s) == 0 {
		return 0
	}
	s = slices.Sorted(slices.Values(s))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// finite returns v, or the largest float64 in its place if it is no number that
// JSON can hold.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.MaxFloat64
	}
	return v
}
