package bench

// A lineStyle tells a line from the others, in colour and without.
type lineStyle struct {
	colour, dash, marker string
}

// palette is that of Okabe and Ito (Color Universal Design, 2008), which people
// with any kind of colour vision can tell apart, without its yellow, which is
// too light on white.
var palette = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}

// neutral is the colour of a peak whose lines have different ones.
const neutral = "#555555"

// dashes are the strokes of lines of the same colour. None looks like that of a
// peak.
var dashes = []string{"", "12 3", "2 3", "12 3 2 3"}

const peakDash = "6 5"

// markers are paths around the origin. There is one more than colours, so that
// colours and markers together repeat late.
var markers = []string{
	"M-4.5 0A4.5 4.5 0 1 1 4.5 0A4.5 4.5 0 1 1 -4.5 0Z", // circle
	"M-4 -4H4V4H-4Z",                                          // square
	"M0 -5.5L5 3.5H-5Z",                                       // triangle
	"M0 -5.8L5 0L0 5.8L-5 0Z",                                 // diamond
	"M0 5.5L5 -3.5H-5Z",                                       // triangle on its tip
	"M-5 -2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z",                      // cross
	"M-5.5 0L-2.7 -4.8H2.7L5.5 0L2.7 4.8H-2.7Z",               // hexagon
	"M0 -6L1.6 -1.6L6 0L1.6 1.6L0 6L-1.6 1.6L-6 0L-1.6 -1.6Z", // star
}

// failedMarker is where a result should be that has no speed.
const failedMarker = "M-4 -4L4 4M-4 4L4 -4"

// paint gives the lines their styles, and the peaks the colours of their lines.
// Lines with the same peak share a colour if they can be told apart without.
func (c *chart) paint() {
	shared := len(c.peaks) > 1
	for _, p := range c.peaks {
		shared = shared && len(p.lines) <= len(dashes)
	}
	for _, l := range c.lines {
		shared = shared && l.peak != nil
	}
	for i, l := range c.lines {
		l.style = lineStyle{palette[i%len(palette)], dashes[i/len(palette)%len(dashes)], markers[i%len(markers)]}
	}
	for i, p := range c.peaks {
		p.colour = neutral
		for j, l := range p.lines {
			if shared {
				l.style.colour, l.style.dash = palette[i%len(palette)], dashes[j]
			}
		}
		if shared || len(p.lines) == 1 {
			p.colour = p.lines[0].style.colour
		}
	}
}
