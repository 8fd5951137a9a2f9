package main

func Example() {
	main()
	// Output:
	// init 1            phase 0  pending 1  tx    0   wait(parity 0) false  wait(parity 1) true
	// arrive.expect_tx  phase 0  pending 0  tx 2048   wait(parity 0) false  wait(parity 1) true
	// wait(parity 1) returns: 0 of 512 elements are there
	// bytes landed      phase 1  pending 1  tx    0   wait(parity 0) true   wait(parity 1) false
	// wait(parity 1) now returns within 5 ms: false
	// 4 CTAs updated 64 x 32 elements, 0 wrong
}
