module example.com/leafhopper

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/x448/float16 v0.8.4
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
	gonum.org/v1/gonum v0.17.0
)

require github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
