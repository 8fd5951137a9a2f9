package asm

import (
	"math"
	"unsafe"

	"example.com/leafhopper/internal/enum"
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
	Identity: "identity", ReLU: "relu", GELU: "gelu", GELUTanh: "gelutanh",
	SiLU: "silu", Sigmoid: "sigmoid", Tanh: "tanh",
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
func (f Activation) String() string { return enum.Name("Activation", activationNames[:], f) }

// A Vector is a float32 for each element of a matrix, of which that of row i and column j lies i·Row + j·Col bytes
// after At: Col is 4 for a value in each column, and else 0; Row is 4 for a value in each row, and else 0.
type Vector struct {
	At       unsafe.Pointer
	Row, Col int
}

// Activate sets rows x cols elements of dst to f(src + bias), where bias + 0 is rounded, too; without a bias, At is
// nil. dst may be src. Rows of dst lie ldd bytes apart, rows of src lds bytes.
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

// A pass is what a walk over rows does to each element and its part of a Vector: to add that and then an
// [Activation], or passScale.
type pass uint8

const passScale = pass(numActivations)

// applyMost bounds the rows of one call in assembly, as wide as a tile of C may be: a few microseconds.
const applyMost = 64

func apply(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) {
	for i := 0; cols > 0 && i < rows; i += applyMost {
		to, from, some := unsafe.Add(dst, i*ldd), unsafe.Add(src, i*lds), min(rows-i, applyMost)
		v := Vector{unsafe.Add(v.At, i*v.Row), v.Row, v.Col}
		if !applyVectors(to, ldd, from, lds, some, cols, v, how) {
			applyGeneric(to, ldd, from, lds, some, cols, v, how)
		}
	}
}

// applyGeneric is the twin of apply512 and apply256.
func applyGeneric(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, rows, cols int, v Vector, how pass) {
	for i := range rows {
		to := unsafe.Slice((*float32)(unsafe.Add(dst, i*ldd)), cols)
		from := unsafe.Slice((*float32)(unsafe.Add(src, i*lds)), cols)
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

const (
	rounding = 3 << 22 // added to a float32 below 2^22, leaves the nearest integer in the last bits

	// exp(x) = 2^n·(1 + r + r²·(exp2 + exp3·r + ...)), where n is the integer nearest to x/ln 2 and r = x - n·ln 2:
	// the polynomial through Chebyshev's five nodes of (exp(r) - 1 - r)/r² for |r| ≤ (ln 2)/2.
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

	erfUnit  = 3.9290493            // pieces of erfTable in 1
	geluUnit = erfUnit / math.Sqrt2 // the same of erf(x/√2),
	geluMost = 5.57                 // and from where that is 1
	tanhUnit = 1.6583235            // the same of tanhTable
	tanhMost = 9.34
)

// erfTable and tanhTable have 16 pieces of a function, of which piece i is about i/unit and 1/unit long: c0 + c1·r +
// c2·r² + ... with r from -1/2 to 1/2, through Chebyshev's nodes. The first piece is a half, with c0 = 0: that
// through the nodes of f(r)/r, times r. c2 of piece 1 of erf is 12 units of its last place more: else
// the GELU of 15 floats is off by more than one of theirs.
var erfTable = [6][16]float32{
	{
		0, 0.28110638, 0.52839845, 0.7197748,
		0.85006225, 0.9280903, 0.96919847, 0.98825,
		0.996017, 0.99880236, 0.999681, 0.99992484,
		0.9999843, 0.99999714, 0.9999995, 0.99999994,
	},
	{
		0.28718886, 0.26917517, 0.22163448, 0.16031513,
		0.101870045, 0.056866094, 0.027886573, 0.012013562,
		0.0045465636, 0.0015115748, 0.00044147985, 0.00011327316,
		2.5531604e-05, 5.0555e-06, 8.793973e-07, 1.3438203e-07,
	},
	{
		1.3970922e-08, -0.017436119, -0.02871344, -0.03115426,
		-0.026395662, -0.018418461, -0.010838732, -0.0054475437,
		-0.002356122, -0.0008812171, -0.00028595523, -8.069944e-05,
		-1.9840743e-05, -4.255342e-06, -7.9697605e-07, -1.3044941e-07,
	},
	{
		-0.006201352, -0.0050591403, -0.0023056413, 0.00057457306,
		0.002359917, 0.0027490796, 0.0022062548, 0.0013873572,
		0.00071583095, 0.00030987238, 0.00011396662, 3.5894358e-05,
		9.732775e-06, 2.2805723e-06, 4.630755e-07, 8.165361e-08,
	},
	{
		1.0824582e-06, 0.00053619494, 0.000764314, 0.0006143148,
		0.00026485548, -4.528995e-05, -0.0001928434, -0.00019613495,
		-0.00013463423, -7.160836e-05, -3.1004027e-05, -1.1193001e-05,
		-3.4160496e-06, -8.890875e-07, -1.9851423e-07, -3.8187217e-08,
	},
	{
		0.000118630516, 8.390615e-05, 5.0938825e-06, -5.8635873e-05,
		-7.287092e-05, -4.7201433e-05, -1.2737544e-05, 8.604227e-06,
		1.3914885e-05, 1.0595353e-05, 5.765692e-06, 2.4664664e-06,
		8.625635e-07, 2.5171795e-07, 6.205996e-08, 1.3032146e-08,
	},
}

var tanhTable = [8][16]float32{
	{
		0, 0.5391941, 0.8354868, 0.94773585,
		0.98406124, 0.99520147, 0.99856097, 0.99956894,
		0.99987096, 0.9999614, 0.99998844, 0.99999654,
		0.999999, 0.9999997, 0.9999999, 1,
	},
	{
		0.60301864, 0.42770287, 0.18208854, 0.061385363,
		0.019069511, 0.0057733455, 0.0017342573, 0.00051972806,
		0.00015564385, 4.660107e-05, 1.3951867e-05, 4.1769617e-06,
		1.2505074e-06, 3.7437877e-07, 1.1208203e-07, 3.3555263e-08,
	},
	{
		-6.6030715e-08, -0.13906519, -0.0917389, -0.03508183,
		-0.011315982, -0.00346473, -0.001044285, -0.00031327078,
		-9.3844086e-05, -2.8100247e-05, -8.413143e-06, -2.5187787e-06,
		-7.540789e-07, -2.2575745e-07, -6.7587585e-08, -2.0234461e-08,
	},
	{
		-0.0730901, -0.0066262786, 0.024148341, 0.01260882,
		0.0044035623, 0.0013794806, 0.00041860674, 0.00012583012,
		3.7716738e-05, 1.12957705e-05, 3.3821088e-06, 1.012573e-06,
		3.0314834e-07, 9.0757204e-08, 2.7171033e-08, 8.134501e-09,
	},
	{
		-2.4376011e-05, 0.019013397, -0.0010441259, -0.00295472,
		-0.0012415875, -0.0004078821, -0.0001254759, -3.786995e-05,
		-1.1364965e-05, -3.4049172e-06, -1.019589e-06, -3.0526564e-07,
		-9.139259e-08, -2.7361391e-08, -8.1915035e-09, -2.452384e-09,
	},
	{
		0.010763993, -0.0041135936, -0.0018664288, 0.0003402552,
		0.00025902272, 9.454821e-05, 2.9916937e-05, 9.103376e-06,
		2.738604e-06, 8.210738e-07, 2.4592057e-07, 7.363356e-08,
		2.2045365e-08, 6.6000467e-09, 1.9759374e-09, 5.915593e-10,
	},
	{
		-0.00035162363, -0.0013929387, 0.00078165514, 6.7210356e-05,
		-3.5839865e-05, -1.7590139e-05, -5.939033e-06, -1.8399769e-06,
		-5.5645086e-07, -1.6709376e-07, -5.006984e-08, -1.4994017e-08,
		-4.4892907e-09, -1.3440421e-09, -4.02384e-10, -1.204665e-10,
	},
	{
		-0.0011724172, 0.00083356263, -0.00011200866, -4.6106514e-05,
		9.997781e-07, 2.4907963e-06, 9.707236e-07, 3.1160263e-07,
		9.519132e-08, 2.8669696e-08, 8.598531e-09, 2.5756166e-09,
		7.7121487e-10, 2.3089837e-10, 6.912764e-11, 2.0695612e-11,
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

// pieces returns the function of a table, with so many pieces in 1, of an x from 0 on that is in its last piece at
// most.
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
