package barrier

import (
	"testing"
	"unsafe"
)

func TestLayout(t *testing.T) {
	if s := unsafe.Sizeof(Barrier{}); s%64 != 0 {
		t.Errorf("a Barrier takes %d bytes, want a multiple of 64", s)
	}
	if s := unsafe.Sizeof(Token{}); s != 8 {
		t.Errorf("a Token takes %d bytes, want 8", s)
	}
	// The fields must neither overlap nor leave a bit unused.
	var sum uint64
	for _, m := range []uint64{pendingMask, fieldMask << expectedShift, txMask, (phaseMod - 1) << phaseShift} {
		if sum&m != 0 {
			t.Errorf("field %#x overlaps %#x", m, sum)
		}
		sum |= m
	}
	if sum != 1<<64-1 {
		t.Errorf("the fields cover %#x", sum)
	}
}

// TestParity walks the parity through more phases than the phase field counts.
func TestParity(t *testing.T) {
	b := mustNew(t, 1)
	for phase := range uint32(3*phaseMod + 1) {
		// Only the low bit counts.
		for _, high := range []uint32{0, 2, 1<<32 - 2} {
			if b.TestWaitParity(phase&1 | high) {
				t.Fatalf("phase %d: its own parity passes", phase)
			}
			if !b.TestWaitParity(phase&1 ^ 1 | high) {
				t.Fatalf("phase %d: the parity of the phase before blocks", phase)
			}
		}
		b.WaitParity(phase + 1)
		if b.TryWaitParity(phase, 0) {
			t.Fatalf("phase %d: TryWaitParity passes", phase)
		}
		if s := b.State(); s.Phase != int(phase%phaseMod) {
			t.Fatalf("phase %d: %v", phase, b)
		}
		if tok := b.Arrive(); !b.TestWait(tok) || tok.Pending() != 1 {
			t.Fatalf("phase %d: %v after the only arrival", phase, b)
		}
	}
}

// TestBytesFirst lets bytes land before they are expected, in every order
// of two copies and their announcements: the phase must end with the last of
// the four and not before.
func TestBytesFirst(t *testing.T) {
	steps := []func(b *Barrier){
		func(b *Barrier) { b.ArriveExpectTx(48) },
		func(b *Barrier) { b.ArriveExpectTx(16) },
		func(b *Barrier) { b.CompleteTx(48) },
		func(b *Barrier) { b.CompleteTx(16) },
	}
	orders := 0
	var try func(order []int)
	try = func(order []int) {
		if len(order) < len(steps) {
		next:
			for i := range steps {
				for _, j := range order {
					if i == j {
						continue next
					}
				}
				try(append(order[:len(order):len(order)], i))
			}
			return
		}
		orders++
		b := mustNew(t, 2)
		for k, i := range order {
			if b.TestWaitParity(0) {
				t.Fatalf("order %v: complete before step %d", order, k)
			}
			steps[i](b)
		}
		if s := b.State(); !b.TestWaitParity(0) || s.Pending != 2 || s.Tx != 0 || s.Phase != 1 {
			t.Fatalf("order %v: ends with %v", order, b)
		}
	}
	try(nil)
	if orders != 24 {
		t.Errorf("%d orders tried, want 24", orders)
	}
}

// TestExpectCompletes pins the case in which an H200 completes a phase in an
// expect_tx: everybody has arrived and the bytes landed unannounced.
func TestExpectCompletes(t *testing.T) {
	b := mustNew(t, 1)
	b.CompleteTx(64)
	tok := b.Arrive()
	b.ExpectTx(32)
	if b.TestWait(tok) {
		t.Fatalf("complete 32 bytes early: %v", b)
	}
	b.ExpectTx(32)
	if !b.TestWait(tok) {
		t.Fatalf("not complete: %v", b)
	}
}

