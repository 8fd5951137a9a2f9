package main

func Example() {
	main()
	// Output:
	// vector   0 is most like vector 512, cosine 0.89
	// vector  17 is most like vector 529, cosine 0.90
	// vector 600 is most like vector  88, cosine 0.89
	// 1024 of 1024 vectors found their twin
}
