package barrier

// A note of an observation is a bit of Barrier.seen, below a count of all changes to
// it: whoever is held up between two looks can tell whether others went on meanwhile,
// by however many phases.
const oneNote = 1 << phaseMod

// observe notes, if invariants are checked, that a wait saw the barrier enter phase p
// (mod 8). A note that comes late, when the barrier has gone on, can only
// excuse a later phase of the same number, never accuse one.
func (b *Barrier) observe(p uint64) {
	bit := uint32(1) << (p % phaseMod)
	for {
		// Noted already or not, it is counted, for a forget that is late.
		if s := b.seen.Load(); b.seen.CompareAndSwap(s, (s|bit)+oneNote) {
			return
		}
	}
}

// checkObserved panics if the phase of w is about to complete and nobody has
// observed the one before. Of a w that is not current any more it says nothing:
// others have completed its phase, and forgotten the note.
func (b *Barrier) checkObserved(op string, w uint64) {
	p := phaseOf(w)
	if s := b.seen.Load(); s>>p&1 == 0 && b.word.Load() == w && b.seen.Load() == s {
		misuse(op, RuleUnobserved, "phase %d would complete, no wait has seen phase %d complete (mod %d)",
			p, (p-1)%phaseMod, phaseMod)
	}
}

// forget removes the note that completing the phase of w has used up, unless the
// barrier has come to a phase of that number again, of which the note is then.
func (b *Barrier) forget(w uint64) {
	p := phaseOf(w)
	for {
		s, now := b.seen.Load(), b.word.Load()
		if isDead(now) || phaseOf(now) == p || b.seen.CompareAndSwap(s, s&^(1<<p)+oneNote) {
			return
		}
	}
}
