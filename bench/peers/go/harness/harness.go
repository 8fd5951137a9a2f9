// Package harness measures the matrix products of one Go library and prints a
// line of CSV for each, as peers.c does for a native one:
//
//	operands → first call → check → warm-up → Count samples → median
//
// C (m×n) = A (m×k) · B (k×n), all row-major and dense, with B plain on every call; with -trans NT B is the transpose
// of such a matrix. A sample repeats the call for at least the minimum time. With -step each sample waits for a line
// and is one, for a program that compares two.
package harness

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxDim   = 16384
	maxCount = 1000
	checks   = 256 // entries of C that are compared with exact sums
)

// The types of A and B.
const (
	BF16 = "bf16"
	F32  = "f32"
	F64  = "f64"
)

var dtypes = []string{BF16, F32, F64}

// A Product is one shape in one type. A and B hold multiples of 1/128 in
// [-1, 1), which are exact in bf16, or of float64 those of 2⁻⁵³, which need all its bits.
type Product struct {
	DType   string
	Trans   bool // B holds the transpose, n×k
	M, N, K int
	A, B    Values
}

func (p *Product) String() string { return fmt.Sprintf("%s %dx%dx%d", p.DType, p.M, p.N, p.K) }

// Values are the elements of a matrix: in F64 if they are float64, and otherwise in F32, also those of bf16.
type Values struct {
	F32 []float32
	F64 []float64
}

func (v Values) len() int { return max(len(v.F32), len(v.F64)) }

func (v Values) at(i int) float64 {
	if v.F64 != nil {
		return v.F64[i]
	}
	return float64(v.F32[i])
}

// A Call computes a product, and its result is C: float64 if A and B are, and
// otherwise as float32 if the library writes that, or widened from bf16.
type Call struct {
	Run     func() error
	Result  func() Values
	BF16Out bool // C is bf16, rounded or cut off
}

// ErrUnsupported is what Prepare returns for a type or a layout that the library lacks.
var ErrUnsupported = errors.New("the library has no such product")

// A Library makes the call for a product. What it does there is not timed.
type Library struct {
	Name    string
	Prepare func(p *Product, threads int) (*Call, error)
}

