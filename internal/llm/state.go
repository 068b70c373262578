package llm

// State is whether a model can be asked. A node whose model does not work is ready all the same: it answers
// NEEDS_CONFIRMATION where the model would decide.
type State struct {
	// Model is the configured model, or empty.
	Model  string `json:"model"`
	Status Status `json:"status"`
	// Detail says what is wrong and what to set. It holds no key.
	Detail string `json:"detail,omitempty"`
}

// Status is the state of a model in one word.
type Status string

// States of a model.
const (
	StatusNone        Status = "none"     // no model is configured
	StatusChecking    Status = "checking" // the first check has not ended
	StatusOK          Status = "ok"       // the model, or another one of a chain, can be asked
	StatusUnreachable Status = "unreachable"
	StatusBadKey      Status = "bad_key" // the server refuses the key
)
