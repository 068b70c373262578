package judgetest

import (
	"encoding/json"
	"strings"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// IsSmall reports whether a request asks about one rule in the form for small models.
func IsSmall(req llm.Request) bool { return req.SchemaName == "verdict" }

// smallRules reads the rule of a request in the form for small models.
func smallRules(req llm.Request) []Rule {
	_, after, _ := strings.Cut(req.Prompt, "\nEND "+Fence(req)+"\n")
	first, rest, _ := strings.Cut(after, "\n")
	word, statement, _ := strings.Cut(first, ": ")
	r := Rule{Ref: "R1", Modality: rule.Must}
	if word == "FORBIDDEN" {
		r.Modality = rule.MustNot
	}
	if json.Unmarshal([]byte(statement), &r.Statement) != nil {
		return nil
	}
	second, _, _ := strings.Cut(rest, "\n")
	_ = json.Unmarshal([]byte(second), &r) // a rule may have no more than its statement
	return []Rule{r}
}

// SmallText writes an answer in the form for small models.
func SmallText(e Entry) string {
	seen := map[string]string{}
	for _, s := range e.Seen {
		seen[s.Unit] = s.Quote
	}
	breach := ""
	if len(e.Evidence) > 0 {
		breach = e.Evidence[0].Quote
	}
	return llm.JSON(map[string]any{"seen": seen, "breach": breach, "missing": e.Absence, "reason": e.Reasoning, "verdict": e.Verdict})
}

// Entries reads an answer that [Text] has written.
func Entries(answer string) []Entry {
	var in struct {
		Verdicts []Entry `json:"verdicts"`
	}
	if err := json.Unmarshal([]byte(answer), &in); err != nil {
		panic("judgetest: " + err.Error())
	}
	return in.Verdicts
}

// answerText writes the answer to a request, in the form that it asks for.
func answerText(req llm.Request, entries []Entry) string {
	if IsSmall(req) && len(entries) == 1 {
		return SmallText(entries[0])
	}
	return Text(entries...)
}

// adaptSmall is as [Adapt] for a request in the form for small models.
func adaptSmall(req llm.Request, answer string) string {
	r := smallRules(req)[0]
	if e, ok := controlEntry(r, req); ok {
		return SmallText(Sighted(req, e))
	}
	var in struct {
		Verdicts []Entry `json:"verdicts"`
	}
	if json.Unmarshal([]byte(answer), &in) != nil || len(in.Verdicts) == 0 {
		return answer
	}
	e := in.Verdicts[0]
	e.Seen = nil
	return SmallText(Sighted(req, e))
}
