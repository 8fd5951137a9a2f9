package barrier

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A default run completes some three million phases, one under the race
// detector a million; "go test -race -run Stress -soak 10" ten times as many.
var soak = flag.Int("soak", 1, "multiply the phases of the stress tests")

// stressPhases scales a number of phases to the mode of the run.
func stressPhases(n int) int {
	switch {
	case testing.Short():
		return n / 50
	case raceEnabled:
		return n / 3 * *soak
	}
	return n * *soak
}

// stressSpins runs f with waits that spin as they do by default, that park
// at once, and that do some of each.
func stressSpins(t *testing.T, f func(t *testing.T, share int)) {
	for _, s := range []struct {
		d     time.Duration
		share int // of the phases that f is to run, which cost more parked
	}{{spinFor, 1}, {2 * time.Microsecond, 2}, {0, 4}} {
		t.Run(fmt.Sprint("spin=", s.d), func(t *testing.T) {
			setSpin(t, s.d)
			f(t, s.share)
		})
	}
}

// TestStressTeam meets at one barrier in teams of goroutines, half of them
// waiting by token and half by parity. Everybody writes a plain variable in a phase
// and reads everybody's in the next, so a wait that passes early is a wrong sum
// here and a data race under the race detector.
func TestStressTeam(t *testing.T) {
	stressSpins(t, func(t *testing.T, share int) {
		for _, team := range []int{2, 3, 16} {
			phases := stressPhases(800_000/team) / share
			b := mustNew(t, team)
			cells := make([][2]int, team)
			var wg sync.WaitGroup
			for g := range team {
				wg.Go(func() {
					for p := range phases {
						cells[g][p%2] = p + g
						if tok := b.Arrive(); g%2 == 0 {
							b.Wait(tok)
						} else {
							b.WaitParity(uint32(p))
						}
						sum := 0
						for i := range cells {
							sum += cells[i][p%2]
						}
						if want := team*p + team*(team-1)/2; sum != want {
							t.Errorf("phase %d: sum %d, want %d", p, sum, want)
							return
						}
					}
				})
			}
			within(t, "the team", wg.Wait)
			if s := b.State(); s.Phase != phases%phaseMod || s.Pending != team || s.Parked != 0 {
				t.Errorf("after %d phases of %d: %v", phases, team, b)
			}
		}
	})
}

// TestStressRing runs producers and consumers over rings of slots as a kernel
// does: a producer waits for the empty barrier, announces the bytes of its slot and
// leaves the copy to an engine of its own, which books them off in two
// parts, sometimes before they are announced.
func TestStressRing(t *testing.T) {
	stressSpins(t, func(t *testing.T, share int) {
		for _, depth := range []int{1, 2, 5} {
			for _, consumers := range []int{1, 3} {
				ring(t, depth, consumers, stressPhases(60_000)/share)
			}
		}
	})
}

func ring(t *testing.T, depth, consumers, tiles int) {
	const words = 4
	type slot struct {
		full, empty Barrier
		data        [words]int
	}
	slots := make([]slot, depth)
	for i := range slots {
		if err := slots[i].full.Init(1); err != nil {
			t.Fatal(err)
		}
		if err := slots[i].empty.Init(consumers); err != nil {
			t.Fatal(err)
		}
	}
	copies := make(chan int, depth)
	var wg sync.WaitGroup
	wg.Go(func() { // copy engine
		for tile := range copies {
			s := &slots[tile%depth]
			for i := range s.data {
				s.data[i] = tile + i
				if i == words/2-1 || i == words-1 {
					s.full.CompleteTx(words / 2 * 8)
				}
			}
		}
	})
	wg.Go(func() { // producer
		defer close(copies)
		for tile := range tiles {
			s, lap := &slots[tile%depth], uint32(tile/depth)
			s.empty.WaitParity(lap + 1)
			if tile%3 == 0 {
				copies <- tile
				s.full.ArriveExpectTx(words * 8)
			} else {
				s.full.ArriveExpectTx(words * 8)
				copies <- tile
			}
		}
	})
	for range consumers {
		wg.Go(func() {
			for tile := range tiles {
				s, lap := &slots[tile%depth], uint32(tile/depth)
				s.full.WaitParity(lap)
				for i, got := range s.data {
					if got != tile+i {
						t.Errorf("tile %d word %d: got %d", tile, i, got)
					}
				}
				s.empty.Arrive()
			}
		})
	}
	within(t, "the ring", wg.Wait)
}

// TestStressBytes mixes every operation on one contended word: in each phase
// every goroutine announces and books off its bytes in random order and
// pieces around its arrival, and some leave for good. The barrier must go through
// exactly the phases scripted.
func TestStressBytes(t *testing.T) {
	const team = 8
	phases := stressPhases(40_000)
	b := mustNew(t, team)
	var completed atomic.Int64
	var wg sync.WaitGroup
	for g := range team {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			// Goroutine 0 stays to the end, the others leave one by one.
			last := phases - 1 - g*phases/(2*team)
			for p := range last + 1 {
				// Before the arrivals the balance of each is within its share
				// of the range, on either side.
				bytes := r.IntN(MaxTx / team)
				cut := r.IntN(bytes + 1)
				b.CompleteTx(cut)
				var tok Token
				switch {
				case p == last && g != 0:
					b.ArriveDropExpectTx(bytes)
				case r.IntN(2) == 0:
					tok = b.ArriveExpectTx(bytes)
				default:
					b.ExpectTx(bytes)
					tok = b.Arrive()
				}
				b.CompleteTx(bytes - cut)
				if p == last && g != 0 {
					return // the others do not wait for it any more, so its token may be stale by now
				}
				b.Wait(tok)
				if g == 0 {
					completed.Add(1)
				}
			}
		})
	}
	within(t, "the team", wg.Wait)
	if s := b.State(); completed.Load() != int64(phases) || s.Phase != phases%phaseMod || s.Pending != 1 ||
		s.Expected != 1 || s.Tx != 0 {
		t.Errorf("%d phases of %d, then %v", completed.Load(), phases, b)
	}
}

