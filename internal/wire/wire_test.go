package wire

import (
	"encoding/json"
	"testing"
)

func TestOptionalTellsAbsentFromNull(t *testing.T) {
	var body struct {
		A Optional[string] `json:"a,omitzero"`
		B Optional[string] `json:"b,omitzero"`
		C Optional[int]    `json:"c,omitzero"`
	}
	const text = `{"b":null,"c":0}`
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	if body.A.Set || !body.B.Set || !body.B.Null || !body.C.Set || body.C.Null {
		t.Errorf("%+v", body)
	}
	if got, err := json.Marshal(body); err != nil || string(got) != text {
		t.Errorf("written again: %s, %v", got, err)
	}
}

func TestAgentAnswerHasAResultOfItsType(t *testing.T) {
	var a AgentAnswerOf[AgentCheckResult]
	if err := json.Unmarshal([]byte(`{"status":"completed","result":{"allowed":true},"session_id":"s"}`), &a); err != nil {
		t.Fatal(err)
	}
	if a.Status != AgentCompleted || a.SessionID != "s" || a.Result == nil || !a.Result.Allowed {
		t.Errorf("%+v", a)
	}
}
