package main

// Transpositions of words in registers: within lanes of 128 bits, then of the lanes.

// quads transposes 4 × 4 words within each 128-bit lane of n rows, a multiple of 4, in registers 0 and up; the result
// stands there too: lane l of register 4g+j holds column 4l+j of rows 4g..4g+3. As many registers from tmp on are
// clobbered.
func (v vectors) quads(s *source, n, tmp int) {
	op := func(name string, a, b, to int) {
		s.op("%s %s, %s, %s", name, v.reg(a), v.reg(b), v.reg(to))
	}
	for i := 0; i < n; i += 2 {
		op("VUNPCKLPS", i+1, i, tmp+i)
		op("VUNPCKHPS", i+1, i, tmp+i+1)
	}
	for i := 0; i < n; i += 4 {
		op("VUNPCKLPD", tmp+i+2, tmp+i, i)
		op("VUNPCKHPD", tmp+i+2, tmp+i, i+1)
		op("VUNPCKLPD", tmp+i+3, tmp+i+1, i+2)
		op("VUNPCKHPD", tmp+i+3, tmp+i+1, i+3)
	}
}

// lanes transposes the 128-bit lanes of four registers: lane g of out[l] is lane l of in[g]. It uses four registers
// from tmp and masks the result.
func lanes(s *source, in, out [4]int, tmp int, mask string) {
	s.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", in[1], in[0], tmp)   // 0.0 0.2 1.0 1.2
	s.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", in[3], in[2], tmp+1) // 2.0 2.2 3.0 3.2
	s.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", in[1], in[0], tmp+2) // 0.1 0.3 1.1 1.3
	s.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", in[3], in[2], tmp+3) // 2.1 2.3 3.1 3.3
	s.op("VSHUFF32X4.Z $0x88, Z%d, Z%d, %s, Z%d", tmp+1, tmp, mask, out[0])
	s.op("VSHUFF32X4.Z $0x88, Z%d, Z%d, %s, Z%d", tmp+3, tmp+2, mask, out[1])
	s.op("VSHUFF32X4.Z $0xdd, Z%d, Z%d, %s, Z%d", tmp+1, tmp, mask, out[2])
	s.op("VSHUFF32X4.Z $0xdd, Z%d, Z%d, %s, Z%d", tmp+3, tmp+2, mask, out[3])
}

// transpose16x16 transposes the words of Z0..Z15 and returns the registers of the columns.
func transpose16x16(s *source, mask string) (columns []int) {
	avx512.quads(s, 16, 16)
	for j := range 4 {
		in := [4]int{j, j + 4, j + 8, j + 12}
		lanes(s, in, in, 16+4*j, mask)
	}
	// Column 4l+j is what lanes left in place of register 4l+j.
	for i := range 16 {
		columns = append(columns, i)
	}
	return columns
}

// transpose8x8 transposes the float64s of Z0..Z7, two lanes of mask each, and returns the registers of the columns.
func transpose8x8(s *source, mask string) (columns []int) {
	avx512.unpackDoubles(s, 8, 16)
	lanes(s, [4]int{16, 18, 20, 22}, [4]int{0, 2, 4, 6}, 24, mask)
	lanes(s, [4]int{17, 19, 21, 23}, [4]int{1, 3, 5, 7}, 28, mask)
	return []int{0, 1, 2, 3, 4, 5, 6, 7}
}

// transposeInPlace transposes the float64s of eight registers from one on, and returns the registers of the columns; it
// takes one more. What two registers have side by side becomes one register for each half, first of float64s within
// lanes, then of lanes and of pairs of them.
func (s *source) transposeInPlace(first int) (columns [8]int) {
	rows, free := [8]int{}, first+8
	for i := range rows {
		rows[i] = first + i
	}
	for _, stage := range []struct {
		apart  int
		halves [2]string
	}{
		{1, [2]string{"VUNPCKLPD ", "VUNPCKHPD "}},
		{2, [2]string{"VSHUFF64X2 $0x88, ", "VSHUFF64X2 $0xdd, "}},
		{4, [2]string{"VSHUFF64X2 $0x88, ", "VSHUFF64X2 $0xdd, "}},
	} {
		for i := range rows {
			if i&stage.apart != 0 {
				continue
			}
			a, b := rows[i], rows[i|stage.apart]
			s.op("%sZ%d, Z%d, Z%d", stage.halves[0], b, a, free)
			s.op("%sZ%d, Z%d, Z%d", stage.halves[1], b, a, b)
			rows[i], free = free, a
		}
	}
	return rows
}

