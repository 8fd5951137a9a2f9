package main

func Example() {
	main()
	// Output:
	// 256x256x320 in tiles of 128x128, 4 stages of 32768 bytes
	// elements unlike gemm's with Hopper's arithmetic: 0
	// some are unlike those of float32 sums: true
}
