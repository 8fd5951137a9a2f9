package asm

import (
	"fmt"
	"math"
	"unsafe"
)

// An Activation is a function of each element of C. A NaN stays one. Beside each is what -Inf and +Inf give.
type Activation uint8

const (
	Identity Activation = iota // x
	ReLU                       // max(x, 0); 0, Inf
	GELU                       // x·(1 + erf(x/√2))/2; 0, Inf
	GELUTanh                   // x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2; 0, Inf
	SiLU                       // x/(1 + exp(-x)); 0, Inf
	Sigmoid                    // 1/(1 + exp(-x)); 0, 1
	Tanh                       // -1, 1
	numActivations
)

var activationNames = [...]string{
	Identity: "identity", ReLU: "relu", GELU: "gelu", GELUTanh: "gelutanh", SiLU: "silu", Sigmoid: "sigmoid", Tanh: "tanh",
}

// Activations returns all of them, by number.
func Activations() []Activation {
	all := make([]Activation, numActivations)
	for i := range all {
		all[i] = Activation(i)
	}
	return all
}

// String returns the name of f, in lower case.
func (f Activation) String() string {
	if f >= numActivations {
		return fmt.Sprintf("Activation(%d)", uint8(f))
	}
	return activationNames[f]
}

// A Vector is a float32 for each element of a matrix, of which that of row i and column j lies i·Row + j·Col bytes after At: Col is
// 4 for a value in each column, and else 0; Row is 4 for a value in each row, and else 0.
type Vector struct {
	At       unsafe.Pointer
	Row, Col int
}

// Activate sets rows x cols elements of dst to f(src + bias), where bias + 0 is rounded, too; without a bias, At is nil. dst may be
// src. Rows of dst lie ldd bytes apart, rows of src lds bytes.
func Activate(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, bias Vector, f Activation) {
	if bias.At == nil {
		bias = Vector{At: unsafe.Pointer(&minusZero)} // which changes nothing
	}
	apply(dst, ldd, src, lds, rows, cols, bias, pass(f))
}

// Scale sets rows x cols elements of dst to src · by; see [Activate].
func Scale(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, by Vector) {
	apply(dst, ldd, src, lds, rows, cols, by, passScale)
}

var minusZero = float32(math.Copysign(0, -1))

// A pass is what a walk over rows does to each element and its part of a Vector: to add that and then an [Activation], or passScale.
type pass uint8

const passScale = pass(numActivations)

// applyRows bounds the rows of one call in assembly, as wide as a tile of C may be: a few microseconds.
const applyRows = 64

func apply(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) {
	for i := 0; cols > 0 && i < rows; i += applyRows {
		to, from, some := unsafe.Add(dst, i*ldd), unsafe.Add(src, i*lds), min(rows-i, applyRows)
		v := Vector{unsafe.Add(v.At, i*v.Row), v.Row, v.Col}
		if !applyVectors(to, ldd, from, lds, some, cols, v, how) {
			applyGeneric(to, ldd, from, lds, some, cols, v, how)
		}
	}
}

// applyGeneric is the twin of applyAVX512 and applyAVX2.
func applyGeneric(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) {
	for i := range rows {
		to, from := unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), cols), unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), cols)
		for j, x := range from {
			y := *(*float32)(unsafe.Add(v.At, i*v.Row+j*v.Col))
			if how == passScale {
				to[j] = x * y
			} else {
				to[j] = activate(x+y, Activation(how))
			}
		}
	}
}

// The constants of the functions below, in the order of the assembly's: each for all lanes of a vector of AVX2.
var activateConst = [...][avx2Vector]float32{
	lanes(0), lanes(0.5), lanes(1),
	lanes(rounding), lanes(log2e), lanes(ln2), lanes(ln2Rest), lanes(exp6), lanes(exp5), lanes(exp4), lanes(exp3), lanes(exp2),
	lanes(expLeast), lanes(tanhMost), lanes(tanhUnit), lanes(siluMost), lanes(geluTanhMost), lanes(geluTanh1), lanes(geluTanh3), lanes(geluMost), lanes(geluUnit),
	lanes(math.Float32frombits(1<<31 - 1)), lanes(minusZero),
}

func lanes(x float32) (v [avx2Vector]float32) {
	for i := range v {
		v[i] = x
	}
	return v
}

