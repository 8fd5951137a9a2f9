package golden

import (
	"slices"
	"testing"
)

const twoCTAs = `{"n":2,"init":[4,3,1,1],"ops":[[1,11,1,1,0,0,0],[0,6,3,2688,-12,26,1]],` +
	`"smem":["7f47f9ea","00000001"],"vals":[1]}` + "\n"

func TestClusters(t *testing.T) {
	got, err := ParseClusters([]byte(twoCTAs))
	if err != nil {
		t.Fatal(err)
	}
	s := got[0]
	if len(got) != 1 || s.CTAs != 2 || s.Init != [4]int{4, 3, 1, 1} || !slices.Equal(s.Values, []uint32{1}) ||
		!slices.Equal(s.Shared, []uint32{0x7f47f9ea, 1}) ||
		!slices.Equal(s.Ops, []ClusterOp{{1, ClusterTestParity, [5]int{1, 1}},
			{0, ClusterMulticastTensor, [5]int{3, 2688, -12, 26, 1}}}) {
		t.Errorf("ParseClusters = %+v", got)
	}
}

func TestClustersAreStrict(t *testing.T) {
	const good = `{"n":1,"init":[1,1,1,1],"ops":[],"smem":["00000000"],"vals":[]}`
	for _, line := range []string{
		"", "{}", "[]", good + good, good[:len(good)-1],
		`{"n":9,"init":[1,1,1,1],"ops":[],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1],"ops":[],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,0,1],"ops":[],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[],"smem":[],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[],"smem":["0"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[],"smem":["0000000g"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[],"smem":["00000000"],"vals":[1]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[],"smem":["00000000"],"vals":[],"more":1}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,0,0,0,1,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[1,0,0,0,1,0,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,14,0,0,1,0,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,0,1,0,1,0,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,0,0,4,1,0,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,5,2,0,0,16,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,4,0,4096,0,16,0]],"smem":["00000000"],"vals":[]}`,
		`{"n":1,"init":[1,1,1,1],"ops":[[0,10,0,4096,0,0,0]],"smem":["00000000"],"vals":[0]}`,
	} {
		if s, err := ParseClusters([]byte(good + "\n" + line + "\n")); err == nil {
			t.Errorf("ParseClusters accepted %q: %+v", line, s)
		}
	}
}

func FuzzClusters(f *testing.F) {
	f.Add([]byte(twoCTAs))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseClusters(data)
		if err != nil {
			return
		}
		for _, s := range all {
			for _, op := range s.Ops {
				if op.Rank >= s.CTAs || len(s.Shared) != s.CTAs {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}
