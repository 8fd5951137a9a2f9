// Package plan decides how a product of matrices is computed. A decision is a pure function of two values:
//
//	Problem   sizes, types, how the operands lie, who may compute: all but where they are
//	Machine   caches, and a table of what was measured of every kernel
//	   |
//	Choose    who shares it, where A and B come from, where sums wait ...
//	   |
//	Plan      ... and how C, B and K are cut. Package gemm runs it, and decides nothing
//
// The files are: problem and machine, what is given; tuning, the table; limits, what bounds every cut; choose and
// choose_unpacked, who shares a product and what is packed; cut_slabs, cut_ranges, cut_dots, cut_columns and
// cut_ring, the cuts; batch, which of many products are whole ones; plan, the answer, and reasons, which says why it is
// none other.
package plan
