package barrier

import (
	"testing"
	"time"
)

func mustNew(tb testing.TB, count int) *Barrier {
	tb.Helper()
	b, err := New(count)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// observing makes the benchmarks, which watch nothing, legal where invariants are checked.
func observing(b *Barrier) {
	if invariants {
		b.TestWaitParity(0)
		b.TestWaitParity(1)
	}
}

func BenchmarkArrive(b *testing.B) {
	bar := mustNew(b, MaxCount)
	for b.Loop() {
		bar.Arrive()
		observing(bar)
	}
}

func BenchmarkArriveComplete(b *testing.B) {
	bar := mustNew(b, 1)
	for b.Loop() {
		bar.Arrive()
		observing(bar)
	}
}

func BenchmarkArriveN(b *testing.B) {
	bar := mustNew(b, 64)
	for b.Loop() {
		bar.ArriveN(32)
		observing(bar)
	}
}

func BenchmarkArriveNoComplete(b *testing.B) {
	bar := mustNew(b, MaxCount)
	n := 0
	for b.Loop() {
		if n++; n == MaxCount {
			bar.Arrive()
			n = 1
		}
		bar.ArriveNoComplete(1)
		observing(bar)
	}
}

func BenchmarkArriveDrop(b *testing.B) {
	bar := mustNew(b, MaxCount)
	n := 0
	for b.Loop() {
		if n++; n == MaxCount {
			b.StopTimer()
			bar.Invalidate()
			if err := bar.Init(MaxCount); err != nil {
				b.Fatal(err)
			}
			n = 1
			b.StartTimer()
		}
		bar.ArriveDrop()
	}
}

// The pair of a copy: announce, land and complete the phase.
func BenchmarkArriveExpectTxCompleteTx(b *testing.B) {
	bar := mustNew(b, 1)
	for b.Loop() {
		bar.ArriveExpectTx(4096)
		bar.CompleteTx(4096)
		observing(bar)
	}
}

func BenchmarkExpectTxCompleteTx(b *testing.B) {
	bar := mustNew(b, 1)
	for b.Loop() {
		bar.ExpectTx(4096)
		bar.CompleteTx(4096)
	}
}

func BenchmarkTestWait(b *testing.B) {
	bar := mustNew(b, 1)
	t := bar.Arrive()
	for b.Loop() {
		if !bar.TestWait(t) {
			b.Fatal("phase not complete")
		}
	}
}

func BenchmarkTestWaitParity(b *testing.B) {
	bar := mustNew(b, 1)
	for b.Loop() {
		if !bar.TestWaitParity(1) {
			b.Fatal("phase not complete")
		}
	}
}

func BenchmarkWaitParityReady(b *testing.B) {
	bar := mustNew(b, 1)
	for b.Loop() {
		bar.WaitParity(1)
	}
}

func BenchmarkTryWaitReady(b *testing.B) {
	bar := mustNew(b, 1)
	t := bar.Arrive()
	for b.Loop() {
		if !bar.TryWait(t, time.Second) {
			b.Fatal("phase not complete")
		}
	}
}

// A wait that may not block, on a phase that is not complete.
func BenchmarkTryWaitParityPoll(b *testing.B) {
	bar := mustNew(b, 1)
	for b.Loop() {
		if bar.TryWaitParity(0, 0) {
			b.Fatal("phase complete")
		}
	}
}

func BenchmarkInitInvalidate(b *testing.B) {
	var bar Barrier
	for b.Loop() {
		if err := bar.Init(1); err != nil {
			b.Fatal(err)
		}
		bar.Invalidate()
	}
}

// Every processor arrives on one barrier.
func BenchmarkArriveContended(b *testing.B) {
	bar := mustNew(b, MaxCount)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			bar.Arrive()
			observing(bar)
		}
	})
}

// handOver plays ping-pong over two barriers; an operation is a round trip,
// which is two hand-overs.
func handOver(b *testing.B) {
	ping, pong := mustNew(b, 1), mustNew(b, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range b.N {
			ping.WaitParity(uint32(i))
			pong.Arrive()
		}
	}()
	b.ResetTimer()
	for i := range b.N {
		ping.Arrive()
		pong.WaitParity(uint32(i))
	}
	<-done
}

func BenchmarkRoundTrip(b *testing.B) { handOver(b) }

func BenchmarkRoundTripParked(b *testing.B) {
	setSpin(b, 0)
	handOver(b)
}
