package main

import (
	"os"
	"testing"
)

// TestPicture checks that the picture is that of the tables.
func TestPicture(t *testing.T) {
	page, err := os.ReadFile(tables)
	if err != nil {
		t.Fatal(err)
	}
	want, err := draw(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(picture); err != nil || string(got) != want {
		t.Errorf("%s is not of %s, %v: go generate ./docs/pictures", picture, tables, err)
	}
}
