package gemm_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bf16"
	"example.com/leafhopper/gemm"
)

var soak = flag.Int("soak", 1, "multiply the products of TestAnywhere")

// TestAnywhere multiplies products of any size, type, kernel and layout as machines of any
// kind would, of which this may be none, by the route that each of them takes. The bits are
// those of the ring, and nothing beside C is written. "-run Anywhere -args -soak 50" does
// so for minutes.
func TestAnywhere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	turns := 200 * *soak
	few := testing.Short() || raceEnabled
	if few {
		turns = 30
	}
	r := rand.New(rand.NewPCG(uint64(turns), 11))
	routes := map[string]int{}
	products := []func(*testing.T, *rand.Rand) string{
		anywhere[float32, bf16.BF16], anywhere[bf16.BF16, bf16.BF16], anywhere[float32, float16.Float16],
		anywhere[float32, float32], anywhere[float16.Float16, float32],
	}
	for range turns {
		routes[products[r.IntN(len(products))](t, r)]++
	}
	t.Logf("products by route: %v", routes)
	for _, route := range []string{"caller", "slabs", "columns", "ring"} {
		if routes[route] == 0 && !few {
			t.Errorf("of %d products none took the route %q: %v", turns, route, routes)
		}
	}
}

// anywhere multiplies one product, and returns the route that it took.
func anywhere[O gemm.Output, I gemm.Element](t *testing.T, r *rand.Rand) string {
	runtime.GOMAXPROCS([]int{1, 2, 3, 4, 6, 16}[r.IntN(6)])
	defer gemm.PretendL2([]int{1, 256 << 10, 1 << 20, 2 << 20}[r.IntN(4)])()
	defer gemm.PretendL3([]int{-1, 8 << 20, 300 << 20}[r.IntN(3)])()
	defer gemm.PretendIntel(r.IntN(2) == 0)()
	defer gemm.PretendHalves(r.IntN(2) == 0)()
	arith := arithmetics[r.IntN(8)/7]
	names := kernelsOf(arith, typeOf[I]())
	name := names[r.IntN(len(names))]
	k, err := asm.SelectArithmetic(typeOf[I](), arith, name)
	if err != nil {
		t.Fatal(err)
	}
	most := 100_000_000 // multiply-adds
	if slowKernel(name) || raceEnabled {
		most = 5_000_000
	}
	s := size(extent(r), extent(r), extent(r))
	for s.m*s.n*s.k > most || max(s.m*s.k, s.k*s.n, s.m*s.n) > 3<<20 {
		s.m, s.n, s.k = extent(r), extent(r), extent(r)
	}
	s.seed, s.atStart = r.Uint64(), r.IntN(2) == 0
	s.ta, s.tb, s.tc, s.packed = r.IntN(4) == 0, r.IntN(3) == 0, r.IntN(8) == 0, r.IntN(4) == 0
	s.padA, s.padB, s.padC = r.IntN(3)*r.IntN(9), r.IntN(3)*r.IntN(9), r.IntN(3)*r.IntN(9)
	if r.IntN(4) == 0 {
		s.alpha, s.beta = 0.75, float32(r.IntN(3))-1
	}
	workers := r.IntN(2) * (1 + r.IntN(7))
	what := []gemm.Option{gemm.WithArithmetic(arith), gemm.WithKernel(k.Name)}

	e, err := gemm.New() // whose plans are for this machine only
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	o := build[O, I](t, s)
	defer o.free()
	var b gemm.AnyMatrix = o.b
	if s.packed {
		if b, err = gemm.Pack(o.b, what...); err != nil {
			t.Fatal(err)
		}
	}
	old := slices.Clone(o.c.Data)
	var st gemm.Stats
	defer func() {
		if t.Failed() {
			t.Logf("%+v, %d workers: %v on %d processors", s, workers, st, runtime.GOMAXPROCS(0))
		}
	}()
	multiply := func(opts ...gemm.Option) []O {
		copy(o.c.Data, old)
		own := []gemm.Option{gemm.WithAlpha(s.alpha), gemm.WithBeta(s.beta), gemm.WithStats(&st)}
		if err := e.Multiply(o.c, o.a, b, slices.Concat(what, opts, own)...); err != nil {
			t.Fatal(err)
		}
		checkGaps(t, s, o.c, old)
		return dense(o.c)
	}
	want := multiply(gemm.WithDepth(2), gemm.WithWorkers(2))
	if runtime.GOARCH == "amd64" && r.IntN(4) == 0 {
		o.a.Data, o.b.Data, o.c.Data = oddly(o.a.Data), oddly(o.b.Data), oddly(o.c.Data)
		if !s.packed {
			b = o.b
		}
	}
	got := multiply(gemm.WithWorkers(workers))
	same(t, got, want, s.n)
	return st.Route
}

// oddly returns a copy of s at an odd address, as elements have in a file that is mapped.
func oddly[T gemm.Element](s []T) []T {
	memory := make([]byte, 1+int(unsafe.Sizeof(s[0]))*len(s))
	odd := unsafe.Slice((*T)(unsafe.Pointer(&memory[1])), len(s))
	copy(odd, s)
	return odd
}

// extent returns a number from 1 to 5000, of any magnitude, and often one that tiles and
// lines divide.
func extent(r *rand.Rand) int {
	n := int(math.Exp(math.Sqrt(r.Float64()) * math.Log(5000)))
	if unit := 1 << r.IntN(7); n > unit && r.IntN(3) > 0 {
		n = n / unit * unit
	}
	return n
}
