//go:build amd64 && !purego

package gemm_test

import (
	"fmt"
	"log"
	"strings"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/gemm"
)

// A token's row by a layer's weights takes as long as to read them, and so two workers share their columns.
func ExampleExplain() {
	text, err := gemm.Explain(gemm.Question{M: 1, N: 4096, K: 4096, Type: asm.BF16, Workers: 2, Machine: "zen4"})
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, " "); name != "product" && name != "plan" { // which are long
			fmt.Print(line)
		}
	}
	// Output:
	// shared   by columns of B, by which each worker multiplies all of A
	// A        from panels in slots, packed once for all
	// B        once, from where it lies or is packed, by kernels for few rows
	// sums     wait in memory of the engine
	// not by   caller: 33.6 MFLOP, and up to 0.655 stay with it
	// not by   slabs: columns come first, as B is read once for so few rows
	// not by   ring: it copies A and B for all, which is for what none of the others may compute
}
