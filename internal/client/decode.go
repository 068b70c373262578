package client

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	"tenet/internal/rule"
)

// verdict has the fields of a verdict without its methods.
type verdict rule.RuleVerdict

// decoding makes [decode] read what encoding/json reads. Verdicts are most of an answer: they are read in the same pass as all else, with the
// default that [rule.RuleVerdict.UnmarshalJSON] gives them.
var decoding = json.JoinOptions(legacy.DefaultOptionsV1(), json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *rule.RuleVerdict) error {
	read := verdict{Concerned: true}
	err := json.UnmarshalDecode(d, &read)
	*v = rule.RuleVerdict(read)
	return err
})))

// decode decodes the JSON of an answer. It takes about half the time of encoding/json, and callers wait for it before they act.
func decode(body []byte, into any) error { return json.Unmarshal(body, into, decoding) }
