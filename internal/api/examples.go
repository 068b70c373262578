package api

import (
	_ "embed" // for the file of examples
	"encoding/json"
)

//go:embed examples.json
var examplesFile []byte

// requestExamples are the requests that the API description shows, by operation. Those of evaluations work on every server with the
// starter rules.
func requestExamples() map[string]json.RawMessage {
	examples := map[string]json.RawMessage{}
	if err := json.Unmarshal(examplesFile, &examples); err != nil {
		panic("api: examples.json is not JSON: " + err.Error())
	}
	return examples
}
