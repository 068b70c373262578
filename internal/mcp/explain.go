package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// toolError is an error that is worded for a model already.
type toolError string

func (e toolError) Error() string { return string(e) }

// explain words an error for a model: what is wrong, and what to do about it.
func explain(err error) error {
	if e, ok := errors.AsType[toolError](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return toolError("the call took too long or was cancelled; nothing was decided, so try again")
	}
	e, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return toolError(err.Error() + "; nothing was decided")
	}
	var b strings.Builder
	b.WriteString(e.Message)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "; %s: %s", f.Field, f.Message)
	}
	if todo := remedies[e.Code]; todo != "" && !rule.IsSuspended(err) { // no role of a key lifts a suspension
		b.WriteString(". " + todo)
	}
	if c, ok := errors.AsType[*client.Error](err); ok && e.Code == rule.CodeInternal && c.RequestID != "" {
		b.WriteString(" (request " + c.RequestID + ")")
	}
	return toolError(b.String())
}

// remedies say what to do about each kind of error.
var remedies = map[rule.Code]string{
	rule.CodeInvalid:         "Mend the arguments and call the tool again.",
	rule.CodeNotFound:        "Look for the right id or slug with search_rules.",
	rule.CodeConflict:        "Nothing was changed.",
	rule.CodeUnauthenticated: "Tell the user that Tenet needs an API key: TENET_KEY for tenet mcp, or the Authorization header of this MCP server.",
	rule.CodeForbidden:       "Tell the user that the API key of this MCP server may not do this; evaluating needs the role evaluator, proposing rules the role reviewer.",
	rule.CodeUnavailable:     "Nothing was decided. Try again in a moment; if it happens again, tell the user that Tenet cannot be reached.",
	rule.CodeTooLarge:        "Nothing was decided. Send less at once, such as the diff file by file.",
	rule.CodeRateLimited:     "Nothing was decided. Wait a moment and try again.",
	rule.CodeInternal:        "Nothing was decided. Tell the user.",
}

// undecided makes the errors of evaluations say that they are no permission.
func undecided(err error) error {
	if err == nil {
		return nil
	}
	return toolError("The rules could not be applied, which is NOT a permission: " + explain(err).Error())
}

// maxText bounds one text of an answer, in bytes: a model reads all of it.
const maxText = 500

// clip shortens s to maxText bytes and a mark.
func clip(s string) string { return text.Clip(s, maxText, " ...") }
