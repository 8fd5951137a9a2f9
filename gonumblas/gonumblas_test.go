package gonumblas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
	"example.com/leafhopper/gonumblas"
	"example.com/leafhopper/internal/race"
)

// own returns an implementation by package gemm, also in plain Go.
func own[F float](t *testing.T, opts ...gemm.Option) gonumblas.Implementation {
	t.Helper()
	of, _, _ := typeOf[F]()
	if _, err := asm.Select(of, ""); err != nil {
		t.Skip(err) // gonum computes all
	}
	e, err := gemm.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return gonumblas.Implementation{Engine: e}
}

// fewer returns how many of n cases there is time for.
func fewer(n int) int {
	if race.Enabled {
		return n / 4
	}
	return n
}

// TestRandom compares with float64, within the bound of package gemm or, where gonum computes, of a chain.
func TestRandom(t *testing.T) { both(t, testRandom[float32], testRandom[float64]) }

func testRandom[F float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	impls := [2]library{gonumblas.Implementation{}, own[F](t)}
	for _, routine := range routines {
		for i := range fewer(300) {
			p := random[F](r, routine, pick(r, 4, 12, 40, 150))
			q := p.clone()
			q.of(impls[i%2])
			if !slices.Equal(p.a, q.a) || !slices.Equal(p.b, q.b) {
				t.Fatalf("%v: an input was written", p)
			}
			p.check(t, q.c)
		}
	}
}

// TestIncrements has vectors that run backwards, or with other elements between.
func TestIncrements(t *testing.T) { both(t, testIncrements[float32], testIncrements[float64]) }

func testIncrements[F float](t *testing.T) {
	impl := own[F](t)
	_, _, unit := typeOf[F]()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p := random[F](r, "gemv", 100)
		lengths := p.shapes()
		p.ldb, p.ldc = pick(r, -2, -1, 1, 3), pick(r, -2, -1, 1, 3)
		p.b = p.b[:0]
		for range 3 * lengths[1][0] {
			p.b = append(p.b, F(r.NormFloat64()))
		}
		p.c = make([]F, 3*lengths[2][0])
		q, want := p.clone(), p.clone()
		q.of(impl)
		want.of(gonum.Implementation{})
		for i := range q.c {
			if diff := math.Abs(float64(q.c[i] - want.c[i])); diff > 2000*unit {
				t.Fatalf("%v: y[%d] is %v, want %v", p, i, q.c[i], want.c[i])
			}
		}
	}
}

// TestPanics holds what is wrong, one or two things at a time, to gonum's words.
func TestPanics(t *testing.T) { both(t, testPanics[float32], testPanics[float64]) }

