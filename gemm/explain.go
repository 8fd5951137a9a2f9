package gemm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/plan"
)

// A Question is a product to explain: its sizes, the types of A and B and of C, whether A and B lie transposed or B is
// packed, and who computes.
type Question struct {
	M, N, K        int
	Type, Out      asm.Type // the zero value is asm.BF16
	TransA, TransB bool
	Packed         bool
	Workers        int    // that may compute, on as many processors; 0 is as many as there are
	Batch          int    // such products in one call of MultiplyBatch; 0 is 1
	Machine        string // to pretend, one of Machines; "" is this one
	Kernel         string // of the machine; "" is the best
}

// Machines returns the names of the machines that [Explain] can pretend.
func Machines() (names []string) {
	for i := range plan.Machines {
		names = append(names, plan.Machines[i].Name)
	}
	return names
}

// Explain says in some ten lines how a product, or one of a batch, would be computed in native arithmetic, and why not
// otherwise. It is an error if there is no such machine, if it has no such kernel, if a size is less than 1 or memory
// cannot hold a matrix, or if C's type, the batch or the workers are none of a product's. In a build without assembly
// kernels do what plain Go does, on pretended machines, too.
func Explain(a Question) (string, error) {
	const most = min(math.MaxInt/16, 1<<47) // elements whose bytes an int counts, and those of sums; no memory has more
	switch {
	case min(a.M, a.N, a.K) < 1:
		return "", fmt.Errorf("gemm: Explain: %dx%dx%d has a size less than 1", a.M, a.N, a.K)
	case !fits(a.M, a.K, most) || !fits(a.K, a.N, most) || !fits(a.M, a.N, most):
		return "", fmt.Errorf("gemm: Explain: %dx%dx%d: there are no such matrices", a.M, a.N, a.K)
	case a.Out > asm.F32 && a.Out != asm.F64:
		return "", fmt.Errorf("gemm: Explain: C holds %v; it may hold bf16, f16, f32 or f64", a.Out)
	case (a.Type == asm.F64) != (a.Out == asm.F64):
		return "", fmt.Errorf("gemm: Explain: A and B hold %v and C %v: if one holds %v, all have to",
			a.Type, a.Out, asm.F64)
	case uint(a.Batch) > 1<<16:
		return "", fmt.Errorf("gemm: Explain: a batch of %d products, outside 0..%d", a.Batch, 1<<16)
	case uint(a.Workers) > MaxWorkers:
		return "", fmt.Errorf("gemm: Explain: %d workers, outside 0..%d", a.Workers, MaxWorkers)
	}
	on := plan.Here
	k, err := asm.Select(a.Type, a.Kernel)
	if a.Machine != "" {
		i := slices.Index(Machines(), a.Machine)
		if i < 0 {
			return "", fmt.Errorf("gemm: Explain: there is no machine %q; machines: %s",
				a.Machine, strings.Join(Machines(), ", "))
		}
		on = plan.Machines[i].Machine.Tune()
		k, err = plan.Machines[i].Kernel(a.Type, a.Kernel)
	}
	if err != nil {
		return "", fmt.Errorf("gemm: %w", err)
	}
	p, workers := a.product(k, on), cmp.Or(a.Workers, processors())
	var t strings.Builder
	if a.Batch > 1 {
		e, bt, how := new(Engine), new(batch), "one after the other"
		for range a.Batch {
			e.add(bt, &slab{product: *p}, on)
		}
		if bt.divide(workers); bt.shared == nil {
			how = fmt.Sprintf("each one worker's, in %s for %s", plan.Count(bt.all.Slabs(on.Tuned(k), workers), "slab"),
				plan.Count(workers, "worker"))
			workers = 1
		}
		fmt.Fprintf(&t, "batch    %d products, %s\n", a.Batch, how)
	}
	p.survey(on)
	p.Staff(workers, workers, false)
	g := plan.Choose(&p.Problem)
	turned := ""
	if p.M != a.M {
		turned = " as its transpose"
	}
	fmt.Fprintf(&t, "product  %dx%dx%d%s, %v to %v, B %s, of %s, kernel %s (%dx%d)",
		a.M, a.N, a.K, turned, a.Type, a.Out, p.FormB, plan.Count(p.Procs, "worker"), k.Name, k.MR, k.NR)
	fmt.Fprintf(&t, " on %s: second-level caches of %d KiB\n", cmp.Or(a.Machine, on.Name), on.L2>>10)
	p.Explain(&t, &g)
	return t.String(), nil
}

// product returns the product, without operands.
func (a *Question) product(k *asm.Kernel, on *plan.Machine) *product {
	p := &product{Problem: plan.Problem{K: a.K, Kernel: k, Elem: a.Type}, alpha: 1}
	p.a = view{rows: a.M, cols: a.K, elem: a.Type, trans: a.TransA}
	p.b = view{rows: a.K, cols: a.N, elem: a.Type, trans: a.TransB}
	p.c = view{rows: a.M, cols: a.N, elem: a.Out}
	for _, v := range []*view{&p.a, &p.b, &p.c} {
		_, v.stride = v.stored()
	}
	if a.Packed {
		p.b = panelsFor(k, a.Type, a.K, a.N)
		p.b.lie()
	}
	p.fewColumns(on)
	p.pose()
	return p
}