const (
	rounding = 3 << 22 // added to a float32 below 2^22, leaves the nearest integer in the last bits

	// exp(x) = 2^n·(1 + r + r²·(exp2 + exp3·r + ...)), where n is the integer nearest to x/ln 2 and r = x - n·ln 2: the polynomial
	// through Chebyshev's five nodes of (exp(r) - 1 - r)/r² for |r| ≤ (ln 2)/2.
	log2e    = 1.442695
	ln2      = 0.6931472
	ln2Rest  = -1.9046542e-09 // what ln2 lacks
	exp2     = 0.5
	exp3     = 0.16666576
	exp4     = 0.041666552
	exp5     = 0.008363233
	exp6     = 0.001392625
	expLeast = -104 // where exp is 0
	expMost  = 89   // where it is infinite

	siluMost     = 104        // from where exp(-x) is 0
	geluTanhMost = 11         // from where exp of the following is 0:
	geluTanh1    = -1.5957692 // -2·√(2/π)·x
	geluTanh3    = -0.071354814

	erfUnit  = 3.9290493 // pieces of erfTable in 1
	erfMost  = 3.94      // from where erf is 1
	geluUnit = 2.7782574 // the same of erf(x/√2)
	geluMost = 5.57
	tanhUnit = 1.7064179 // the same of tanh
	tanhMost = 9.075
)

// erfTable and tanhTable have 16 pieces of a function, of which piece i is about i/unit and 1/unit long: c0 + c1·r + c2·r² + ... with
// r from -1/2 to 1/2, through Chebyshev's nodes. The first piece is a half, with c0 = 0: that through the nodes of f(r)/r, times r.
var erfTable = [6][16]float32{
	{
		0, 0.28110638, 0.52839845, 0.7197748, 0.85006225, 0.9280903, 0.96919847, 0.98825,
		0.996017, 0.99880236, 0.999681, 0.99992484, 0.9999843, 0.99999714, 0.9999995, 0.99999994,
	},
	{
		0.28718886, 0.26917517, 0.22163448, 0.16031513, 0.101870045, 0.056866094, 0.027886573, 0.012013562,
		0.0045465636, 0.0015115748, 0.00044147985, 0.00011327316, 2.5531604e-05, 5.0555e-06, 8.793973e-07, 1.3438203e-07,
	},
	{
		1.3970922e-08, -0.017436141, -0.02871344, -0.03115426, -0.026395662, -0.018418461, -0.010838732, -0.0054475437,
		-0.002356122, -0.0008812171, -0.00028595523, -8.069944e-05, -1.9840743e-05, -4.255342e-06, -7.9697605e-07, -1.3044941e-07,
	},
	{
		-0.006201352, -0.0050591403, -0.0023056413, 0.00057457306, 0.002359917, 0.0027490796, 0.0022062548, 0.0013873572,
		0.00071583095, 0.00030987238, 0.00011396662, 3.5894358e-05, 9.732775e-06, 2.2805723e-06, 4.630755e-07, 8.165361e-08,
	},
	{
		1.0824582e-06, 0.00053619494, 0.000764314, 0.0006143148, 0.00026485548, -4.528995e-05, -0.0001928434, -0.00019613495,
		-0.00013463423, -7.160836e-05, -3.1004027e-05, -1.1193001e-05, -3.4160496e-06, -8.890875e-07, -1.9851423e-07, -3.8187217e-08,
	},
	{
		0.000118630516, 8.390615e-05, 5.0938825e-06, -5.8635873e-05, -7.287092e-05, -4.7201433e-05, -1.2737544e-05, 8.604227e-06,
		1.3914885e-05, 1.0595353e-05, 5.765692e-06, 2.4664664e-06, 8.625635e-07, 2.5171795e-07, 6.205996e-08, 1.3032146e-08,
	},
}

