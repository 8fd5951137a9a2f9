package gemm

import (
	"fmt"
	"strings"

	"example.com/leafhopper/asm"
)

// A Question is a product to explain: its sizes, the types of A and B and of C, whether A and B lie transposed or B is
// packed, and who computes.
type Question struct {
	M, N, K        int
	Type, Out      asm.Type
	TransA, TransB bool
	Packed         bool
	Workers        int    // that may compute; 0 is all
	Machine        string // to pretend, one of Machines; "" is this one
	Kernel         string // "" is the best
}

// A pretended machine is one that decisions can be asked about anywhere.
type pretended struct {
	name        string
	bf16, words string // kernels, of bf16 and of other types
	machine     machine
}

var machines = []pretended{
	{"zen3", "avx2", "avx2", machine{name: "zen3", l2: 512 << 10, l3: 32 << 20}},
	{"zen4", "avx512bf16", "avx512", machine{name: "zen4", l2: 1 << 20, l3: 32 << 20}},
	{"zen5", "avx512bf16", "avx512", machine{name: "zen5", l2: 1 << 20, l3: 32 << 20}},
	{"intel", "avx512", "avx512", machine{name: "intel", l2: 2 << 20, l3: 48 << 20}},
	{"amx", "amx", "avx512", machine{name: "intel", l2: 2 << 20, l3: 260 << 20}},
	{"go", "go", "go", machine{name: "other", l2: 1 << 20, l3: 32 << 20}},
}

// Machines returns the names of the machines that [Explain] can pretend.
func Machines() (names []string) {
	for _, m := range machines {
		names = append(names, m.name)
	}
	return names
}

// kernel returns the kernel for elements of type t.
func (m *pretended) kernel(t asm.Type) *asm.Kernel {
	if t == asm.BF16 || is8Bit(t) {
		return asm.Named(m.bf16)
	}
	return asm.Named(m.words)
}

// Explain says in some ten lines how a product would be computed in native arithmetic, and why not otherwise.
// It is an error if there is no such machine or kernel, or if a size is less than 1.
func Explain(a Question) (string, error) {
	if min(a.M, a.N, a.K) < 1 {
		return "", fmt.Errorf("gemm: Explain: %dx%dx%d has a size less than 1", a.M, a.N, a.K)
	}
	s := settings{alpha: 1, workers: a.Workers, kernel: a.Kernel}
	on := here
	var k *asm.Kernel
	for i := range machines {
		if m := &machines[i]; m.name == a.Machine {
			other := m.machine
			on, k = other.tune(), m.kernel(a.Type)
		}
	}
	switch {
	case a.Machine != "" && k == nil:
		return "", fmt.Errorf("gemm: Explain: there is no machine %q; machines: %s", a.Machine, strings.Join(Machines(), ", "))
	case a.Machine == "" || a.Kernel != "":
		var err error
		if k, err = s.kernelFor(a.Type); err != nil {
			return "", err
		}
	}
	p := a.product(k)
	p.survey(on, &s)
	q := &p.problem
	if q.workers = a.Workers; q.workers == 0 {
		q.workers = here.cores()
	}
	q.procs = q.workers
	if q.alone(q.crowd(q.workers)) {
		q.workers = 1
	}
	g := choose(q)
	var t strings.Builder
	fmt.Fprintf(&t, "product  %dx%dx%d, %v to %v, B %s, of %s, kernel %s (%dx%d) on %s: second-level caches of %d KiB\n",
		q.m, q.n, q.k, a.Type, a.Out, q.formB, count(q.procs, "worker"), k.Name, k.MR, k.NR, on.name, on.l2>>10)
	q.explain(&t, &g)
	return t.String(), nil
}

// product returns the product, without operands.
func (a *Question) product(k *asm.Kernel) *product {
	p := &product{problem: problem{k: a.K, kernel: k}, alpha: 1}
	p.a = view{rows: a.M, cols: a.K, stride: a.K, elem: a.Type, trans: a.TransA}
	p.b = view{rows: a.K, cols: a.N, stride: a.N, elem: a.Type, trans: a.TransB && !a.Packed, packed: a.Packed && a.N > 1}
	p.c = view{rows: a.M, cols: a.N, stride: a.N, elem: a.Out}
	if a.TransA {
		p.a.stride = a.M
	}
	if p.b.trans {
		p.b.stride = a.K
	}
	p.vector()
	p.pose()
	return p
}
