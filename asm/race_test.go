//go:build race

package asm

// raceEnabled thins out the tests: under the race detector the plain-Go twins are many times slower.
const raceEnabled = true
