//go:build !amd64 || purego

package bf16

import "iter"

// paths yields the name of the only way the conversions can take in this build,
// and that those of assembly are out of reach.
func paths() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		_ = yield("assembly", false) && yield("go", true)
	}
}
