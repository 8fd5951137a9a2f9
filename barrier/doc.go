// Package barrier is the transaction barrier of NVIDIA's Hopper GPUs, the
// mbarrier (PTX ISA 9.1, section 9.7.13.15), for goroutines.
//
// A [Barrier] runs through numbered phases. Each phase waits for a count of
// arrivals and for a balance of bytes: a producer that starts an asynchronous
// copy announces its bytes with ExpectTx, the copy books them off with
// CompleteTx, and the phase is over when nobody and no byte is missing.
//
//	phase completes when pending == 0 and tx == 0:
//	    phase += 1, pending = expected, in the same atomic step
//
//	Init(2)            phase 0  pending 2  tx 0
//	ArriveExpectTx(64) phase 0  pending 1  tx 64
//	Arrive()           phase 0  pending 0  tx 64   everybody is here, the bytes are not
//	CompleteTx(64)     phase 1  pending 2  tx 0    complete; the next phase has begun
//
// Bytes never arrive on anybody's behalf, and they may land before they are
// expected: tx is signed, and the phase waits for it to come back to zero.
//
// # Waiting
//
// A wait names a phase, either by the [Token] of an arrive or by parity.
// WaitParity(p) blocks until the phase of parity p has completed; it does not
// wait for the barrier to have parity p. Only the low bit of p counts. On a
// fresh barrier, which is in phase 0, parity 1 therefore passes at once, as if
// a phase -1 had completed, and parity 0 blocks. A ring of buffers is built on
// that: producers start with parity 1 on the "empty" barriers, consumers with
// parity 0 on the "full" ones. Waiting for the wrong parity is no dead stop:
// the wait passes early and its owner reads stale data.
//
// A wait polls for about a microsecond and then blocks: it puts itself on a
// list, spins for some tens of microseconds, yielding its processor now and
// then, and at last parks the goroutine. An operation that completes a phase
// looks, in a cache line it owns at that moment, whether anybody is on the list;
// others do not even that.
//
// A wait on the list returns when its phase is over, however many phases go by
// before it runs again. One that still polls knows its phase modulo 8 only: if
// exactly 8 phases, or 16 and so on, go by between two looks, it is as if it
// had been called that much later.
//
// # The word
//
// All the state is one atomic 64-bit word, so every operation is one
// compare-and-swap and every test one load.
//
//	63  61 60              40 39               20 19                0
//	┌─────┬──────────────────┬───────────────────┬───────────────────┐
//	│phase│ tx + 2^20        │ expected          │ pending           │
//	└─────┴──────────────────┴───────────────────┴───────────────────┘
//
// The byte balance is stored in excess 2^20, so a live barrier has 1..2^21-1 in
// that field and never 0. A field of 0 means dead; the pending field is then 0
// as well, which makes one comparison catch both an arrive too many and an
// arrive on a dead barrier. The expected field of a dead word says why it is dead: 0, the
// zero value, was never initialised; 1 was invalidated; 2 ran out of
// participants (every one of them dropped); 3 is an Init under way.
//
// Three bits of phase number are left. A token carries its phase modulo 8 and
// the 41-bit serial number of the initialisation that made it. A token two to
// seven phases old is caught, one that is exactly eight (or nine) phases old
// passes for one of the current (or preceding) phase, and so on modulo 8. A
// token of another barrier, or from before the barrier was invalidated and
// initialised again, is caught always.
//
// # Misuse
//
// What PTX leaves undefined is refused here. Functions that return an error
// return a [*Misuse]; the others panic with one, before they change anything,
// as package sync does. Dropping the last participant follows the hardware too:
// it completes the last phase, and a wait on the barrier after that is a fault
// on an H200 and a panic here. A barrier may be given up with Invalidate at any
// moment; goroutines waiting on it wake up and panic.
//
// Built with the tag "invariants" the package also panics when a phase
// completes although no wait has observed the completion of its predecessor
// (PTX 9.7.13.15.4): somebody who counts parities may then have lost one.
//
// # Memory model
//
// In the terminology of the Go memory model, an arrive, and equally an
// ExpectTx or a CompleteTx, that takes part in a phase synchronizes before the
// return of any wait or successful test that observes the completion of that
// phase. Init must itself be made visible to the other users by other
// means, such as starting them afterwards.
package barrier

// The files:
//
//	barrier       Barrier, how it begins and ends, and its State
//	arrive, wait  its operations; a wait that polling does not end
//	park          puts itself on the barrier's list and sleeps
//	word          the bits of the state; Token
//	misuse        rules, and what is said of who breaks them
//	invariants*   the build tag, and which phases somebody has seen end
