//go:build amd64 && !purego

package asm

// The stream kernels of AVX2, for up to 4 rows of A; see streamBlock.

//go:noescape
func stream256S1Words(c *streamBlock)

//go:noescape
func stream256S2Words(c *streamBlock)

//go:noescape
func stream256S4Words(c *streamBlock)

//go:noescape
func stream256S1BF16(c *streamBlock)

//go:noescape
func stream256S2BF16(c *streamBlock)

//go:noescape
func stream256S4BF16(c *streamBlock)

//go:noescape
func stream256S1F16(c *streamBlock)

//go:noescape
func stream256S2F16(c *streamBlock)

//go:noescape
func stream256S4F16(c *streamBlock)

//go:noescape
func stream256T1Words(c *streamBlock)

//go:noescape
func stream256T2Words(c *streamBlock)

//go:noescape
func stream256T4Words(c *streamBlock)

//go:noescape
func stream256T1BF16(c *streamBlock)

//go:noescape
func stream256T2BF16(c *streamBlock)

//go:noescape
func stream256T4BF16(c *streamBlock)

//go:noescape
func stream256T1F16(c *streamBlock)

//go:noescape
func stream256T2F16(c *streamBlock)

//go:noescape
func stream256T4F16(c *streamBlock)

//go:noescape
func stream256P1Words(c *streamBlock)

//go:noescape
func stream256P2Words(c *streamBlock)

//go:noescape
func stream256P4Words(c *streamBlock)

//go:noescape
func stream256P1BF16(c *streamBlock)

//go:noescape
func stream256P2BF16(c *streamBlock)

//go:noescape
func stream256P4BF16(c *streamBlock)

//go:noescape
func stream256P1F16(c *streamBlock)

//go:noescape
func stream256P2F16(c *streamBlock)

//go:noescape
func stream256P4F16(c *streamBlock)
