package rule

import "math"

// Rate is a part of a whole with its Wilson interval of 95 %.
type Rate struct {
	Value float64 `json:"value" doc:"The part."`
	Low   float64 `json:"low" doc:"Lower end of the 95 % Wilson interval."`
	High  float64 `json:"high" doc:"Upper end of the 95 % Wilson interval."`
	Of    int     `json:"of" doc:"Size of the whole."`
}

// Wilson is the part k of n with the Wilson score interval of 95 %: E. B. Wilson, Probable inference, the law of succession,
// and statistical inference, 1927. It is nil for n = 0.
func Wilson(k, n int) *Rate {
	if n == 0 {
		return nil
	}
	const z = 1.959963984540054 // the 97.5 % quantile of the normal distribution
	size := float64(n)
	p := float64(k) / size
	centre := p + z*z/(2*size)
	spread := z * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	scale := 1 + z*z/size
	return &Rate{Value: p, Low: max(0, (centre-spread)/scale), High: min(1, (centre+spread)/scale), Of: n}
}
