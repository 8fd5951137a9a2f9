package barrier

import (
	"math/rand/v2"
	"testing"
)

// FuzzModel drives a barrier and the plain model with the same operations,
// legal or not, and compares state, results and the rule broken after each.
// An operation is three bytes: what, and a 16-bit operand.
func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 0, 1, 9, 0, 0})                                // init 1, arrive, test
	f.Add([]byte{0, 0, 2, 4, 0, 64, 2, 0, 1, 8, 0, 64, 10, 0, 0})           // bytes after
	f.Add([]byte{0, 0, 1, 8, 0, 64, 4, 0, 64, 9, 0, 0, 10, 0, 1})           // bytes before
	f.Add([]byte{0, 0, 1, 8, 0, 64, 2, 0, 1, 7, 0, 64, 9, 0, 0})            // expect completes
	f.Add([]byte{0, 0, 2, 5, 0, 2, 9, 0, 0, 1, 0, 0, 0, 0, 3, 2, 0, 3})     // drop all, again
	f.Add([]byte{0, 255, 255, 7, 255, 255, 7, 255, 255, 8, 1, 0, 8, 1, 17}) // edges
	r := rand.New(rand.NewPCG(1, 2))
	for range 64 {
		data := []byte{0, 0, byte(1 + r.IntN(4))}
		for range 200 {
			data = append(data, byte(r.IntN(256)), 0, byte(r.IntN(8)))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b Barrier
		m := model{dead: RuleUninitialized}
		var tokens []Token
		var phases []modelToken
		for i := 0; i+3 <= len(data); i += 3 {
			arg := int(data[i+1])<<8 | int(data[i+2])
			// Large operands reach the edges of the ranges, and beyond them.
			n := arg
			if arg >= 1<<15 {
				n = MaxCount + 2 - (1<<16 - 1 - arg)
			}
			var got Rule
			var want Rule
			var gotBool, wantBool bool
			do := func(f func()) {
				if p, err := caught(f); err == nil && p != nil {
					got = p.Rule
				} else if err != nil && err.Error() != "no panic" {
					t.Fatal(err)
				}
			}
			arrive := func(f func() Token, n, bytes int, drop, noComplete bool) {
				var tok Token
				do(func() { tok = f() })
				p, r := m.arrive(n, bytes, drop, noComplete)
				if want = r; r == 0 && got == 0 {
					if tok.Pending() != p.pending {
						t.Fatalf("op %d: pending %d, want %d", i/3, tok.Pending(), p.pending)
					}
					tokens, phases = append(tokens, tok), append(phases, p)
				}
			}
			switch data[i] % 13 {
			case 0:
				if err := b.Init(n); err != nil {
					got = err.(*Misuse).Rule
				}
				if want = m.init(n); want == 0 {
					tokens, phases = nil, nil
				}
			case 1:
				do(b.Invalidate)
				want = m.invalidate()
			case 2:
				arrive(func() Token { return b.ArriveN(n) }, n, 0, false, false)
			case 3:
				arrive(func() Token { return b.ArriveNoComplete(n) }, n, 0, false, true)
			case 4:
				arrive(func() Token { return b.ArriveExpectTx(n) }, 1, n, false, false)
			case 5:
				arrive(func() Token { return b.ArriveDropN(n) }, n, 0, true, false)
			case 6:
				arrive(func() Token { return b.ArriveDropExpectTx(n) }, 1, n, true, false)
			case 7:
				do(func() { b.ExpectTx(n) })
				want = m.transact(n, 1)
			case 8:
				do(func() { b.CompleteTx(n) })
				want = m.transact(n, -1)
			case 9:
				do(func() { gotBool = b.TestWaitParity(uint32(arg)) })
				if wantBool, want = m.parity(uint32(arg)); want != 0 {
					wantBool = false
				}
			case 10:
				if len(tokens) == 0 {
					continue
				}
				k := len(tokens) - 1 - arg%len(tokens)
				if m.phase-phases[k].phase >= phaseMod {
					continue // the word cannot tell
				}
				do(func() { gotBool = b.TestWait(tokens[k]) })
				wantBool, want = m.test(phases[k])
			case 11:
				arrive(func() Token { return b.Arrive() }, 1, 0, false, false)
			case 12:
				arrive(func() Token { return b.ArriveDropNoComplete(n) }, n, 0, true, true)
			}
			if got != want || gotBool != wantBool {
				t.Fatalf("op %d (%d %d): got %v %v, want %v %v; %v, model %+v", i/3, data[i]%13, n, got, gotBool, want,
					wantBool, &b, m)
			}
			w := State{Dead: m.dead}
			if m.dead == 0 {
				w = State{Live: true, Phase: m.phase % phaseMod, Pending: m.pending, Expected: m.expected, Tx: m.tx}
				observing(&b)
			}
			if s := b.State(); s != w {
				t.Fatalf("op %d: got %+v, model %+v", i/3, s, m)
			}
		}
	})
}
