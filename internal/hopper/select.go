package hopper

// A Selection says which elements of a column of B a row of a sparse A meets: stored
// element k of the row meets element s[k] of the column, which has twice as many.
type Selection [len(Row{})]uint8

// Rows fills dst with what the row meets of columns of bytes, of each of which b has
// two rows.
func (s *Selection) Rows(dst, b []Row) {
	for j := range dst {
		column := b[2*j:][:2]
		for k, at := range s {
			dst[j][k] = column[at/uint8(len(Row{}))][at%uint8(len(Row{}))]
		}
	}
}

// Select fills p, whose memory it reuses, with what a row meets of columns, of each of
// which b has two rows.
func (p *Panel) Select(b *Panel, s *Selection) {
	p.resize(b.rows/2, b.per)
	for j := range p.rows {
		for k := range p.per * block {
			to, from := j*p.per+k/block, 2*j*p.per+int(s[k])/block
			p.value[to][k%block] = b.value[from][s[k]%block]
			p.exp[to][k%block] = b.exp[from][s[k]%block]
		}
	}
}
