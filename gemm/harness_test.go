package gemm_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/fp8"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/internal/race"
)

// raceEnabled thins out the tests and leaves out those that count allocations.
const raceEnabled = race.Enabled

// A spec is one product to compute and check. Equal seeds give equal elements
// whatever the layout.
type spec struct {
	m, n, k          int
	ta, tb, tc       bool // the operand is a transposed view
	padA, padB, padC int  // elements between the rows in memory
	alpha, beta      float32
	opts             []gemm.Option
	seed             uint64
	atStart          bool // operands follow a guard page rather than precede one
	ring             bool // on the ring, however small
	value            func(*rand.Rand) float32
	naive            bool // the reference must not skip zeros
	packed           bool // B goes through Pack
}

// combined returns alpha·acc + beta·old for a C of type O, with the roundings of an arithmetic.
func combined[O gemm.Output](a gemm.Arithmetic, alpha, acc, beta, old float32) float32 {
	product, rest := float32(alpha*acc), float32(beta*old)
	switch sum := float64(product) + float64(rest); {
	case beta == 0:
		return product
	case a == gemm.Native, math.IsNaN(sum), math.IsInf(sum, 0):
		return product + rest
	case beta == 1:
		return to(from[O](product)) + old
	}
	wide := func(v float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(v)) }
	fused, _ := wide(0).Add(wide(0).Mul(wide(alpha), wide(acc)), wide(rest)).Float32()
	return fused
}

// size returns the spec of a plain product.
func size(m, n, k int, opts ...gemm.Option) spec {
	return spec{m: m, n: n, k: k, alpha: 1, opts: opts}
}

// testEngine serves the tests that need the ring.
var testEngine = func() *gemm.Engine {
	e, err := gemm.New()
	if err != nil && os.Getenv(childEnv) == "" {
		panic(err)
	}
	return e
}()

// childEnv is set in a process that TestKernelEnv starts.
const childEnv = "GEMM_TEST_CHILD"

// operands are the matrices of a spec, between guard pages.
type operands[O gemm.Output, I gemm.Element] struct {
	c    gemm.Matrix[O]
	a, b gemm.Matrix[I]
	free func()
}

func build[O gemm.Output, I gemm.Element](t testing.TB, s spec) operands[O, I] {
	t.Helper()
	r := rand.New(rand.NewPCG(s.seed, 7))
	a, freeA := matrix[I](t, s.m, s.k, s.padA, s.ta, !s.atStart)
	b, freeB := matrix[I](t, s.k, s.n, s.padB, s.tb, !s.atStart)
	c, freeC := matrix[O](t, s.m, s.n, s.padC, s.tc, !s.atStart)
	sow(a, s.ta, r, s.value)
	sow(b, s.tb, r, s.value)
	if s.beta != 0 { // else C stays all NaN, which must not survive
		sow(c, s.tc, r, s.value)
	}
	return operands[O, I]{c, a, b, func() { freeA(); freeB(); freeC() }}
}

func (o operands[O, I]) multiply(s spec) (st gemm.Stats, err error) {
	opts := append([]gemm.Option{gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta)}, s.opts...)
	var b gemm.Operand[I] = o.b
	if s.packed {
		if b, err = gemm.Pack(o.b, s.opts...); err != nil {
			return st, err
		}
	}
	if s.ring {
		return gemm.OnRing(testEngine, o.c, o.a, b, opts...)
	}
	err = gemm.Multiply(o.c, o.a, b, append(opts, gemm.WithStats(&st))...)
	return st, err
}

// matrix returns a fenced matrix full of NaNs whose Data ends with its last
// element.
func matrix[T gemm.Element](t testing.TB, rows, cols, pad int, trans, atEnd bool) (gemm.Matrix[T], func()) {
	t.Helper()
	if trans {
		rows, cols = cols, rows
	}
	n := 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*(cols+pad) + cols
	}
	data, free := fenced[T](t, n, atEnd)
	if n > 0 {
		data[0] = canary[T]()
	}
	for made := 1; made < n; made *= 2 {
		copy(data[made:], data[:made])
	}
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols + pad, Data: data}
	if trans {
		m = m.T()
	}
	return m, free
}

