package rule

import (
	"strconv"
	"strings"
)

// ParseApprovalRoute reads a demand on approvals as people write it: fields with commas between, and spaces between the values of one, such as
// "ask=yes, kinds=tool_call action, quorum=2".
func ParseApprovalRoute(text string) (r ApprovalRoute, err error) {
	seen := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if name == "" || value == "" {
			return r, Errorf(CodeInvalid, "%q is no field; write NAME=VALUE, such as quorum=2", field)
		}
		if seen[name] {
			return r, Errorf(CodeInvalid, "%s is given twice in %q; write the values of one with spaces between", name, text)
		}
		seen[name] = true
		words := strings.Fields(value)
		switch name {
		case "kinds":
			r.Kinds = words
		case "scopes":
			r.Scopes = words
		case "approvers":
			r.Approvers = words
		case "substitutes":
			r.Substitutes = words
		case "severity_min":
			r.SeverityMin = Severity(value)
		case "role":
			r.Role = value
		case "expires_in":
			r.ExpiresIn = value
		case "escalate_after":
			r.EscalateAfter = value
		case "ask":
			if value != "yes" && value != "no" {
				return r, Errorf(CodeInvalid, "ask is %q; use yes or no", value)
			}
			r.Ask = value == "yes"
		case "quorum":
			if r.Quorum, err = strconv.Atoi(value); err != nil || r.Quorum < 1 {
				return r, Errorf(CodeInvalid, "quorum is %q; give how many people must approve", value)
			}
		default:
			return r, Errorf(CodeInvalid, "%q is no field of a demand; use %s", name, strings.Join(routeFields, ", "))
		}
	}
	return r, nil
}

// routeFields are the fields of a demand on approvals.
var routeFields = []string{"kinds", "scopes", "severity_min", "ask", "role", "approvers", "quorum", "expires_in", "escalate_after", "substitutes"}

// String writes a demand as [ParseApprovalRoute] reads it.
func (r *ApprovalRoute) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	list := func(words []string) string { return strings.Join(words, " ") }
	add("kinds", list(r.Kinds))
	add("scopes", list(r.Scopes))
	add("severity_min", string(r.SeverityMin))
	if r.Ask {
		add("ask", "yes")
	}
	add("role", r.Role)
	add("approvers", list(r.Approvers))
	if r.Quorum > 0 {
		add("quorum", strconv.Itoa(r.Quorum))
	}
	add("expires_in", r.ExpiresIn)
	add("escalate_after", r.EscalateAfter)
	add("substitutes", list(r.Substitutes))
	return strings.Join(parts, ", ")
}
