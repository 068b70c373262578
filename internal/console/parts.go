package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// current is the value of aria-current.
func current(yes bool) string {
	if yes {
		return "page"
	}
	return "false"
}

// shownProject is the project of the page, or the one that the person begins in.
func (p *page) shownProject() string {
	if p.project.ID != "" {
		return p.project.ID
	}
	if p.who == (auth.Actor{}) {
		return rule.DefaultProject
	}
	return p.startProject()
}

// offered are the entries of the navigation whose screens the caller may see.
func offered(p *page, entries []screenEntry) []screenEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(e screenEntry) bool { return p.who.May(e.role, p.shownProject()) != nil })
}

// entryAddress is where an entry of the navigation leads. The queue is over all projects, and so are operations for those who administer all.
func entryAddress(p *page, name string) string {
	switch {
	case name == "queue":
		return "/queue"
	case name == "operations" && overAll(p):
		return "/operations"
	}
	return projectAddress(p.shownProject(), name)
}

// here is the address of the page, for forms that lead back to it; of a page that a form has led to, the page of the form.
func (p *page) here() string {
	if p.r.Method == http.MethodPost {
		return p.from()
	}
	return p.r.URL.RequestURI()
}

// from is the address of the page on which the person pressed a button, or / if the browser does not send one of this server.
func (p *page) from() string {
	u, err := url.Parse(p.r.Referer())
	if err != nil || u.Host != p.r.Host {
		return "/"
	}
	return localPath(u.RequestURI())
}

// problemTitle is the heading of a page about an error.
func problemTitle(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusUnauthorized:
		return "Sign in first"
	case http.StatusUnprocessableEntity:
		return "That is not possible"
	case http.StatusConflict, http.StatusPreconditionFailed:
		return "Something else came first"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusServiceUnavailable:
		return "Not available now"
	}
	return "An error"
}

var tones = map[string]string{
	"ALLOW": "good", "APPROVED": "good", "EFFECTIVE": "good", "same": "good",
	"DENY": "bad", "CRITICAL": "bad", "differs": "bad",
	"NEEDS_CONFIRMATION": "warn", "HIGH": "warn", "REVIEW": "warn", "unreplayable": "warn",
}

// tone is the class of a word that says how something went.
func tone(s string) string {
	return cmp.Or(tones[s], "plain")
}

// words of verdicts and other names in capitals, for people.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// stamp is a time as pages show it without a script.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// sizeWords is a number of bytes for people.
func sizeWords(n int64) string {
	if n < 1<<20 {
		return grouped(n) + " bytes"
	}
	return grouped(n>>20) + " MiB"
}

// machine is a time for attributes.
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// pager is the place of a page of a list.
type pager struct{ Number, Size, Shown, Total int }

// maxPageNumber bounds the numbers of pages.
const maxPageNumber = 1_000_000

// pageOf reads the number of the page from an address.
func pageOf(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 1 || n > maxPageNumber {
		return 1
	}
	return n
}

func (g pager) first() int { return (g.Number-1)*g.Size + 1 }
func (g pager) last() int  { return (g.Number-1)*g.Size + g.Shown }
func (g pager) more() bool { return g.last() < g.Total }

// option is a choice of a filter.
type option struct{ Value, Label string }

// options makes choices of names.
func options[T ~string](values []T) []option {
	list := make([]option, len(values))
	for i, v := range values {
		list[i] = option{string(v), words(string(v))}
	}
	return list
}