// TestLostWakeupWindows completes the phase inside the two windows of a park in which
// a wake-up could get lost: before the second look and between it and the sleep.
func TestLostWakeupWindows(t *testing.T) {
	setSpin(t, 0)
	for _, window := range []int{stageQueued, stageSleeping} {
		for name, wait := range waits {
			for _, elsewhere := range []bool{false, true} {
				b := mustNew(t, 2)
				tok := b.Arrive()
				fired := false
				setHook(t, func(stage int) {
					if stage != window || fired {
						return
					}
					fired = true
					if elsewhere {
						done := make(chan struct{})
						go func() { b.Arrive(); close(done) }()
						<-done
					} else {
						b.Arrive()
					}
				})
				within(t, name, func() {
					if !wait(b, tok) {
						t.Errorf("%s: false", name)
					}
				})
				if s := b.State(); !fired || s.Parked != 0 {
					t.Errorf("%s: hook ran: %v, then %v", name, fired, b)
				}
			}
		}
	}
}

// TestLostWakeupHammer hands a phase back and forth with every wait parking and both
// sides stumbling at random in the windows.
func TestLostWakeupHammer(t *testing.T) {
	setSpin(t, 0)
	var parks atomic.Uint64
	setHook(t, func(int) {
		if n := parks.Add(1); n*0x9E3779B97F4A7C15>>62 == 0 {
			runtime.Gosched()
		}
	})
	const pairs = 4
	rounds := stressPhases(100_000)
	var wg sync.WaitGroup
	for range pairs {
		ping, pong := mustNew(t, 1), mustNew(t, 1)
		wg.Go(func() {
			for i := range rounds {
				ping.WaitParity(uint32(i))
				pong.Arrive()
			}
		})
		wg.Go(func() {
			for i := range rounds {
				tok := ping.Arrive()
				for !pong.TryWaitParity(uint32(i), time.Second) {
				}
				if !ping.TestWait(tok) {
					t.Errorf("round %d: answered before the question", i)
				}
			}
		})
	}
	within(t, "the pairs", wg.Wait)
	if parks.Load() < uint64(rounds) {
		t.Errorf("%d parks in %d rounds: the test did not test", parks.Load(), rounds)
	}
}

// TestStressOvertaken completes whole laps of the phase number, as fast as it
// can, under a waiter that has just blocked, or spins, or sleeps.
func TestStressOvertaken(t *testing.T) {
	stressSpins(t, func(t *testing.T, share int) {
		b := mustNew(t, 1)
		rounds := stressPhases(20_000) / share
		waiting, returned := make(chan struct{}), make(chan struct{})
		go func() {
			for range waiting {
				b.WaitParity(0)
				returned <- struct{}{}
			}
		}()
		defer close(waiting)
		r := rand.New(rand.NewPCG(5, 6))
		within(t, "the waiter", func() {
			for range rounds {
				waiting <- struct{}{}
				for b.State().Parked == 0 {
					runtime.Gosched()
				}
				for range r.IntN(200) {
					b.CompleteTx(0)
				}
				for range phaseMod << r.IntN(2) {
					b.Arrive()
					observing(b)
				}
				<-returned
			}
		})
		if s := b.State(); s.Parked != 0 || s.Phase != 0 {
			t.Errorf("ends with %v", b)
		}
	})
}

// TestStressContended lets goroutines that never wait hit one word as fast as they can;
// an update that overwrites another shows in the sums.
func TestStressContended(t *testing.T) {
	const team, ops, dropped = 4, 200_000, 1000 // together less than MaxCount
	b := mustNew(t, MaxCount)
	var wg sync.WaitGroup
	for range team {
		wg.Go(func() {
			for i := range ops {
				b.ArriveNoComplete(1)
				b.ExpectTx(3)
				b.CompleteTx(2)
				if i < dropped {
					b.ArriveDrop()
				}
				b.CompleteTx(1)
			}
		})
	}
	wg.Wait()
	want := State{Live: true, Pending: MaxCount - team*(ops+dropped), Expected: MaxCount - team*dropped}
	if s := b.State(); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if invariants {
		return // what follows completes phases that nobody has looked at
	}
	// With a count of 1 every arrival is a phase of its own; none may vanish.
	b = mustNew(t, 1)
	var pending atomic.Int64
	for range team {
		wg.Go(func() {
			for range ops {
				pending.Add(int64(b.Arrive().Pending()))
			}
		})
	}
	wg.Wait()
	if s := b.State(); s.Phase != team*ops%phaseMod || pending.Load() != int64(team*ops) {
		t.Errorf("%d arrivals: %d tokens, %v", team*ops, pending.Load(), b)
	}
}
