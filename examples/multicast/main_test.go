package main

func Example() {
	main()
	// Output:
	// 128x128x512 by 2 CTAs, 3 stages of 24576 bytes in each
	// bytes fetched: 262144, without multicast 393216
	// elements unlike gemm's with Hopper's arithmetic: 0
}
