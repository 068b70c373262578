package hook

import "testing"

func TestSessionOf(t *testing.T) {
	for payload, want := range map[string]string{
		`{"session_id":"a","cwd":"/"}`:      "a",
		`{"sessionId":"b"}`:                 "b",
		`{"conversation_id":"c"}`:           "c",
		`{"trajectory_id":"d"}`:             "d",
		`{"session_id":7}`:                  "",
		`{"Session_ID":"another spelling"}`: "",
		`[]`:                                "",
		``:                                  "",
	} {
		if got := SessionOf([]byte(payload)); got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}
