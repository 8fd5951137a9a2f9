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
		q.m, q.n, q.k, a.Type, a.Out, formNames[q.formB], count(q.procs, "worker"), k.Name, k.MR, k.NR, on.name, on.l2>>10)
	fmt.Fprintf(&t, "shared   %s\n", sharingSays[g.share])
	fmt.Fprintf(&t, "A        %s\nB        %s\nsums     wait %s\n", sourceASays[g.a], sourceBSays[g.b], keeperSays[g.sums])
	fmt.Fprintf(&t, "plan     %v\n", &g)
	q.others(&t, &g)
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

var (
	formNames   = [...]string{"in rows", "along K", "packed"}
	sharingSays = [...]string{"by nobody: its caller computes it", "by slabs of C, for which each worker fetches what they need",
		"by columns of B, by which each worker multiplies all of A", "by a ring, whose slots workers fill and multiply from"}
	sourceASays = [...]string{"from where it lies", "from panels that who computes packs", "from panels in slots, packed once for all"}
	sourceBSays = [...]string{"from where it lies, by tiles of any width", "once, from where it lies or is packed, by kernels for few rows",
		"from where it lies, its columns as rows of A", "from the panels that were packed before", "from panels that who computes packs first",
		"from panels that are packed behind the products of those before", "from pieces that the kernel packs as it multiplies",
		"from panels in slots, packed once for all", "as blocks of K side by side, as A, too"}
	keeperSays = [...]string{"nowhere: the kernel adds up all of K", "in C", "in memory of who computes", "in memory of the engine"}
)

// others says why q is not shared otherwise than g has it.
func (q *problem) others(t *strings.Builder, g *Plan) {
	workers := q.procs
	c := q.crowd(workers)
	say := func(what string, is bool, format string, args ...any) {
		if !is {
			fmt.Fprintf(t, "not by   %s: %s\n", what, fmt.Sprintf(format, args...))
		}
	}
	if g.share == byCaller && q.alone(c) {
		fmt.Fprintf(t, "no other: %.3g MFLOP count as %.3g, and up to %.3g stay with their caller\n", q.flops()/1e6, q.counted(c)/1e6, q.on.shared[c]/1e6)
		return
	}
	say("caller", g.share == byCaller, "%.3g MFLOP count as %.3g, and up to %.3g stay with it", q.flops()/1e6, q.counted(c)/1e6, q.on.shared[c]/1e6)
	rows := &q.on.columns[c]
	say("columns", g.share == byColumns, "%d rows are to be at most %d, or %d if B takes at most %.2g of the caches; it has %d elements, and is to have %d",
		q.m, rows.most[q.formB], rows.held[q.formB], rows.part[q.formB], q.n*q.k, streamMin)
	switch each := q.each(g, workers); {
	case g.share == byColumns:
		say("slabs", false, "of so few rows B is read but once")
	case each > 0:
		say("slabs", g.share <= bySlabs, "%.3g MFLOP of each worker are to be at most %.3g", q.flops()/1e6/float64(workers), each/1e6)
	default:
		say("slabs", g.share <= bySlabs, "A and B are to be at most %.3g and %.3g second-level caches of each worker, or A %d KiB", q.on.nearA, q.on.nearB, int(q.on.nearRows)>>10)
	}
	say("ring", g.share == byRing, "it is for what is too large for the others")
}