func TestTxRange(t *testing.T) {
	b := mustNew(t, 1)
	for round := range 3 {
		b.ExpectTx(MaxTx)
		b.CompleteTx(MaxTx)
		b.CompleteTx(MaxTx)
		if s := b.State(); s.Tx != -MaxTx {
			t.Fatalf("tx %d, want %d", s.Tx, -MaxTx)
		}
		b.ExpectTx(MaxTx)
		b.ExpectTx(0)
		b.CompleteTx(0)
		b.CompleteTx(MaxTx)
		tok := b.ArriveExpectTx(MaxTx) // lands on 0 and completes
		if !b.TestWait(tok) {
			t.Fatalf("round %d: not complete: %v", round, b)
		}
	}
	if s := b.State(); s.Phase != 3 || s.Pending != 1 || s.Expected != 1 {
		t.Errorf("a balance leaked into another field: %+v", s)
	}
}

func TestMaxCount(t *testing.T) {
	b := mustNew(t, MaxCount)
	for phase := range uint32(3) {
		if tok := b.ArriveN(MaxCount - 1); tok.Pending() != MaxCount {
			t.Fatalf("pending %d before the first arrive", tok.Pending())
		}
		tok := b.Arrive()
		if tok.Pending() != 1 || !b.TestWait(tok) || !b.TestWaitParity(phase) {
			t.Fatalf("phase %d not complete: %v", phase, b)
		}
	}
}

// TestDrop lowers the expected count to 0 step by step.
func TestDrop(t *testing.T) {
	b := mustNew(t, 4)
	b.ArriveDrop()
	b.ArriveN(3)
	if s := b.State(); s.Pending != 3 || s.Expected != 3 {
		t.Fatalf("after one drop of 4: %v", b)
	}
	b.WaitParity(0)
	b.ArriveDropNoComplete(1)
	b.CompleteTx(8)
	tok := b.ArriveDropExpectTx(8)
	if tok.Pending() != 2 || b.TestWait(tok) {
		t.Fatalf("pending %d before the drop, then %v", tok.Pending(), b)
	}
	b.Arrive()
	b.Wait(tok)
	if s := b.State(); s.Pending != 1 || s.Expected != 1 {
		t.Fatalf("after three drops of 4: %v", b)
	}
	// The last phase still waits for its bytes.
	b.ArriveDropExpectTx(16)
	if s := b.State(); b.TestWaitParity(0) || !s.Live || s.Expected != 0 {
		t.Fatalf("the last phase did not wait for bytes: %v", b)
	}
	b.CompleteTx(16)
	m, err := caught(func() { b.WaitParity(0) })
	if err != nil {
		t.Fatal(err)
	}
	wantMisuse(t, m, "WaitParity", RuleDropped, "expected count 0")
	b.Invalidate()
	if err := b.Init(1); err != nil {
		t.Error(err)
	}
}

func TestString(t *testing.T) {
	b := mustNew(t, 2)
	b.ArriveExpectTx(4096)
	if got, want := b.String(), "barrier: phase 0 (mod 8), pending 1 of 2, tx 4096, 0 parked"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops items at random under the race detector")
	}
	b := mustNew(t, 3)
	phase := uint32(0)
	if n := testing.AllocsPerRun(1000, func() {
		b.ExpectTx(16)
		b.CompleteTx(32)
		b.ArriveNoComplete(1)
		b.Arrive()
		tok := b.ArriveExpectTx(16)
		if !b.TestWait(tok) || !b.TestWaitParity(phase) || !b.TryWaitParity(phase, 1) {
			t.Fatal("phase not complete")
		}
		b.Wait(tok)
		b.WaitParity(phase)
		phase++
	}); n != 0 {
		t.Errorf("a phase allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		b.Invalidate()
		if err := b.Init(3); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Invalidate and Init allocate %v times", n)
	}
	// A wait that parks, with its timer.
	setSpin(t, 0)
	if n := testing.AllocsPerRun(100, func() {
		if b.TryWaitParity(0, 10_000) {
			t.Fatal("nobody arrived")
		}
	}); n >= 1 {
		t.Errorf("a parked wait allocates %v times", n)
	}
}