func fill[T gemm.Element](m gemm.Matrix[T], value func() float32) {
	for i := range m.Rows {
		for j := range m.Cols {
			m.Set(i, j, from[T](value()))
		}
	}
}

// sow fills m, which is a transposed view if trans, with what value makes of r, or with ordinary numbers: to make each
// of those anew takes longer than most products.
func sow[T gemm.Element](m gemm.Matrix[T], trans bool, r *rand.Rand, value func(*rand.Rand) float32) {
	if value != nil {
		fill(m, func() float32 { return value(r) })
		return
	}
	plant(m, trans, seedsOf[T](), r.IntN(seedCount))
}

// plant fills m, a transposed view if trans, with seeds from one on, one row after the other and from the first again.
// If there is a prime number of them, rows are hardly ever alike. It stores them row by row as they lie in memory: the
// race detector looks at every store.
func plant[T gemm.Element](m gemm.Matrix[T], trans bool, seeds []T, at int) {
	rows, cols, along, across := m.Rows, m.Cols, 1, m.Cols
	if trans {
		rows, cols, along, across = cols, rows, across, along
	}
	row := make([]T, cols)
	for i := range min(rows, len(m.Data)) { // none without columns
		pick(row, seeds, (at+i*across)%len(seeds), along)
		copy(m.Data[i*m.Stride:], row)
	}
}

// pick takes every step'th of seeds, from one on.
//
//go:norace
func pick[T gemm.Element](row, seeds []T, at, step int) {
	for i := range row {
		row[i] = seeds[at]
		at = (at + step) % len(seeds)
	}
}

const seedCount = 1<<18 - 5

var allSeeds [6]any // of every type, as tests come to need them

// seedsOf returns ordinary numbers.
func seedsOf[T gemm.Element]() []T {
	of := &allSeeds[typeOf[T]()]
	if *of == nil {
		r := rand.New(rand.NewPCG(3, 7))
		*of = seedsFrom[T](seedCount, func() float32 { return ordinary(r) })
		if wide, is := (*of).([]float64); is { // numbers that need all of their bits
			for i := range wide {
				wide[i] += wide[i] * r.Float64() * 0x1p-24
			}
		}
	}
	return (*of).([]T)
}

// seedsFrom returns n elements of what value returns.
func seedsFrom[T gemm.Element](n int, value func() float32) []T {
	seeds := make([]T, n)
	for i := range seeds {
		seeds[i] = from[T](value())
	}
	return seeds
}

// ordinary returns a number of either sign, 2^-14 to 4 in size or sometimes 0. It makes one of a single random word.
func ordinary(r *rand.Rand) float32 {
	u := r.Uint64()
	if u>>60 == 0 {
		return 0
	}
	exponent := uint32(127 - 14 + u>>56&15)
	return math.Float32frombits(exponent<<23 | uint32(u)&(1<<31|1<<23-1))
}

// canary is a NaN that no arithmetic makes.
func canary[T gemm.Element]() (v T) {
	switch p := any(&v).(type) {
	case *bf16.BF16:
		*p = 0xffd5
	case *float16.Float16:
		*p = 0xff55
	case *float32:
		*p = math.Float32frombits(0xffd5aa55)
	case *float64:
		*p = math.Float64frombits(0xfff5aa55aa55aa55)
	case *fp8.E4M3:
		*p = 0xff
	case *fp8.E5M2:
		*p = 0xff
	}
	return v
}

// from rounds f to a T.
func from[T gemm.Element](f float32) (v T) {
	switch p := any(&v).(type) {
	case *bf16.BF16:
		*p = bf16.FromFloat32(f)
	case *float16.Float16:
		*p = float16.Fromfloat32(f)
	case *float32:
		*p = f
	case *float64:
		*p = float64(f)
	case *fp8.E4M3:
		*p = fp8.E4M3FromFloat32(f)
	case *fp8.E5M2:
		*p = fp8.E5M2FromFloat32(f)
	}
	return v
}

