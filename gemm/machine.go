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
	l2     int        // bytes of a second-level cache
	l3     int        // bytes of the last-level cache, -1 if it is not known
	intel  bool       // of Intel's, whose last caches are slower and shared by threads of others
	halved bool       // an instruction of 512 bits is carried out as two of 256, as on Zen 4
	cores  func() int // how many processors a call may keep busy if it is the only one
}

// here is the machine that this process runs on.
var here = &machine{
	l2:     cmp.Or(max(0, cpuid.CPU.Cache.L2), 1<<20),
	l3:     cpuid.CPU.Cache.L3,
	intel:  cpuid.CPU.VendorID == cpuid.Intel,
	halved: asm.Halves(),
	cores:  cores.Count,
}

// lineBytes is the size of a line of any cache.
const lineBytes = 64
