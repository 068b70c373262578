package rule

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestNumbersThatCrossABoundAreNotKept(t *testing.T) {
	for decimal, want := range map[string]bool{
		"0": true, "-0.0": true, "0e5": true, "1000": true, "1000.1": true, "-0.1": true, "1e3": true, "5.3e1": true, "1000.000000000000000000000": true,
		"0.30000000000000004": true, "0.10000000000000001": true, "0.1000000000000000055511151231257827": true, "1e300": true, "9007199254740993": true,
		"123456789012345.6": true, "9007199254740991": true, "9007199254740990.000": true, "5e-324": true, "1.7976931348623157e308": true,
		"1000.0000000000000000001": false, "999.99999999999999999999": false, "-1000.00000000000000001": false, "1e-400": false, "4e-324": false,
		"0.100000000000000002": false, "1000000000000000000001e-18": false, "4503599627370497.25": false, "0.3000000000000000001": false, "1e400": false,
	} {
		if got := KeepsNumber(decimal); got != want {
			t.Errorf("%s: %t", decimal, got)
		}
	}
}

// No decimal that is kept is on another side of a whole number than the 64-bit number that it becomes.
func TestKeptNumbersStayOnTheirSideOfWholeNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kept := 0
	for range 200_000 {
		digits := strconv.Itoa(random.IntN(2_000))
		if random.IntN(4) == 0 {
			digits = strconv.FormatInt(random.Int64N(1<<53), 10)
		}
		digits += "."
		for range random.IntN(24) {
			digits += string(rune("0090"[random.IntN(4)]))
		}
		digits += strconv.Itoa(random.IntN(10))
		if !KeepsNumber(digits) {
			continue
		}
		kept++
		exact, _, err := big.ParseFloat(digits, 10, 300, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := strconv.ParseFloat(digits, 64)
		for _, bound := range []float64{math.Floor(x), math.Ceil(x)} {
			if exact.Cmp(big.NewFloat(bound)) != big.NewFloat(x).Cmp(big.NewFloat(bound)) {
				t.Fatalf("%s becomes %v, on another side of %v", digits, x, bound)
			}
		}
	}
	if kept < 10_000 {
		t.Errorf("only %d were kept", kept)
	}
}

func TestNumbersLostInJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,{"b":1000.0000000000000000001}]}`: "1000.0000000000000000001",
		`{"a":"1000.0000000000000000001"}`:         "",
		`{"a":1000.5,"b":9007199254740993}`:        "",
		`1e-400`:                                   "1e-400",
	} {
		if got, found := LostNumber([]byte(text)); got != want || found != (want != "") {
			t.Errorf("%s: %q", text, got)
		}
	}
}
