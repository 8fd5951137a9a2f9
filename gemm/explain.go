package gemm

import (
	"fmt"
	"slices"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
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
	machine     plan.Machine
}

var machines = []pretended{
	{"zen3", "avx2", "avx2", plan.Machine{Name: "zen3", L2: 512 << 10, L3: 32 << 20}},
	{"zen4", "avx512bf16", "avx512", plan.Machine{Name: "zen4", L2: 1 << 20, L3: 32 << 20}},
	{"zen5", "avx512bf16", "avx512", plan.Machine{Name: "zen5", L2: 1 << 20, L3: 32 << 20}},
	{"intel", "avx512", "avx512", plan.Machine{Name: "intel", L2: 2 << 20, L3: 48 << 20}},
	{"amx", "amx", "avx512", plan.Machine{Name: "intel", L2: 2 << 20, L3: 260 << 20}},
	{"go", "go", "go", plan.Machine{Name: "other", L2: 1 << 20, L3: 32 << 20}},
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
	on := plan.Here
	k, err := s.selectKernel(a.Type, nil)
	if a.Machine != "" {
		i := slices.Index(Machines(), a.Machine)
		if i < 0 {
			return "", fmt.Errorf("gemm: Explain: there is no machine %q; machines: %s",
				a.Machine, strings.Join(Machines(), ", "))
		}
		m := machines[i]
		if on = m.machine.Tune(); a.Kernel == "" {
			k, err = m.kernel(a.Type), nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("gemm: %w", err)
	}
	p := a.product(k)
	p.survey(on)
	q := &p.Problem
	if q.Workers = a.Workers; q.Workers == 0 {
		q.Workers = plan.Here.Cores()
	}
	q.Procs = q.Workers
	if q.Alone(q.Crowd(q.Workers)) {
		q.Workers = 1
	}
	g := plan.Choose(q)
	var t strings.Builder
	fmt.Fprintf(&t, "product  %dx%dx%d, %v to %v, B %s, of %s, kernel %s (%dx%d)",
		q.M, q.N, q.K, a.Type, a.Out, q.FormB, count(q.Procs, "worker"), k.Name, k.MR, k.NR)
	fmt.Fprintf(&t, " on %s: second-level caches of %d KiB\n", on.Name, on.L2>>10)
	q.Explain(&t, &g)
	return t.String(), nil
}

// product returns the product, without operands.
func (a *Question) product(k *asm.Kernel) *product {
	p := &product{Problem: plan.Problem{K: a.K, Kernel: k}, alpha: 1}
	p.a = view{rows: a.M, cols: a.K, stride: a.K, elem: a.Type, trans: a.TransA}
	p.b = view{
		rows: a.K, cols: a.N, stride: a.N, elem: a.Type,
		trans: a.TransB && !a.Packed, packed: a.Packed && a.N > 1,
	}
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
