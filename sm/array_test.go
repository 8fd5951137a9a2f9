package sm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
)

// TestRecast stores sums by way of a stage whose elements have been read, in a CTA and in its peer.
func TestRecast(t *testing.T) {
	const n = 64
	src, dst := make([]bf16.BF16, 2*n), make([]float32, 2*n)
	for i := range src {
		src[i] = bf16.FromFloat32(float32(i))
	}
	for _, m := range modes {
		clear(dst)
		cfg := in(m, sm.Config{Grid: sm.Dim3{X: 2}, Cluster: sm.Dim3{X: 2}, Block: sm.Dim3{X: 1}})
		err := launch(t, cfg, func(b *sm.Block) {
			stage, full := sm.Shared[bf16.BF16](b, 2*n, 16), b.Barriers(1)
			staging := sm.Recast[float32](stage.Slice(0, n)).At(n / 4)
			at := staging.Address()
			assert(staging.Len() == n/4 && at == stage.Address()+n, "%d at %d", staging.Len(), at)
			b.Threads(func(th *sm.Thread) {
				full[0].Init(th, 1)
				sm.LoadBulk(th, stage, src, &full[0])
				full[0].Wait(th, full[0].ArriveTx(th, 1, stage.Size()))
				var values [n / 4]float32
				for i := range values {
					values[i] = stage.Load(th, n+i).Float32() + float32(b.Idx.X)
				}
				th.ClusterSync()
				peer := staging.MapShared(1 - b.ClusterRank())
				peer.Write(th, 0, values[:])
				th.ClusterSync()
				th.FenceProxyAsync()
				sm.StoreBulk(th, dst[n*b.Idx.X:][:n/4], staging)
				th.CommitGroup()
				th.WaitGroup(0)
				th.ClusterSync()
			})
		})
		if err != nil {
			t.Fatalf("%s: %v", mode(cfg), err)
		}
		for i, got := range dst {
			want := float32(n + i%n + 1 - i/n)
			if i%n >= n/4 {
				want = 0
			}
			if got != want {
				t.Fatalf("%s: element %d is %v, want %v", mode(cfg), i, got, want)
			}
		}
	}
}

// TestRecastWrong recasts what is no array of such elements.
func TestRecastWrong(t *testing.T) {
	type array = *sm.Array[uint8]
	for want, recast := range map[string]func(a array){
		"to *int, which holds pointers": func(a array) { sm.Recast[*int](a) },
		"15 bytes at address 1 are no whole elements of float32, of 4 bytes": func(a array) {
			sm.Recast[float32](a.At(1))
		},
		"12 bytes at address 2 are no whole elements of uint32": func(a array) { sm.Recast[uint32](a.Slice(2, 14)) },
		"of 0 bytes": func(a array) { sm.Recast[struct{}](a) },
	} {
		err := launch(t, sm.Config{}, func(b *sm.Block) {
			bytes := sm.Shared[uint8](b, 16, 16)
			b.Threads(func(*sm.Thread) { recast(bytes) })
		})
		faultOf(t, err, sm.RulePanic, "sm: Recast of bytes", want)
	}
	err := launch(t, sm.Config{}, func(b *sm.Block) {
		stage := sm.Shared[uint8](b, 16, 16)
		words := sm.Recast[uint32](stage)
		b.Threads(func(t *sm.Thread) { words.Load(t, 4) })
	})
	faultOf(t, err, sm.RuleShared, "element 4 of stage, which has 4")
}

// TestZeroArray: an Array that nobody has declared has no elements.
func TestZeroArray(t *testing.T) {
	var x sm.Array[int32]
	if len(x.Elements()) > 0 || len(x.Bytes()) > 0 || x.Len() > 0 {
		t.Errorf("%v, %v, %d elements", x.Elements(), x.Bytes(), x.Len())
	}
}
