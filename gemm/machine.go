package gemm

import (
	"cmp"

	"github.com/klauspost/cpuid/v2"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/cores"
)

// A machine is what decisions know of the processor they are for: a value that is made once, reached
// through the product, and never changed while products use it. Tests pretend others.
type machine struct {
	name    string     // of its rows in the table of tunings: zen3, zen4, zen5, intel or other
	l2      int        // bytes of a second-level cache
	l3      int        // bytes of the last-level cache, -1 if it is not known
	cores   func() int // how many processors a call may keep busy if it is the only one
	tunings []tuning   // of asm.Kernels
}

// here is the machine that this process runs on.
var here = (&machine{
	name:  processor(),
	l2:    cmp.Or(max(0, cpuid.CPU.Cache.L2), 1<<20),
	l3:    cpuid.CPU.Cache.L3,
	cores: cores.Count,
}).tune()

// processor names this one.
func processor() string {
	switch c := &cpuid.CPU; {
	case c.VendorID == cpuid.Intel:
		return "intel"
	case c.VendorID != cpuid.AMD || c.Family < 0x19:
		return "other"
	case c.Family > 0x19:
		return "zen5"
	case c.Has(cpuid.AVX512F):
		return "zen4"
	}
	return "zen3"
}

// tune makes m's tunings.
func (m *machine) tune() *machine {
	for _, k := range asm.Kernels() {
		t := words
		t.l2, t.l3 = m.l2, m.l3
		for _, row := range tunings {
			if isFor(row.machine, m.name) && isFor(row.kernel, k.Name) {
				row.set(&t)
			}
		}
		m.tunings = append(m.tunings, t)
	}
	return m
}

// isFor reports whether a name in the table is that one, or any.
func isFor(row, name string) bool { return row == "" || row == name }

// tuned returns the tuning of k on m.
func (m *machine) tuned(k *asm.Kernel) *tuning { return &m.tunings[k.Index] }

// lineBytes is the size of a line of any cache.
const lineBytes = 64
