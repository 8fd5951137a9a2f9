package barrier

// Arrive takes part in the current phase with one arrival (mbarrier.arrive).
// Its effects are released to whoever observes the completion of the phase.
func (b *Barrier) Arrive() Token { return b.arrive("Arrive", 1, 0, 0) }

// ArriveN is n arrivals at once, 1 <= n <= pending.
func (b *Barrier) ArriveN(n int) Token { return b.arrive("ArriveN", n, 0, 0) }

// ArriveExpectTx adds bytes, in 0..[MaxTx], to the balance of the phase and then
// arrives once, in one atomic step (mbarrier.arrive.expect_tx).
func (b *Barrier) ArriveExpectTx(bytes int) Token {
	return b.arrive("ArriveExpectTx", 1, bytes, 0)
}

// ArriveNoComplete is n arrivals that must not complete the phase
// (mbarrier.arrive.noComplete).
func (b *Barrier) ArriveNoComplete(n int) Token {
	return b.arrive("ArriveNoComplete", n, 0, noComplete)
}

// ArriveDrop arrives once and lowers the expected count of all following
// phases by one (mbarrier.arrive_drop). The drop that leaves an expected count
// of 0 belongs to the last phase: when that completes, only [Barrier.Invalidate]
// may follow, and a wait panics as it faults on the GPU.
func (b *Barrier) ArriveDrop() Token { return b.arrive("ArriveDrop", 1, 0, drop) }

// ArriveDropN is n arrivals that drop, 1 <= n <= pending.
func (b *Barrier) ArriveDropN(n int) Token { return b.arrive("ArriveDropN", n, 0, drop) }

// ArriveDropExpectTx adds bytes, in 0..[MaxTx], to the balance of the phase and then
// does [Barrier.ArriveDrop], in one atomic step.
func (b *Barrier) ArriveDropExpectTx(bytes int) Token {
	return b.arrive("ArriveDropExpectTx", 1, bytes, drop)
}

// ArriveDropNoComplete is n arrivals that drop and must not complete the
// phase (mbarrier.arrive_drop.noComplete).
func (b *Barrier) ArriveDropNoComplete(n int) Token {
	return b.arrive("ArriveDropNoComplete", n, 0, drop|noComplete)
}

// Variants of arrive.
const (
	drop = 1 << iota
	noComplete
)

// arrive is every arrive of the instruction set: expect bytes, drop, arrive n
// times, complete.
func (b *Barrier) arrive(op string, n, bytes int, how uint) Token {
	if uint(n-1) >= MaxCount || uint(bytes) > MaxTx {
		misuseArrive(op, b.word.Load(), n, bytes)
	}
	sub := uint64(n)
	if how&drop != 0 {
		sub |= sub << expectedShift // never borrows: pending <= expected
	}
	add := uint64(bytes) << txShift
	for {
		w := b.word.Load()
		if w&pendingMask < uint64(n) || w&txMask+add > txMask {
			misuseArrive(op, w, n, bytes)
		}
		v := w + add - sub
		t := newToken(w, b.serial.Load())
		if complete(v) {
			if how&noComplete != 0 {
				misuseNoComplete(op, w, n)
			}
			if b.finish(op, w, v) {
				return t
			}
		} else if b.word.CompareAndSwap(w, v) {
			return t
		}
	}
}

// ExpectTx adds bytes, in 0..[MaxTx], to the balance of the current phase
// (mbarrier.expect_tx). It completes the phase when it makes up the last of
// bytes that landed before they were expected and nobody is pending; an H200
// does so too.
func (b *Barrier) ExpectTx(bytes int) { b.changeTx("ExpectTx", bytes, bytes) }

// CompleteTx books bytes, in 0..[MaxTx], off the balance of the current phase
// (mbarrier.complete_tx) and completes the phase if they were the last thing
// missing. It arrives for nobody. The balance may become negative.
func (b *Barrier) CompleteTx(bytes int) { b.changeTx("CompleteTx", bytes, -bytes) }

// changeTx changes the balance by delta, which is bytes or -bytes.
func (b *Barrier) changeTx(op string, bytes, delta int) {
	for {
		w := b.word.Load()
		if !allowsTx(w, bytes, delta) {
			misuseTx(op, w, bytes, delta)
		}
		v := w + uint64(delta)<<txShift
		if complete(v) {
			if b.finish(op, w, v) {
				return
			}
		} else if b.word.CompareAndSwap(w, v) {
			return
		}
	}
}

// CheckTx returns the [*Misuse] with which CompleteTx of bytes would panic now, or nil. Whoever is to write those
// bytes first can ask before that.
func (b *Barrier) CheckTx(bytes int) error {
	if w := b.word.Load(); !allowsTx(w, bytes, -bytes) {
		return txMisuse("CompleteTx", w, bytes, -bytes)
	}
	return nil
}

// allowsTx reports whether bytes may change the balance of w by delta.
func allowsTx(w uint64, bytes, delta int) bool {
	tx := txOf(w) + delta
	return uint(bytes) <= MaxTx && !isDead(w) && -MaxTx <= tx && tx <= MaxTx
}

// finish replaces w by the first word of the phase after v, which is
// complete, and wakes those who wait for it. It reports whether w was still
// current.
func (b *Barrier) finish(op string, w, v uint64) bool {
	if invariants {
		b.checkObserved(op, w)
	}
	old := b.tickets.Load()
	if !b.word.CompareAndSwap(w, next(v)) {
		return false
	}
	if invariants {
		b.forget(w)
	}
	b.wake(old)
	return true
}