// unpackDoubles transposes 2 × 2 float64s within each lane of n rows, in registers 0 and up, to as many from tmp on:
// lane l of register tmp+2g+j holds column 2l+j of rows 2g and 2g+1.
func (v vectors) unpackDoubles(s *source, n, tmp int) {
	for i := 0; i < n; i += 2 {
		s.op("VUNPCKLPD %s, %s, %s", v.reg(i+1), v.reg(i), v.reg(tmp+i))
		s.op("VUNPCKHPD %s, %s, %s", v.reg(i+1), v.reg(i), v.reg(tmp+i+1))
	}
}

// transpose8x16 transposes the words of Z0..Z7 and returns the registers of the pairs of columns.
func transpose8x16(s *source, mask string) (pairs []int) {
	avx512.quads(s, 8, 16)
	// Rows 0..3 and 4..7 of columns 4l and 4l+1, then of 4l+2 and 4l+3.
	left, right := [4]int{0, 4, 1, 5}, [4]int{2, 6, 3, 7}
	lanes(s, left, left, 16, mask)
	lanes(s, right, right, 20, mask)
	for l := range 4 {
		pairs = append(pairs, left[l], right[l])
	}
	return pairs
}

// What quad interleaves, first of two rows and then of two pairs of rows.
var (
	byWords  = [2][2]string{{"VUNPCKLPS", "VUNPCKHPS"}, {"VUNPCKLPD", "VUNPCKHPD"}}
	byHalves = [2][2]string{{"VPUNPCKLWD", "VPUNPCKHWD"}, {"VPUNPCKLDQ", "VPUNPCKHDQ"}}
)

// quad transposes 4 × 4 words within each lane of registers r..r+3, or 4 × 8 halves of words, of which two steps come
// to lie in each register; it clobbers tmp and the one after.
func (v vectors) quad(s *source, r, tmp int, unpack [2][2]string) {
	for h := range 2 {
		s.op("%s %s, %s, %s", unpack[0][h], v.reg(r+3), v.reg(r+2), v.reg(tmp+h))
	}
	for h := range 2 {
		s.op("%s %s, %s, %s", unpack[0][h], v.reg(r+1), v.reg(r), v.reg(r+2+h))
	}
	for i := range 2 {
		for h := range 2 {
			s.op("%s %s, %s, %s", unpack[1][h], v.reg(tmp+i), v.reg(r+2+i), v.reg(r+2*i+h))
		}
	}
}

// halfDoubles transposes 4 float64s of 8 rows in four registers, of which the first has rows 0 and 2, side by side, the
// second 1 and 3, and the third 4 and 6. It returns the registers of the columns, and takes four more from tmp on.
func (s *source) halfDoubles(at, tmp int) (columns []int) {
	for i := 0; i < 4; i += 2 {
		s.op("VUNPCKLPD Z%d, Z%d, Z%d", at+i+1, at+i, tmp+i)
		s.op("VUNPCKHPD Z%d, Z%d, Z%d", at+i+1, at+i, tmp+i+1)
	}
	for i, lanes := range []string{"$0x88", "$0x88", "$0xdd", "$0xdd"} {
		s.op("VSHUFF64X2 %s, Z%d, Z%d, Z%d", lanes, tmp+2+i%2, tmp+i%2, at+i)
		columns = append(columns, at+i)
	}
	return columns
}

// half transposes 8 words of 16 rows in eight registers, of which the first has rows 0 and 4, side by side, and the
// fifth rows 8 and 12: words of four rows within the lanes and then lanes. It returns the registers of the words, each
// of all rows, and takes four more from tmp on.
func (s *source) half(at, tmp int) (words []int) {
	avx512.quad(s, at, tmp, byWords)
	avx512.quad(s, at+4, tmp, byWords)
	for j := range 4 {
		p, q := at+j, at+4+j
		s.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", q, p, tmp+j)
		s.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", q, p, q)
	}
	return []int{tmp, tmp + 1, tmp + 2, tmp + 3, at + 4, at + 5, at + 6, at + 7}
}
