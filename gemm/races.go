package gemm

import (
	"unsafe"

	"example.com/leafhopper/internal/race"
)

// tellRaces tells the race detector what the call reads and writes, as assembly does so unseen. A call does that before
// and after all that the engine locks, which orders parts of calls as nobody can rely on.
func (p *product) tellRaces(s *settings) {
	if !race.Enabled || p.c.len == 0 {
		return
	}
	if p.K > 0 {
		p.a.tell(race.Read)
		p.b.tell(race.Read)
	}
	for _, v := range &s.finishing.vectors {
		race.Read(unsafe.Pointer(v.at), v.n*4)
	}
	p.c.tell(race.Write)
}

// tell calls do for the bytes of every row of v as it lies in memory. Nobody writes what is packed.
func (v *view) tell(do func(at unsafe.Pointer, n int)) {
	if v.packed || v.len == 0 {
		return
	}
	rows, cols := v.stored()
	for i := range rows {
		do(unsafe.Add(v.ptr, i*v.pitch()), cols*v.elem.Size())
	}
}
