package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output: [4 5 10 11]
}

// TestREADME checks that README.md begins with this program.
func TestREADME(t *testing.T) {
	var text [2]string
	for i, name := range []string{"../../README.md", "main.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text[i] = strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	_, shown, _ := strings.Cut(text[0], "\n``` go\n")
	if shown, _, _ = strings.Cut(shown, "```\n"); shown != text[1] {
		t.Errorf("README.md shows\n\n%s\n\nand the program is\n\n%s", shown, text[1])
	}
}
