package search

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"tenet/internal/llm"
	"tenet/internal/text"
)

// Limits on what is read of a model's answers. Nothing that a working model says comes near them.
const (
	maxAnswer  = 128 << 10 // bytes of a whole answer
	maxQueries = 6
	maxQuery   = 200 // characters of a proposed query
	maxReason  = 300 // characters of a reason; longer ones are cut
)

var errForm = errors.New("the model's answer is not what was asked for")

// decode reads an answer that must be one JSON object of the form of T and nothing else.
func decode[T any](text string) (T, error) {
	var v T
	if len(text) > maxAnswer || !utf8.ValidString(text) {
		return v, errForm
	}
	if err := json.Unmarshal([]byte(llm.Unfenced(text)), &v); err != nil {
		return v, errForm
	}
	return v, nil
}

// parseQueries reads the queries that a model proposes: the first ones that say something, each once.
func parseQueries(answer string) ([]string, error) {
	a, err := decode[struct {
		Queries []string `json:"queries"`
	}](answer)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, q := range a.Queries {
		q = text.OneLine(clean(q))
		if q == "" || utf8.RuneCountInString(q) > maxQuery || slices.ContainsFunc(out, func(have string) bool { return strings.EqualFold(have, q) }) {
			continue
		}
		if out = append(out, q); len(out) == maxQueries {
			break
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the model proposes no query")
	}
	return out, nil
}

// relevance is how much a rule matters in a situation.
type relevance string

const (
	direct  relevance = "direct"
	related relevance = "related"
	none    relevance = "none"
)

// opinion is the judgement of a model on a rule; without a relevance it has none.
type opinion struct {
	relevance relevance
	reason    string
}

// parseRelevance reads what a model says of n rules. Entries of unknown rules or values are dropped, and of several entries of
// a rule the one that makes it most relevant counts: an answer that contradicts itself must not hide a rule.
func parseRelevance(s string, n int) ([]opinion, error) {
	a, err := decode[struct {
		Rules []struct {
			Ref       string    `json:"rule_ref"`
			Reason    string    `json:"reason"`
			Relevance relevance `json:"relevance"`
		} `json:"rules"`
	}](s)
	if err != nil {
		return nil, err
	}
	out := make([]opinion, n)
	usable := false
	for _, e := range a.Rules {
		digits, ok := strings.CutPrefix(e.Ref, "R")
		i, err := strconv.Atoi(digits)
		if !ok || err != nil || i < 1 || i > n || ref(i-1) != e.Ref || e.Relevance.rank() == 0 {
			continue
		}
		usable = true
		if o := &out[i-1]; e.Relevance.rank() > o.relevance.rank() {
			*o = opinion{e.Relevance, text.FitRunes(clean(e.Reason), maxReason, "…")}
		}
	}
	if !usable {
		return nil, errors.New("the model judges none of the rules it was shown")
	}
	return out, nil
}

// rank orders relevances; what is no relevance is 0.
func (r relevance) rank() int {
	switch r {
	case direct:
		return 3
	case related:
		return 2
	case none:
		return 1
	}
	return 0
}

// clean makes a model's text fit to be shown: trimmed, on one line, without characters that steer a terminal or reorder text.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, s))
}
