//go:build race

package wgmma

// raceEnabled shortens tests whose arithmetic takes too long under the race
// detector; that is on one goroutine and has no races.
const raceEnabled = true
