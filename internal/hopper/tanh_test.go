package hopper

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"testing"
)

func TestTanhApprox(t *testing.T) {
	data, err := os.ReadFile("testdata/tanh.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for line := range strings.Lines(string(data)) {
		if line[0] == '#' {
			continue
		}
		recorded++
		var exponent, want uint32
		if _, err := fmt.Sscanf(line, "%d %x", &exponent, &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if testing.Short() && exponent%4 != 0 {
			continue
		}
		t.Run(fmt.Sprint("exponent ", exponent), func(t *testing.T) {
			t.Parallel()
			var got uint32
			outputs := make([]byte, 4<<10)
			for b := exponent << 23; b < (exponent+1)<<23; b += 1 << 10 {
				for i := range uint32(1 << 10) {
					y := TanhApprox(math.Float32frombits(b + i))
					binary.LittleEndian.PutUint32(outputs[4*i:], math.Float32bits(y))
				}
				got = crc32.Update(got, crc32.IEEETable, outputs)
			}
			if got != want {
				t.Errorf("the outputs have the CRC-32 %08x, want %08x", got, want)
			}
		})
	}
	if recorded != tanhEnd-tanhStart {
		t.Errorf("%d binades are recorded, want %d", recorded, tanhEnd-tanhStart)
	}
}

func TestTanhApproxSpecial(t *testing.T) {
	for _, c := range []struct{ x, want uint32 }{
		{0, 0},
		{1, 1},
		{0x007fffff, 0x007fffff},
		{0x3b7fffff, 0x3b7fffff},
		{0x3b800000, 0x3b800000},
		{0x3d7fffff, 0x3d7faac1},
		{0x3d800000, 0x3d7faac0}, // it is not monotonic
		{0x3f800000, 0x3f42f848},
		{0x40ffffff, 0x3f7ffffc},
		{0x41000000, 0x3f800000},
		{infF32, 0x3f800000},
	} {
		for _, sign := range []uint32{0, 1 << 31} {
			y := math.Float32bits(TanhApprox(math.Float32frombits(sign | c.x)))
			if y != sign|c.want {
				t.Errorf("TanhApprox(%08x) = %08x, want %08x", sign|c.x, y, sign|c.want)
			}
		}
	}
	for _, x := range []uint32{0x7f800001, 0x7fc00000, 0xff800001, 0xffffffff} {
		if y := math.Float32bits(TanhApprox(math.Float32frombits(x))); y != nanF32 {
			t.Errorf("TanhApprox(%08x) = %08x, want %08x", x, y, uint32(nanF32))
		}
	}
}
