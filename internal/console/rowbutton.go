package console

import (
	"net/url"
	"strings"

	"tenet/internal/rule"
)

// decided reads from the form of a list what is to be done with which of its rows, and the page to go back to. The rows are those whose boxes are
// checked, the values of the field. The button of a row decides that row alone, and carries the action, the row's place in the list and its id.
func decided(form url.Values, field string) (do string, ids []string, back string, err error) {
	do, ids, back = form.Get("do"), form[field], localPath(form.Get("next"))
	one := form.Get("one")
	if one == "" {
		return do, ids, back, nil
	}
	parts := strings.SplitN(one, " ", 3)
	if len(parts) != 3 {
		return "", nil, "", rule.Errorf(rule.CodeInvalid, "the form names a row that no list has")
	}
	return parts[0], parts[2:], back + "#row-" + url.PathEscape(parts[1]), nil
}
