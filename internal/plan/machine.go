package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"example.com/leafhopper/asm"
)

// A Machine is what decisions know of the processor they are for: a value that is made once, reached
// through the product, and never changed while products use it. Tests pretend others.
type Machine struct {
	Name    string   // of its rows in the table of tunings: zen3, zen4, zen5, intel or other
	L2      int      // bytes of a second-level cache
	L3      int      // bytes of the last-level cache, -1 if it is not known
	VBMI    bool     // it has AVX512-VBMI, with which kernels stream fp8
	Tunings []Tuning // of asm.Kernels
}

// Here is the machine that this process runs on.
var Here = Machine{
	Name: asm.Processor(),
	L2:   cmp.Or(max(0, cpuid.CPU.Cache.L2), 1<<20),
	L3:   cpuid.CPU.Cache.L3,
	VBMI: asm.Has("AVX512VBMI"),
}.Tune()

// Tune returns m with its tunings.
func (m Machine) Tune() *Machine {
	for _, k := range asm.Kernels() {
		t := words
		t.l2, t.l3, t.vbmi = m.L2, m.L3, m.VBMI
		for _, row := range tunings {
			if cmp.Or(row.machine, m.Name) == m.Name && cmp.Or(row.kernel, k.Name) == k.Name {
				row.set(&t)
			}
		}
		m.Tunings = append(m.Tunings, t)
	}
	return &m
}

// Tuned returns the tuning of k on m.
func (m *Machine) Tuned(k *asm.Kernel) *Tuning { return &m.Tunings[k.Index] }

// A Pretended machine is one that decisions can be asked about anywhere.
type Pretended struct {
	Name    string
	kernels string // that it runs beside those in Go, the best one first
	Machine Machine
}

// doubles are the kernels of float64 with AVX-512.
const doubles = " avx512f64 avx2f64"

// Machines are those that can be pretended.
var Machines = []Pretended{
	{"zen3", "avx2 avx2f64", Machine{Name: "zen3", L2: 512 << 10, L3: 32 << 20}},
	{"zen4", "avx512bf16 avx512 avx2" + doubles, Machine{Name: "zen4", L2: 1 << 20, L3: 32 << 20, VBMI: true}},
	{"zen5", "avx512bf16 avx512 avx2" + doubles, Machine{Name: "zen5", L2: 1 << 20, L3: 32 << 20, VBMI: true}},
	{"intel", "avx512 avx512bf16 avx2" + doubles, Machine{Name: "intel", L2: 2 << 20, L3: 48 << 20, VBMI: true}},
	{"amx", "amx avx512 avx512bf16 avx2" + doubles, Machine{Name: "intel", L2: 2 << 20, L3: 260 << 20, VBMI: true}},
	{"go", "", Machine{Name: "other", L2: 1 << 20, L3: 32 << 20}},
}

// Kernel returns the native kernel called name, or the best one if that is empty, for elements of type t.
func (m *Pretended) Kernel(t asm.Type, name string) (*asm.Kernel, error) {
	var choices []string
	for _, other := range strings.Fields(m.kernels + " go gobf16 goamx gof64") {
		if k := asm.Named(other); k.Accepts(t) {
			if name == "" || name == other {
				return k, nil
			}
			choices = append(choices, other)
		}
	}
	return nil, fmt.Errorf("machine %s has no kernel %q for %v; choices: %s",
		m.Name, name, t, strings.Join(choices, ", "))
}

// LineBytes is the size of a line of any cache.
const LineBytes = 64
