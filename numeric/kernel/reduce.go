package kernel

// lanes are the 16 partial results of a reduction along a row.
type lanes [Lanes]float32

// sum folds the lanes at distances 8, 4, 2, 1.
func (l *lanes) sum() float32 {
	for d := Lanes / 2; d > 0; d /= 2 {
		for i := range d {
			l[i] += l[i+d]
		}
	}
	return l[0]
}

// larger is the comparison of the vector units: y unless x > y, so also when x is NaN.
func larger(x, y float32) float32 {
	if x > y {
		return x
	}
	return y
}

func (l *lanes) max() float32 {
	for d := Lanes / 2; d > 0; d /= 2 {
		for i := range d {
			l[i] = larger(l[i+d], l[i])
		}
	}
	return l[0]
}

// Dot returns the sum of x*y in 16 lanes with fused multiply-adds.
func Dot(x, y []float32) float32 {
	checkSame("Dot", x, y)
	return dot(x, y)
}

func dotPlain(x, y []float32) float32 {
	var l lanes
	for i, v := range x {
		l[i%Lanes] = fma32(v, y[i], l[i%Lanes])
	}
	return l.sum()
}

// Max returns the largest element that is not NaN, -Inf for none.
func Max(x []float32) float32 { return largest(x) }

func largestPlain(x []float32) float32 {
	var l lanes
	for i := range l {
		l[i] = negInf
	}
	for i, v := range x {
		l[i%Lanes] = larger(v, l[i%Lanes])
	}
	return l.max()
}

// SumChunk is the number of elements whose squares SumSquares adds before it moves on to a new partial sum.
const SumChunk = 1 << 16

// SumSquares returns the sum of squares in float64: a partial sum in 16 lanes for each SumChunk elements, partial sums
// added in ascending order. So workers may take whole chunks and add their results in order.
func SumSquares(x []float32) float64 {
	total := 0.0
	for len(x) > SumChunk {
		total += sumSquares(x[:SumChunk])
		x = x[SumChunk:]
	}
	return total + sumSquares(x)
}

func sumSquaresPlain(x []float32) float64 {
	var l [Lanes]float64
	for i, v := range x {
		l[i%Lanes] += float64(float64(v) * float64(v))
	}
	for d := Lanes / 2; d > 0; d /= 2 {
		for i := range d {
			l[i] += l[i+d]
		}
	}
	return l[0]
}
