package gemm_test

import (
	"os"
	"strings"
	"testing"
)

// TestREADME checks that the program in the README is Example, which compiles
// and whose output is checked.
func TestREADME(t *testing.T) {
	_, shown, ok := strings.Cut(readFile(t, "../README.md"), "\n```go\n")
	shown, _, closed := strings.Cut(shown, "\n```\n")
	if !ok || !closed {
		t.Fatal("README.md has no block of Go")
	}
	_, body, ok := strings.Cut(readFile(t, "example_test.go"), "\nfunc Example() {\n")
	body, _, closed = strings.Cut(body, "\n\t// Output:")
	if !ok || !closed {
		t.Fatal("example_test.go has no Example with an output")
	}
	var lines []string
	for line := range strings.SplitSeq(body, "\n") {
		lines = append(lines, strings.TrimPrefix(line, "\t"))
	}
	if want := strings.Join(lines, "\n"); shown != want {
		t.Errorf("README.md shows\n\n%s\n\nand Example is\n\n%s", shown, want)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}
