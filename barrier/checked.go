package barrier

// observe notes in checked mode that a wait saw the barrier enter phase p
// (mod 8). A note that comes late, when the barrier has gone on, can only
// excuse a later phase of the same number, never accuse one.
func (b *Barrier) observe(p uint64) {
	if bit := uint32(1) << (p % phaseMod); b.seen.Load()&bit == 0 {
		b.seen.Or(bit)
	}
}

// checkObserved panics if the phase of w is about to complete and nobody has
// observed the one before. Of a w that is not current any more it says nothing:
// others have completed its phase, and forgotten the note.
func (b *Barrier) checkObserved(op string, w uint64) {
	if p := phaseOf(w); b.seen.Load()>>p&1 == 0 && b.word.Load() == w {
		misuse(op, RuleUnobserved, "phase %d would complete, no wait has seen phase %d complete (mod %d)", p, (p-1)%phaseMod, phaseMod)
	}
}

// forget removes the note that completing the phase of w has used up. The
// bit is not needed again for seven phases, so it does not matter that others
// go on in the meantime.
func (b *Barrier) forget(w uint64) { b.seen.And(^(uint32(1) << phaseOf(w))) }
