package api

import (
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// etagOf is the entity tag of a version.
func etagOf(version int) string { return strconv.Quote(strconv.Itoa(version)) }

// ifMatch reads an If-Match header: the version that a change is based on, or 0 where any will do. A weak tag counts like a
// strong one, since proxies that compress weaken tags and a version has one content only.
func ifMatch(header string) (int, error) {
	tag := strings.TrimSpace(header)
	if tag == "" || tag == "*" {
		return 0, nil
	}
	tag = strings.TrimPrefix(tag, "W/")
	unquoted := strings.TrimSuffix(strings.TrimPrefix(tag, `"`), `"`)
	version, err := strconv.Atoi(unquoted)
	if err != nil || version < 1 || len(tag) != len(unquoted)+2 {
		return 0, rule.Errorf(rule.CodePrecondition, `If-Match must be one ETag of the rule, such as "3"`)
	}
	return version, nil
}

// noneMatch reports whether an If-None-Match header holds a tag, so that the caller has the content already.
func noneMatch(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == "*" || part == tag {
			return true
		}
	}
	return false
}
