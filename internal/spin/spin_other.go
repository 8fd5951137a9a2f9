//go:build !amd64 || purego

package spin

// procyield burns n calls of an empty function; n must be positive.
func procyield(n int) {
	for range n {
		relax()
	}
}

//go:noinline
func relax() {}
