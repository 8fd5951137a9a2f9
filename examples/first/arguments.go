package main

import (
	"testing"

	"example.com/leafhopper/internal/cli"
)

// A program of a folder has no arguments, which is not worth a line of the one that README.md shows.
func init() {
	if !testing.Testing() {
		cli.NoArguments()
	}
}
