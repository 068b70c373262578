// Package proptest runs property tests from a fixed seed, so that a test of an unchanged tree always draws the same values, and
// leaves no files of failed draws behind. `make fuzz` runs the same properties from random seeds.
package proptest

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// seed is where draws start unless RAPID_SEED or -rapid.seed says otherwise; 0 there is a random seed.
const seed = "1"

func init() {
	preset("RAPID_SEED", "rapid.seed", seed)
	preset("RAPID_NOFAILFILE", "rapid.nofailfile", "true")
}

// preset sets a flag of rapid unless the environment has set it. The command line, which is read later, prevails.
func preset(variable, name, value string) {
	if _, ok := os.LookupEnv(variable); ok {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic("proptest: " + err.Error())
	}
}

// Check fails t if property fails for some of the values that it draws. The failure names the seed that shows it again.
func Check(t testing.TB, property func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, property)
}
