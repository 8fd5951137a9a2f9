//go:build amd64 && !purego

package sm

// frames sets pcs to the innermost return addresses of the goroutine's stack, zeros behind
// them if there are less, and returns what tells the goroutine from all others.
//
//go:noescape
func frames(pcs *stack) (id uintptr)
