// Package porttest gives tests addresses for programs that they start, where the program cannot choose a port itself.
package porttest

import "testing"

// Address returns a loopback address at which nobody listens. Until the test ends, no one is given its port who asks the system
// for any free one, and programs can listen at it, again and again.
func Address(t testing.TB) string {
	t.Helper()
	address, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}
