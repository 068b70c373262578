package cli

import (
	"testing"

	"tenet/internal/config"
)

// A server demands the fail modes that it was given, and no defaults.
func TestFailModesOfTheServer(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "", "ask": "CRITICAL=ask,HIGH=ask,MEDIUM=ask,LOW=ask", "CRITICAL=closed": "CRITICAL=closed"} {
		cfg, err := config.Read("", nil, func(name string) string {
			return map[string]string{"TENET_HOOK_FAIL": value}[name]
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		least, err := failModes(&cfg)
		if err != nil || least.String() != want {
			t.Errorf("%q: %s, %v", value, least, err)
		}
	}
}