// Main measures what the command line asks for and exits: 2 for a bad command
// line, 1 for a failed or wrong product.
func Main(l Library) { os.Exit(l.run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func (l Library) run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet(l.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	threads := fs.Int("threads", 1, "GOMAXPROCS")
	count := fs.Int("count", 3, "samples of each product")
	minTime := fs.Int("min-time", 100, "shortest sample in milliseconds")
	types := fs.String("dtype", "bf16,f32", "types of A and B")
	layout := fs.String("trans", "NN", "NT if B is the transpose of a matrix in rows")
	step := fs.Bool("step", false, "wait for a line before each sample")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintf(stdout,
			"usage: %s [-dtype bf16,f32,f64] [-trans NN|NT] [-threads T] [-count N] [-min-time MS] [-step] SHAPE...\n",
			l.Name)
		if err != nil {
			fmt.Fprintf(stderr, "%s: %v: %v\n", l.Name, errOutput, err)
			return 1
		}
		return 0
	}
	var products []*Product
	switch {
	case err != nil:
	case *threads < 1 || *threads > 4096:
		err = fmt.Errorf("-threads: %d is not in 1..4096", *threads)
	case *count < 1 || *count > maxCount:
		err = fmt.Errorf("-count: %d is not in 1..%d", *count, maxCount)
	case *minTime < 1 || *minTime > 60000:
		err = fmt.Errorf("-min-time: %d is not in 1..60000", *minTime)
	case *layout != "NN" && *layout != "NT":
		err = fmt.Errorf("-trans: %q is neither NN nor NT", *layout)
	default:
		products, err = parse(fs.Args(), *types, *layout == "NT")
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", l.Name, err)
		return 2
	}
	runtime.GOMAXPROCS(*threads)
	b := &bench{l, *threads, *count, time.Duration(*minTime) * time.Millisecond, nil, stdout}
	if *step {
		b.steps = bufio.NewScanner(stdin)
	}
	status := 0
	for _, p := range products {
		err := b.measure(p)
		switch {
		case errors.Is(err, errEnded):
			return status
		case errors.Is(err, errOutput):
			fmt.Fprintf(stderr, "%s: %v\n", l.Name, err)
			return 1
		case errors.Is(err, ErrUnsupported):
			fmt.Fprintf(stderr, "%s: %s skipped: %v\n", l.Name, p.DType, err)
		case err != nil:
			fmt.Fprintf(stderr, "%s: %v: %v\n", l.Name, p, err)
			status = 1
		}
	}
	return status
}

// parse returns a product for every shape and type.
func parse(shapes []string, types string, trans bool) ([]*Product, error) {
	if len(shapes) == 0 {
		return nil, errors.New("no shapes: give N or MxNxK")
	}
	var products []*Product
	for _, s := range shapes {
		parts := strings.Split(s, "x")
		if len(parts) == 1 {
			parts = []string{s, s, s}
		}
		if len(parts) != 3 {
			return nil, fmt.Errorf("shape: %q is not N or MxNxK", s)
		}
		var d [3]int
		for i, part := range parts {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || n > maxDim {
				return nil, fmt.Errorf("shape: %q is not N or MxNxK with sizes in 1..%d", s, maxDim)
			}
			d[i] = n
		}
		for t := range strings.SplitSeq(types, ",") {
			if !slices.Contains(dtypes, t) {
				return nil, fmt.Errorf("-dtype: %q is not one of %s", t, strings.Join(dtypes, ", "))
			}
			products = append(products, &Product{DType: t, Trans: trans, M: d[0], N: d[1], K: d[2]})
		}
	}
	return products, nil
}

// A bench is how products are measured.
type bench struct {
	Library
	threads, count int
	minTime        time.Duration
	steps          *bufio.Scanner // a line for each sample, or nil
	out            io.Writer
}

var (
	errOutput = errors.New("writing the result")
	errEnded  = errors.New("no line for another sample")
)

// measure writes the median time of a call, or that of each sample. A product that is
// not measured has samples, too, which are not numbers.
func (b *bench) measure(p *Product) error {
	defer func() { p.A, p.B = Values{}, Values{} }()
	if b.steps == nil {
		samples := make([]float64, b.count)
		call, calls, err := b.prepare(p)
		for i := 0; err == nil && i < b.count; i++ {
			samples[i], err = sample(call, calls)
		}
		if err != nil {
			return err
		}
		slices.Sort(samples)
		return b.write(p, (samples[(b.count-1)/2]+samples[b.count/2])/2)
	}
	var call *Call
	var calls int
	var failed error
	for i := range b.count {
		if !b.steps.Scan() {
			return cmp.Or(b.steps.Err(), errEnded)
		}
		if i == 0 {
			call, calls, failed = b.prepare(p)
		}
		seconds := math.NaN()
		if failed == nil {
			_, failed = sample(call, 1) // the caches are the other program's
		}
		if failed == nil {
			seconds, failed = sample(call, calls)
		}
		if err := b.write(p, seconds); err != nil {
			return err
		}
	}
	return failed
}

func (b *bench) write(p *Product, seconds float64) error {
	_, err := fmt.Fprintf(b.out, "%s,%s,%d,%d,%d,%d,%.9g\n",
		b.Name, p.DType, p.M, p.N, p.K, b.threads, seconds)
	if err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}

// prepare returns the call of a product, checked and warm, and how many make a sample.
func (b *bench) prepare(p *Product) (call *Call, calls int, err error) {
	p.A = operand(p.DType, p.M*p.K, 0x9e3779b97f4a7c15)
	p.B = operand(p.DType, p.K*p.N, 0xd1b54a32d192ed03)
	if call, err = b.Prepare(p, b.threads); err != nil {
		return nil, 0, err
	}
	if err := call.Run(); err != nil {
		return nil, 0, err
	}
	if err := p.check(call); err != nil {
		return nil, 0, err
	}
	for calls = 1; ; {
		t, err := repeat(call, calls)
		if err != nil {
			return nil, 0, err
		}
		if t >= b.minTime {
			return call, calls, nil
		}
		want := 1.2 * float64(calls) * float64(b.minTime) / float64(max(t, 1))
		calls = int(min(max(want, 2*float64(calls)), 100*float64(calls)))
	}
}

// sample returns the seconds of a call.
func sample(c *Call, calls int) (float64, error) {
	t, err := repeat(c, calls)
	return t.Seconds() / float64(calls), err
}

func repeat(c *Call, calls int) (time.Duration, error) {
	start := time.Now()
	for range calls {
		if err := c.Run(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

func operand(dtype string, n int, seed uint64) (v Values) {
	if dtype == F64 {
		v.F64 = make([]float64, n)
	} else {
		v.F32 = make([]float32, n)
	}
	for i := range n {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		if dtype == F64 {
			v.F64[i] = float64(int64(seed)>>10) * 0x1p-53
		} else {
			v.F32[i] = float32(seed>>40&255)/128 - 1
		}
	}
	return v
}

// check compares entries all over C with exact sums, to the bound that
// gemmbench holds its own products to, plus a whole ulp where C is bf16.
func (p *Product) check(call *Call) error {
	c := call.Result()
	down, across := p.N, 1 // from an element of B to the next of K, and of N
	if p.Trans {
		down, across = 1, p.K
	}
	if c.len() != p.M*p.N {
		return fmt.Errorf("the result has %d entries, not %d", c.len(), p.M*p.N)
	}
	unit := 0x1p-24
	if p.DType == F64 {
		unit = 0x1p-53
	}
	for i := range checks {
		at := i * (c.len() - 1) / (checks - 1)
		row, col := at/p.N, at%p.N
		// Products are multiples of 2⁻¹⁰⁶ up to 1, and maxDim of them an integer of 122 bits.
		exact := new(big.Float).SetPrec(128)
		x, y, t := new(big.Float), new(big.Float), new(big.Float).SetPrec(128)
		var size float64
		for l := range p.K {
			u, v := p.A.at(row*p.K+l), p.B.at(l*down+col*across)
			exact.Add(exact, t.Mul(x.SetFloat64(u), y.SetFloat64(v)))
			size += math.Abs(u * v)
		}
		sum, _ := exact.Float64()
		bound := float64(p.K+8) * unit * size
		if call.BF16Out {
			bound += (math.Abs(sum) + bound) * 0x1p-7
		}
		if !(math.Abs(c.at(at)-sum) <= bound) {
			return fmt.Errorf("entry %d, %d of C is wrong, and the product not measured: %v, want %v ± %.3g",
				row, col, c.at(at), sum, bound)
		}
	}
	return nil
}
