package golden

import (
	"strings"
	"testing"
)

const (
	mapRow    = "7 1 16 4096,100,32,4096,512 16384,16,16,16 32,1,32,1,1 1,1,1,1,1 0 2 1 0 1\n"
	im2colRow = "0 4 16 64,9,7,2,1 64,576,4032,8064 -1,-2,0 3,4,0 64 128 1,2,1,1,1 0 3 0 0 1\n"
)

func TestMapCalls(t *testing.T) {
	got, err := ParseMapCalls([]byte(mapHeader + "\n" + mapRow))
	if err != nil {
		t.Fatal(err)
	}
	want := MapCall{
		DataType: 7, Rank: 1, Address: 16, Dims: [5]uint64{4096, 100, 32, 4096, 512},
		Strides: [4]uint64{16384, 16, 16, 16},
		Box:     [5]uint32{32, 1, 32, 1, 1}, ElementStrides: [5]uint32{1, 1, 1, 1, 1}, Swizzle: 2, L2: 1,
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("ParseMapCalls = %+v, want %+v", got, want)
	}
	got, err = ParseMapCalls([]byte(im2colHeader + "\n" + im2colRow))
	want = MapCall{
		Rank: 4, Address: 16, Dims: [5]uint64{64, 9, 7, 2, 1}, Strides: [4]uint64{64, 576, 4032, 8064},
		Im2col: true, Lower: [3]int32{-1, -2}, Upper: [3]int32{3, 4}, Box: [5]uint32{64, 128},
		ElementStrides: [5]uint32{1, 2, 1, 1, 1}, Swizzle: 3,
	}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("ParseMapCalls = %+v, %v, want %+v", got, err, want)
	}
	for _, broken := range []string{
		im2colHeader + "\n" + mapRow, mapHeader + "\n" + im2colRow,
		im2colHeader + "\n" + strings.Replace(im2colRow, "-1,-2,0", "-1,-2", 1),
		"", "\n", mapHeader, mapRow, mapHeader + "\n" + mapRow[:len(mapRow)-1], mapHeader + "\n\n",
		mapHeader + "\n" + strings.Replace(mapRow, "16384,", "", 1),
		mapHeader + "\n" + strings.Replace(mapRow, "7 1", "256 1", 1),
		mapHeader + "\n" + strings.Replace(mapRow, "7 1", "7 -1", 1),
		mapHeader + "\n" + strings.Replace(mapRow, "7 1", "7 7", 1),
		mapHeader + "\n" + strings.Replace(mapRow, "4096", "18446744073709551616", 1),
		mapHeader + "\n" + strings.Replace(mapRow, "4096", "-1", 1),
		mapHeader + "\n" + strings.Replace(mapRow, " ", "  ", 1),
	} {
		if _, err := ParseMapCalls([]byte(broken)); err == nil {
			t.Errorf("no error for %q", broken)
		}
	}
}
