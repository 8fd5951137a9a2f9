package main

func Example() {
	main()
	// Output:
	// after WaitGroupRead: 512
	// after WaitGroup:     513
	// 2048 numbers, 512..1535 one more than before, 0 wrong
	// the barrier is in phase 1, with 0 bytes and 32 arrivals to come
}
