package sm_test

import (
	"testing"

	"example.com/leafhopper/bf16"
	"example.com/leafhopper/sm"
	"example.com/leafhopper/tile"
	"example.com/leafhopper/wgmma"
)

// A conv is a 3×3 convolution with padding 1 of images of bf16, channels last: an implicit GEMM whose rows are the
// pixels of y, 64 a CTA, whose columns are the filters, and whose K are the taps and in each the channels.
type conv struct {
	images, h, w, stride int
	x, weights           []bf16.BF16 // image, h, w, channel; tap, filter, channel
	y                    []float32   // image, h, w, filter
	mapX, mapW           *tile.TensorMap

	sbo int // bytes from eight pixels to the next that descriptors have too many
}

const (
	channels, filters = 64, 16
	taps, stages      = 9, 3
)

func newConv(t *testing.T, images, h, w, stride int) *conv {
	c := &conv{images: images, h: h, w: w, stride: stride}
	c.x = make([]bf16.BF16, images*h*w*channels)
	for i := range c.x {
		c.x[i] = bf16.FromFloat32(float32(i*i%11 - 5))
	}
	c.weights = make([]bf16.BF16, taps*filters*channels)
	for i := range c.weights {
		c.weights[i] = bf16.FromFloat32(float32(i*7%13 - 6))
	}
	c.y = make([]float32, images*h*w/stride/stride*filters)
	var err error
	c.mapX, err = sm.NewTensorMap(c.x, tile.Config{
		Dims: []uint64{channels, uint64(w), uint64(h), uint64(images)},
		Im2col: &tile.Im2col{
			PixelBoxLowerCorner: []int32{-1, -1}, PixelBoxUpperCorner: []int32{-1, -1},
			ChannelsPerPixel: channels, PixelsPerColumn: 64,
		},
		ElementStrides: []uint32{1, uint32(stride), uint32(stride), 1}, Swizzle: tile.Swizzle128B,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.mapW, err = sm.NewTensorMap(c.weights, tile.Config{
		Dims: []uint64{channels, filters, taps}, Box: []uint32{channels, filters, 1}, Swizzle: tile.Swizzle128B,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *conv) kernel(b *sm.Block) {
	sX := sm.Shared[bf16.BF16](b, stages*64*channels, 1024)
	sW := sm.Shared[bf16.BF16](b, stages*filters*channels, 1024)
	full, empty := b.Barriers(stages), b.Barriers(stages)
	oh, ow := c.h/c.stride, c.w/c.stride
	pixel := b.Idx.X * 64
	image, row, col := pixel/(oh*ow), pixel/ow%oh, pixel%ow
	b.Warpgroups(func(w *sm.Warpgroup) {
		t := w.Thread(0)
		if w.Rank() == 0 {
			for i := range stages {
				full[i].Init(t, 1)
				empty[i].Init(t, 128)
			}
			t.FenceProxyAsync()
		}
		w.SyncThreads()
		if w.Rank() == 0 {
			for tap := range taps {
				q, round := tap%stages, tap/stages
				empty[q].WaitParity(t, round&1^1)
				full[q].ArriveTx(t, 1, c.mapX.BoxBytes()+c.mapW.BoxBytes())
				t.LoadTensor(sX.At(q*64*channels), c.mapX, &full[q],
					0, col*c.stride-1, row*c.stride-1, image, tap%3, tap/3)
				t.LoadTensor(sW.At(q*filters*channels), c.mapW, &full[q], 0, 0, tap)
			}
			return
		}
		d := w.Accumulators(wgmma.F32, filters)
		for tap := range taps {
			q, round := tap%stages, tap/stages
			full[q].WaitParity(w, round&1)
			w.Fence()
			for k := 0; k < channels; k += 16 {
				a, b := sX.At(q*64*channels+k).KMajor(tile.Swizzle128B), sW.At(q*filters*channels+k).KMajor(tile.Swizzle128B)
				a.SBO += c.sbo
				w.MMA(wgmma.Op{Kind: wgmma.BF16F32, N: filters}, d, a, b)
			}
			w.CommitGroup()
			w.WaitGroup(0)
			empty[q].Arrive(w)
		}
		for thread := range 128 {
			for i := range d.Registers() {
				if m, n := wgmma.AccumulatorCoord(thread, i); pixel+m < len(c.y)/filters {
					c.y[(pixel+m)*filters+n] = d.Float32(thread, i)
				}
			}
		}
	})
}

// direct is element (image, h, w, filter) of y, in the words of the definition. Sums of integers are exact.
func (c *conv) direct(image, oh, ow, filter int) (sum float32) {
	for tap := range taps {
		h, w := oh*c.stride+tap/3-1, ow*c.stride+tap%3-1
		if h < 0 || h >= c.h || w < 0 || w >= c.w {
			continue
		}
		for k := range channels {
			x := c.x[((image*c.h+h)*c.w+w)*channels+k]
			sum += x.Float32() * c.weights[(tap*filters+filter)*channels+k].Float32()
		}
	}
	return sum
}

// A convolution by im2col loads is that by definition: tiles that end within rows and images, and behind the last.
func TestConvolution(t *testing.T) {
	for _, size := range [][4]int{{3, 6, 10, 1}, {3, 12, 20, 2}} {
		c := newConv(t, size[0], size[1], size[2], size[3])
		pixels := len(c.y) / filters
		cfg := sm.Config{Grid: sm.Dim3{X: (pixels + 63) / 64}, Block: sm.Dim3{X: 256}}
		for _, m := range modes {
			clear(c.y)
			if err := launch(t, in(m, cfg), c.kernel); err != nil {
				t.Fatalf("%s: %v", mode(m), err)
			}
			oh, ow := c.h/c.stride, c.w/c.stride
			for i, got := range c.y {
				p, f := i/filters, i%filters
				if want := c.direct(p/(oh*ow), p/ow%oh, p%ow, f); got != want {
					t.Fatalf("%v, %s: filter %d of pixel %d is %v, want %v", size, mode(m), f, p, got, want)
				}
			}
		}
		if err := sm.Explore(t.Context(), cfg, 3, c.kernel); err != nil {
			t.Error(err)
		}
	}
}

// The rows of an operand are the pixels of one column, one after the other.
func TestIm2colLayout(t *testing.T) {
	c := newConv(t, 1, 8, 8, 1)
	c.sbo = -128
	err := launch(t, sm.Config{Block: sm.Dim3{X: 256}, Check: true}, c.kernel)
	faultOf(t, err, sm.RuleLayout, "SBO 1024", "row 7, byte 0 of the box of the LoadTensor")
}

// What an im2col load does not take is a fault that names it.
func TestIm2colMisuse(t *testing.T) {
	c := newConv(t, 1, 8, 8, 1)
	for _, x := range []struct {
		rule  sm.Rule
		want  string
		coord []int
	}{
		{sm.RuleMap, "4 coordinates for an im2col map of rank 4, want 4 and 2 offsets", []int{0, 0, 0, 0}},
		{sm.RuleMap, "coordinate 7 of dimension 1 is outside the bounding box of -1 to 6", []int{0, 7, 0, 0, 0, 0}},
		{sm.RuleMap, "offset 256 of coordinate 2 is outside 0 to 255 in rank 4", []int{0, 0, 0, 0, 0, 256}},
		{sm.RuleAlignment, "inner coordinate 4", []int{4, 0, 0, 0, 0, 0}},
	} {
		err := launch(t, sm.Config{}, func(b *sm.Block) {
			buf, bar := sm.Shared[bf16.BF16](b, 64*channels, 1024), b.Barrier()
			b.Threads(func(t *sm.Thread) {
				bar.Init(t, 1)
				bar.ArriveTx(t, 1, c.mapX.BoxBytes())
				t.LoadTensor(buf, c.mapX, bar, x.coord...)
			})
		})
		faultOf(t, err, x.rule, x.want)
	}
	err := launch(t, sm.Config{}, func(b *sm.Block) {
		buf := sm.Shared[bf16.BF16](b, 64*channels, 1024)
		b.Threads(func(t *sm.Thread) { t.StoreTensor(c.mapX, buf, 0, 0, 0, 0) })
	})
	faultOf(t, err, sm.RuleMap, "bounding box of -1 to 6 in dimension 1 is outside the tensor's 0 to 7")
}
