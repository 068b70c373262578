package rule

import "regexp"

var unknownName = regexp.MustCompile(`^(scope|repository|kind) .*: no rule |^facts.*: no .* reads `)

// UnknownName reports whether a notice of an evaluation is about a name of the request that no rule knows. Such a notice is no reason of a verdict, as
// others are.
func UnknownName(notice string) bool { return unknownName.MatchString(notice) }
