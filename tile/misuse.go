package tile

import (
	"fmt"

	"example.com/leafhopper/internal/enum"
)

// A Misuse is a copy that the GPU refuses or leaves undefined, or a tensor map that cannot be. Copies, reductions,
// prefetches, [NewTensorMap] and the methods of [Descriptor] return it, alone or wrapped. What is wrong with the
// barrier of a copy is none: that error wraps a [*barrier.Misuse], or says that barriers are missing.
type Misuse struct {
	Rule   Rule
	Detail string // the operation, the operand, and the values that broke the rule
}

// Error returns "tile: detail".
func (m *Misuse) Error() string { return "tile: " + m.Detail }

// A Rule is one of the rules of copies.
type Rule uint8

const (
	// RuleBytes: sizes are those that a copy can have, and both sides hold them, without an overlap (PTX 9.7.9.25,
	// cp.async.bulk).
	RuleBytes Rule = 1 + iota
	// RuleAlignment: addresses, sizes and inner coordinates are multiples of what the copy needs, and addresses and sizes
	// not negative (CUDA C++ Programming Guide, alignment of TMA copies).
	RuleAlignment
	// RuleMap: a tensor map is one that the driver makes, coordinates are those that it has, of a store not negative, a
	// type has the operation, and a cluster the CTAs of the mask (PTX 9.7.9.27, cp.async.bulk.tensor; 9.7.9.28,
	// tensormap.replace).
	RuleMap
)

var ruleText = [...]string{
	RuleBytes:     "bytes",
	RuleAlignment: "alignment",
	RuleMap:       "tensor map",
}

// String names the rule.
func (r Rule) String() string { return enum.Name("Rule", ruleText[:], r) }

func misuse(r Rule, format string, args ...any) *Misuse {
	return &Misuse{r, fmt.Sprintf(format, args...)}
}
