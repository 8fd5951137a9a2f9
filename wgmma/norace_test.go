//go:build !race

package wgmma

const raceEnabled = false