func testPanics[F float](t *testing.T) {
	impl := own[F](t)
	words := func(p *call[F], of library) (words any) {
		defer func() { words = recover() }()
		p.of(of)
		return nil
	}
	r := rand.New(rand.NewPCG(1, 3))
	seen, wrong := map[any]bool{}, wrong[F]()
	for _, routine := range routines {
		for _, size := range []int{3, 70} {
			for i := range wrong {
				for j := i - fewer(i); j <= i; j++ {
					p := random[F](r, routine, 9)
					p.m, p.n, p.k, p.alpha = size, size+1, size+2, 2
					p.fill(r, 0)
					wrong[i](p)
					wrong[j](p)
					q := p.clone()
					got, want := words(q, impl), words(p.clone(), gonum.Implementation{})
					if got != want {
						t.Errorf("%v, changes %d and %d: panic %v, want %v", p, i, j, got, want)
					}
					if _, ok := want.(string); ok && !slices.Equal(q.c, p.c) {
						t.Errorf("%v, changes %d and %d: c was written", p, i, j)
					}
					seen[want] = true
				}
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d different panics", len(seen))
	}
}

// TestUnread has NaN in what must not be read: in A and B with alpha 0, in C with beta 0, in the other triangle.
func TestUnread(t *testing.T) { both(t, testUnread[float32], testUnread[float64]) }

func testUnread[F float](t *testing.T) {
	impl := own[F](t)
	r := rand.New(rand.NewPCG(1, 4))
	nan := F(math.NaN())
	for _, routine := range routines {
		inPlace := routine == "trmm" || routine == "trsm"
		for range fewer(200) {
			p := random[F](r, routine, pick(r, 4, 100))
			if p.alpha == 0 {
				for _, s := range [][]F{p.a, p.b} {
					for i := range s {
						s[i] = nan
					}
				}
			}
			for i := range p.c {
				if p.beta == 0 && !inPlace || inPlace && p.alpha == 0 || !p.writes(i) {
					p.c[i] = nan
				}
			}
			if inPlace || routine == "symm" {
				for i := range p.a {
					row, col := i/p.lda, i%p.lda
					if row != col && (row > col) != (p.ul == blas.Lower) || row == col && inPlace && p.d == blas.Unit {
						p.a[i] = nan
					}
				}
			}
			p.of(impl)
			for i, v := range p.c {
				if p.writes(i) == (v != v) {
					t.Fatalf("%v: element %d of c is %v", p, i, v)
				}
			}
		}
	}
}

// TestNotFinite has NaN and Inf in the inputs of a product that gonum, which skips zeros, would lose.
func TestNotFinite(t *testing.T) { both(t, testNotFinite[float32], testNotFinite[float64]) }

func testNotFinite[F float](t *testing.T) {
	impl := own[F](t)
	r := rand.New(rand.NewPCG(1, 5))
	for range 100 {
		p := random[F](r, "gemm", 60)
		p.m, p.n, p.k, p.alpha = p.m+8, p.n+8, p.k+8, 1
		p.fill(r, 0)
		for range 3 {
			p.a[r.IntN(len(p.a))] = pick(r, 0, F(math.Inf(1)), F(math.NaN()))
			p.b[r.IntN(len(p.b))] = pick(r, 0, F(math.Inf(-1)), F(math.NaN()))
		}
		q := p.clone()
		q.of(impl)
		for i := range p.m {
			for j := range p.n {
				var sum float64
				for k := range p.k {
					a, b := i*p.lda+k, k*p.ldb+j
					if p.tA != blas.NoTrans {
						a = k*p.lda + i
					}
					if p.tB != blas.NoTrans {
						b = j*p.ldb + k
					}
					sum += float64(p.a[a]) * float64(p.b[b])
				}
				got := float64(q.c[i*p.ldc+j])
				if math.IsNaN(got) != math.IsNaN(sum) || math.IsInf(got, 1) != math.IsInf(sum, 1) ||
					math.IsInf(got, -1) != math.IsInf(sum, -1) {
					t.Fatalf("%v: element (%d, %d) is %v, want %v", p, i, j, got, sum)
				}
			}
		}
	}
}

// TestNotFiniteBeyond has NaN in the last rows of B, or first, which a triangular matrix does not bring to the others.
func TestNotFiniteBeyond(t *testing.T) {
	both(t, testNotFiniteBeyond[float32], testNotFiniteBeyond[float64])
}

func testNotFiniteBeyond[F float](t *testing.T) {
	impl := own[F](t)
	r := rand.New(rand.NewPCG(1, 6))
	for _, routine := range []string{"trmm", "trsm"} {
		for range fewer(200) {
			p := random[F](r, routine, 150)
			p.alpha = 1
			lower := (p.ul == blas.Lower) == (p.tA == blas.NoTrans)
			size := p.n
			if p.s == blas.Left {
				size = p.m
			} else {
				lower = !lower
			}
			from := r.IntN(size)
			beyond := func(at int) bool { // depends on the NaN
				i := at % p.ldc
				if p.s == blas.Left {
					i = at / p.ldc
				}
				return i == from || (i > from) == lower
			}
			q := p.clone()
			for i := range q.c {
				if beyond(i) {
					q.c[i] = F(math.NaN())
				}
			}
			p.of(impl)
			q.of(impl)
			for i := range p.c {
				if !beyond(i) && p.c[i] != q.c[i] {
					t.Fatalf("%v: element %d of B is %v, without NaN from %d on %v", p, i, q.c[i], from, p.c[i])
				}
			}
		}
	}
}

// TestShared has operands that share memory: parts of one matrix, and what only gonum takes.
func TestShared(t *testing.T) { both(t, testShared[float32], testShared[float64]) }

func testShared[F float](t *testing.T) {
	impl := own[F](t)
	r := rand.New(rand.NewPCG(1, 7))
	for _, routine := range routines {
		if routine == "gemv" {
			continue
		}
		for range fewer(50) {
			p := random[F](r, routine, 2)
			p.m, p.n, p.k = 90, 90, 90
			p.fill(r, 0)
			whole := make([]F, 300*300)
			q := p.clone()
			q.a, q.b, q.c = whole[:90*300], whole[100:100+90*300], whole[200:200+89*300+90]
			if r.IntN(2) == 0 {
				q.c = whole[100*300:]
			}
			q.lda, q.ldb, q.ldc = 300, 300, 300
			for i := range whole {
				whole[i] = F(r.NormFloat64())
			}
			for _, m := range []struct{ to, from []F }{{q.a, p.a}, {q.b, p.b}, {q.c, p.c}} {
				for i := range len(m.from) / 90 {
					copy(m.to[i*300:], m.from[i*90:i*90+90])
				}
			}
			p.of(impl)
			q.of(impl)
			for i := range p.c {
				if p.c[i] != q.c[i/90*300+i%90] {
					t.Fatalf("%v: element %d of C is %v, in one matrix %v", p, i, p.c[i], q.c[i/90*300+i%90])
				}
			}
		}
	}
	for _, routine := range []string{"gemm", "gemv"} {
		p := &call[F]{routine: routine, tA: blas.Trans, tB: blas.Trans, m: 40, n: 40, k: 40, alpha: 1, beta: 1}
		p.fill(r, 0)
		p.c = p.a
		q := p.clone()
		q.c = q.a
		p.of(impl)
		q.of(gonum.Implementation{})
		if !slices.Equal(p.c, q.c) {
			t.Errorf("%s: C that is A is not what gonum makes of it", routine)
		}
	}
}

// TestConcurrent has goroutines compute at once what one computed before, with the shared engine and one of their own.
func TestConcurrent(t *testing.T) { both(t, testConcurrent[float32], testConcurrent[float64]) }

func testConcurrent[F float](t *testing.T) {
	var group sync.WaitGroup
	for _, impl := range []gonumblas.Implementation{{}, own[F](t, gemm.WithWorkers(3))} {
		for _, routine := range routines {
			r := rand.New(rand.NewPCG(1, 8))
			p := random[F](r, routine, 1)
			p.m, p.n, p.k, p.alpha = 200, 190, 180, 0.5
			p.fill(r, 0)
			want := p.clone()
			want.of(impl)
			for range 3 {
				q := p.clone()
				q.a, q.b = p.a, p.b // inputs are shared
				group.Go(func() {
					q.of(impl)
					if !slices.Equal(q.c, want.c) {
						t.Errorf("%v: other bits", q)
					}
				})
			}
		}
	}
	group.Wait()
}

// TestGonums has an engine that is closed, and one with a kernel for the other type: gonum computes.
func TestGonums(t *testing.T) { both(t, testGonums[float32], testGonums[float64]) }

func testGonums[F float](t *testing.T) {
	closed := own[F](t)
	closed.Engine.Close()
	kernel := "gof64"
	if of, _, _ := typeOf[F](); of == asm.F64 {
		kernel = "go"
	}
	r := rand.New(rand.NewPCG(1, 9))
	for _, impl := range []library{closed, own[F](t, gemm.WithKernel(kernel))} {
		for _, routine := range routines {
			p := random[F](r, routine, 100)
			q := p.clone()
			q.of(impl)
			p.check(t, q.c)
		}
	}
}

// TestAllocations checks that gemm and gemv allocate nothing in steady state.
func TestAllocations(t *testing.T) { both(t, testAllocations[float32], testAllocations[float64]) }

func testAllocations[F float](t *testing.T) {
	if race.Enabled {
		t.Skip("pools lose memory on purpose")
	}
	impls := []gonumblas.Implementation{own[F](t, gemm.WithWorkers(1))}
	of, _, _ := typeOf[F]()
	kernel, err := asm.Select(of, "")
	if err != nil {
		t.Fatal(err)
	}
	if kernel.ISA != "Go" { // or it is gonum's
		impls = append(impls, gonumblas.Implementation{})
	}
	for _, impl := range impls {
		for _, routine := range []string{"gemm", "gemv"} {
			for _, size := range []int{5, 40, 200} {
				p := &call[F]{routine: routine, tA: blas.Trans, tB: blas.NoTrans, alpha: 2, beta: 1}
				p.m, p.n, p.k = size, size, size
				p.fill(rand.New(rand.NewPCG(1, 10)), 0)
				var use library = impl
				// Of three turns, as the first who gives way has package runtime/metrics make its tables.
				least := math.Inf(1)
				for turn := 0; turn < 3 && least > 0; turn++ {
					least = min(least, testing.AllocsPerRun(50, func() { p.of(use) }))
				}
				if least > 0 {
					t.Errorf("%v, %s: %v allocations", p, kernel.Name, least)
				}
			}
		}
	}
}
