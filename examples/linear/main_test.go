package main

func Example() {
	main()
	// Output:
	// bf16                     H100 2488688206, here 2488688206
	// bf16 with GELU           H200  281129556, here  281129556
	// fp8, fast accumulation   H100 3157618082, here 3157618082
	// fp8                      H100  714520773, here  714520773
}
