package barrier

// model is the barrier of PTX 9.7.13.15 as a plain struct with a phase that never
// wraps, the twin against which the packed word is tested. Its operations
// report the rule they break, or 0, and change nothing when they break one.
type model struct {
	dead                  Rule // 0 when live
	phase                 int
	pending, expected, tx int
}

// modelToken is a token of the model.
type modelToken struct{ phase, pending int }

func (m *model) init(n int) Rule {
	switch {
	case n < 1 || n > MaxCount:
		return RuleCount
	case m.dead != RuleUninitialized && m.dead != RuleInvalidated:
		return RuleLive
	}
	*m = model{pending: n, expected: n}
	return 0
}

func (m *model) invalidate() Rule {
	if m.dead != 0 && m.dead != RuleDropped {
		return m.dead
	}
	*m = model{dead: RuleInvalidated}
	return 0
}

func (m *model) settle() {
	if m.pending == 0 && m.tx == 0 {
		m.phase++
		m.pending = m.expected
		if m.expected == 0 {
			m.dead = RuleDropped
		}
	}
}

func (m *model) arrive(n, bytes int, drop, noComplete bool) (modelToken, Rule) {
	tok := modelToken{m.phase, m.pending}
	switch {
	case n < 1 || n > MaxCount:
		return tok, RuleCount
	case bytes < 0 || bytes > MaxTx:
		return tok, RuleTx
	case m.dead != 0:
		return tok, m.dead
	case n > m.pending:
		return tok, RuleUnderflow
	case m.tx+bytes > MaxTx:
		return tok, RuleTx
	case noComplete && m.pending == n && m.tx+bytes == 0:
		return tok, RuleNoComplete
	}
	m.tx += bytes
	if drop {
		m.expected -= n
	}
	m.pending -= n
	m.settle()
	return tok, 0
}

// transact adds bytes (sign +1) to the balance or takes them off (-1).
func (m *model) transact(bytes, sign int) Rule {
	switch {
	case bytes < 0 || bytes > MaxTx:
		return RuleTx
	case m.dead != 0:
		return m.dead
	case m.tx+sign*bytes > MaxTx || m.tx+sign*bytes < -MaxTx:
		return RuleTx
	}
	m.tx += sign * bytes
	m.settle()
	return 0
}

func (m *model) parity(p uint32) (bool, Rule) { return uint32(m.phase)&1 != p&1, m.dead }

func (m *model) test(t modelToken) (bool, Rule) {
	switch d := m.phase - t.phase; {
	case m.dead != 0:
		return false, m.dead
	case d > 1:
		return false, RuleStale
	default:
		return d == 1, 0
	}
}