func to[T gemm.Element](v T) float32 {
	switch v := any(v).(type) {
	case bf16.BF16:
		return v.Float32()
	case float16.Float16:
		return v.Float32()
	case float32:
		return v
	case float64:
		return float32(v)
	case fp8.E4M3:
		return v.Float32()
	case fp8.E5M2:
		return v.Float32()
	}
	panic("unreachable")
}

// bitsOf returns the representation of v, which unlike v compares equal to
// itself if v is a NaN.
func bitsOf[T gemm.Element](v T) uint64 {
	switch unsafe.Sizeof(v) {
	case 1:
		return uint64(*(*uint8)(unsafe.Pointer(&v)))
	case 2:
		return uint64(*(*uint16)(unsafe.Pointer(&v)))
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	default:
		return *(*uint64)(unsafe.Pointer(&v))
	}
}

func typeOf[T gemm.Element]() asm.Type {
	switch any(*new(T)).(type) {
	case bf16.BF16:
		return asm.BF16
	case float16.Float16:
		return asm.F16
	case fp8.E4M3:
		return asm.E4M3
	case fp8.E5M2:
		return asm.E5M2
	case float64:
		return asm.F64
	}
	return asm.F32
}

// dense returns the elements of m in row-major order.
func dense[T gemm.Element](m gemm.Matrix[T]) []T {
	d := make([]T, 0, m.Rows*m.Cols)
	for i := range m.Rows {
		for j := range m.Cols {
			d = append(d, m.At(i, j))
		}
	}
	return d
}

// kernels returns the names of the native kernels that multiply elements of
// type t on this machine.
func kernels(t asm.Type) []string { return kernelsOf(gemm.Native, t) }

// kernelsOf is kernels for any arithmetic. Beside faster ones the race detector leaves the
// slow ones to builds without assembly, which have no others.
func kernelsOf(arith gemm.Arithmetic, t asm.Type) (names []string) {
	for _, k := range asm.Kernels() {
		if k.Arithmetic == arith && k.Supported() == nil && k.Accepts(t) {
			names = append(names, k.Name)
		}
	}
	if raceEnabled && slices.ContainsFunc(names, func(n string) bool { return !slowKernel(n) }) {
		names = slices.DeleteFunc(names, slowKernel)
	}
	return names
}

var arithmetics = []gemm.Arithmetic{gemm.Native, gemm.Hopper}

// eachKernel runs f for each kernel of each arithmetic that multiplies elements
// of type t here, with the options that choose it.
func eachKernel(t *testing.T, typ asm.Type, f func(t *testing.T, k *asm.Kernel, opts []gemm.Option)) {
	for _, arith := range arithmetics {
		for _, name := range kernelsOf(arith, typ) {
			k, err := asm.SelectArithmetic(typ, arith, name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) {
				f(t, k, []gemm.Option{gemm.WithArithmetic(arith), gemm.WithKernel(name)})
			})
		}
	}
}

// slowKernel reports whether a kernel is so slow that tests thin out its cases.
func slowKernel(name string) bool { return strings.Contains(name, "go") }

// product returns the elements of the C that s computes.
func product[O gemm.Output, I gemm.Element](t testing.TB, s spec) []O {
	t.Helper()
	o := build[O, I](t, s)
	defer o.free()
	if _, err := o.multiply(s); err != nil {
		t.Fatal(err)
	}
	return dense(o.c)
}

// same fails the test unless got and want, of matrices with cols columns, have
// the same bits. NaNs equal each other.
func same[T gemm.Element](t testing.TB, got, want []T, cols int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d elements, want %d", len(got), len(want))
	}
	if equalBits(got, want) {
		return
	}
	for i := range got {
		if g, w := to(got[i]), to(want[i]); bitsOf(got[i]) != bitsOf(want[i]) && (g == g || w == w) {
			t.Fatalf("element (%d, %d): %#x (%v), want the bits %#x (%v)",
				i/cols, i%cols, bitsOf(got[i]), g, bitsOf(want[i]), w)
		}
	}
}
