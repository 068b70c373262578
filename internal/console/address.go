package console

import (
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
)

// projectAddress is the address of a screen of a project, by the parts of its path.
func projectAddress(project string, parts ...string) string {
	var b strings.Builder
	b.WriteString("/p/" + url.PathEscape(project))
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// at is the address of a screen in the project of the page, by the parts of its path.
func (p *page) at(parts ...string) string { return projectAddress(p.project.ID, parts...) }

// with is the address of this page with parameters changed, by name and value; an empty value removes one.
func (p *page) with(pairs ...string) string {
	query := p.r.URL.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		} else {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return p.r.URL.EscapedPath()
	}
	return p.r.URL.EscapedPath() + "?" + query.Encode()
}

// othersOf lists the parameters of this page except some, as names and values, for forms that keep them.
func othersOf(p *page, except ...string) []option {
	query := p.r.URL.Query()
	var list []option
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if value != "" && !slices.Contains(except, name) {
				list = append(list, option{name, value})
			}
		}
	}
	return list
}

// queryOf is a query of names and values, without the empty ones.
func queryOf(pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query.Encode()
}

// localPath returns an address of this server that a parameter names, or / if it names another.
func localPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") ||
		strings.ContainsAny(s, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// attachment is the Content-Disposition of a file with a name.
func attachment(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}
