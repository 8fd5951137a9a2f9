package main

func Example() {
	main()
	// Output:
	//  wrong of   all records   if this is the rule
	//      0 of   414 scripts   mbarrier: the rule that holds
	//     65 of   414 scripts   the last byte of a copy arrives at the barrier
	//     76 of   414 scripts   the last arrival completes the phase, whatever bytes are missing
	//    138 of   414 scripts   a wait for parity P waits until the barrier has parity P
	//    413 of   413 waits     a wait for parity 1 blocks on a barrier in its first phase
	//    468 of   468 loads     only the bytes of a box that lie in the tensor complete the barrier
	//      0 of   139 loads     swizzle: the rule that holds
	//    114 of   139 loads     the swizzle begins where the tile does
	//      0 of 64685 elements  bf16 wgmma: the rule that holds
	//  23831 of 64685 elements  products are added up in float32, one after the other
	//   7394 of 64685 elements  the sum is exact and rounded once, to nearest
	//   1099 of 64685 elements  subnormal operands count as zeros
}
