package gemm

import (
	"cmp"

	"github.com/klauspost/cpuid/v2"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/internal/cores"
)

// What the policies know of the machine. Tests pretend another one.
var (
	bytesL3 = cpuid.CPU.Cache.L3                        // of the last-level cache, -1 if it is not known
	bytesL2 = cmp.Or(max(0, cpuid.CPU.Cache.L2), 1<<20) // of a second-level cache
	intel   = cpuid.CPU.VendorID == cpuid.Intel
	halved  = asm.Halves() // vectors of AVX-512
	// available returns how many processors a call may keep busy if it is the only one.
	available = cores.Count
)

// lineBytes is the size of a line of any cache.
const lineBytes = 64
