package barrier

// The fields of the barrier word; doc.go has the picture.
const (
	fieldMask     = MaxCount
	pendingMask   = fieldMask
	expectedShift = 20
	expectedOne   = 1 << expectedShift
	txShift       = 40
	txBias        = 1 << 20 // the stored value of a balance of 0
	txZero        = txBias << txShift
	txMask        = (1<<21 - 1) << txShift
	phaseShift    = 61
	phaseOne      = 1 << phaseShift
	phaseMod      = 8
)

// Dead words: the tx field is 0 and so is pending. They keep no phase.
const (
	deadNew     = 0 * expectedOne
	deadInvalid = 1 * expectedOne
	deadDropped = 2 * expectedOne
	deadIniting = 3 * expectedOne
)

func isDead(w uint64) bool { return w&txMask == 0 }

// fresh is the word of a live barrier in phase 0.
func fresh(count int) uint64 {
	return txZero | uint64(count)<<expectedShift | uint64(count)
}

func pendingOf(w uint64) int  { return int(w & pendingMask) }
func expectedOf(w uint64) int { return int(w >> expectedShift & fieldMask) }
func txOf(w uint64) int       { return int(w&txMask>>txShift) - txBias }
func phaseOf(w uint64) uint64 { return w >> phaseShift }

// complete reports whether nothing is missing in the phase of w, so that
// [next] must be applied to it.
func complete(w uint64) bool { return w&(pendingMask|txMask) == txZero }

// next is the first word of the phase after the complete word w. It is a
// dead word when nobody is left to arrive.
func next(w uint64) uint64 {
	e := w >> expectedShift & fieldMask
	if e == 0 {
		return deadDropped
	}
	return w + phaseOne + e // pending is 0; the phase wraps at the top
}

// A Token names the phase in which an arrive took part, for a later wait. It
// is a plain value. It is good for the barrier that issued it, in the phase of the
// arrive and in the one after it.
type Token struct {
	bits uint64 // phase 3 bits, pending 20, serial 41
}

const (
	tokenPending = 3
	tokenSerial  = 23
	serialMask   = 1<<(64-tokenSerial) - 1
)

func newToken(w, serial uint64) Token {
	return Token{serial<<tokenSerial | w&pendingMask<<tokenPending | phaseOf(w)}
}

func (t Token) phase() uint64  { return t.bits % phaseMod }
func (t Token) serial() uint64 { return t.bits >> tokenSerial }

// Pending returns how many arrivals the phase still missed just before the
// arrive that issued t (mbarrier.pending_count).
func (t Token) Pending() int { return int(t.bits >> tokenPending & fieldMask) }
