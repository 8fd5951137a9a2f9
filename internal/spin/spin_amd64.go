//go:build amd64 && !purego

package spin

// procyield executes PAUSE n times; n must be positive.
//
//go:noescape
func procyield(n int)