var tanhTable = [8][16]float32{
	{
		0, 0.5270292, 0.8249269, 0.9422869, 0.9817611, 0.994315, 0.9982357, 0.9994532,
		0.9998306, 0.99994755, 0.9999837, 0.999995, 0.99999845, 0.9999995, 0.9999998, 0.99999994,
	},
	{
		0.5860229, 0.4232493, 0.18723173, 0.06569045, 0.021181906, 0.006644112, 0.0020659976, 0.0006406869,
		0.00019851656, 6.149425e-05, 1.9047464e-05, 5.8996875e-06, 1.8273321e-06, 5.65985e-07, 1.7530408e-07, 5.4297402e-08,
	},
	{
		-5.1419057e-08, -0.13072109, -0.090512834, -0.036274336, -0.012186675, -0.0038714674, -0.0012085864, -0.00037525207,
		-0.000116315605, -3.6035166e-05, -1.1162075e-05, -3.4573366e-06, -1.0708574e-06, -3.3168018e-07, -1.02732244e-07, -3.1819535e-08,
	},
	{
		-0.06708293, -0.008078128, 0.022323057, 0.012510902, 0.0045866324, 0.0014952903, 0.0004705059, 0.00014644382,
		4.5426994e-05, 1.4076806e-05, 4.360678e-06, 1.3507049e-06, 4.183632e-07, 1.295813e-07, 4.0135607e-08, 1.2431313e-08,
	},
	{
		-1.8974984e-05, 0.01745977, -0.0004274938, -0.0027569847, -0.0012438988, -0.00042809718, -0.00013687924, -4.2812273e-05,
		-1.3300457e-05, -4.123437e-06, -1.2775326e-06, -3.9572902e-07, -1.225736e-07, -3.7965368e-08, -1.1759145e-08, -3.6421939e-09,
	},
	{
		0.009318484, -0.0033518306, -0.0018582583, 0.00026201352, 0.00024609466, 9.569842e-05, 3.1631418e-05, 9.992007e-06,
		3.1136447e-06, 9.662037e-07, 2.994382e-07, 9.276242e-08, 2.8733146e-08, 8.899746e-09, 2.7565565e-09, 8.537969e-10,
	},
	{
		-0.00027343945, -0.0013098252, 0.0006929301, 8.17281e-05, -3.0415536e-05, -1.6979895e-05, -6.06266e-06, -1.9573351e-06,
		-6.1395457e-07, -1.9090305e-07, -5.9200087e-08, -1.8343028e-08, -5.68209e-09, -1.7599916e-09, -5.451329e-10, -1.6884602e-10,
	},
	{
		-0.00097614975, 0.000688311, -7.842868e-05, -4.5477904e-05, -2.9497428e-07, 2.2320332e-06, 9.516611e-07, 3.209295e-07,
		1.0194914e-07, 3.182239e-08, 9.880007e-09, 3.0624234e-09, 9.487495e-10, 2.9387953e-10, 9.1026076e-11, 2.8193939e-11,
	},
}

// activate returns f(x).
func activate(x float32, f Activation) float32 {
	size := math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) // |x|
	switch f {
	case ReLU:
		return relu(x)
	// With g(x) for σ(x), or for what stands for it, x·g(x) is max(x, 0) - |x|·g(-|x|), which no infinity makes a NaN.
	case GELU:
		t := least(size, geluMost)
		return fma32(-t, fma32(-0.5, pieces(erfTable[:], t, geluUnit), 0.5), relu(x))
	case GELUTanh:
		t := least(size, geluTanhMost)
		z := t * fma32(t*t, geluTanh3, geluTanh1)
		return fma32(-t, sigmoidBelow(z), relu(x))
	case SiLU:
		t := least(size, siluMost)
		return fma32(-t, sigmoidBelow(-t), relu(x))
	case Sigmoid:
		e := exp(-size)
		if math.Signbit(float64(x)) {
			return e / (1 + e)
		}
		return 1 / (1 + e)
	case Tanh:
		if size > tanhMost {
			size = tanhMost
		}
		return float32(math.Copysign(float64(pieces(tanhTable[:], size, tanhUnit)), float64(x)))
	}
	return x
}

// relu returns max(x, 0), and x if that is NaN or -0.
func relu(x float32) float32 {
	if x < 0 {
		return 0
	}
	return x
}

// least returns min(x, most), and most if x is NaN.
func least(x, most float32) float32 {
	if x < most {
		return x
	}
	return most
}

// sigmoidBelow returns 1/(1 + exp(-x)) for x ≤ 0.
func sigmoidBelow(x float32) float32 {
	e := exp(x)
	return e / (1 + e)
}

// exp returns e to the x.
func exp(x float32) float32 {
	switch {
	case x > expMost:
		x = expMost
	case x < expLeast:
		x = expLeast
	}
	m := fma32(x, log2e, rounding)
	whole := m - rounding
	r := fma32(-ln2Rest, whole, fma32(-ln2, whole, x))
	q := fma32(exp6, r, exp5)
	q = fma32(q, r, exp4)
	q = fma32(q, r, exp3)
	q = fma32(q, r, exp2)
	n := int32(math.Float32bits(m) - math.Float32bits(rounding))
	return float32(math.Ldexp(float64(1+fma32(q, r*r, r)), int(n)))
}

// pieces returns the function of a table, with so many pieces in 1, of an x from 0 on that is in its last piece at most.
func pieces(table [][16]float32, x, unit float32) float32 {
	m := fma32(x, unit, rounding)
	r := fma32(x, unit, -(m - rounding))
	piece := math.Float32bits(m) % 16
	y := table[len(table)-1][piece]
	for i := len(table) - 2; i >= 0; i-- {
		y = fma32(y, r, table[i][piece])
	}
	return y
}
