//go:build amd64 && !purego

package sm

// frames sets pcs to the innermost return addresses of the goroutine's stack, zeros behind
// them if there are less, and reports that it has.
//
//go:noescape
func frames(pcs *stack) bool
