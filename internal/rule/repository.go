package rule

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Repository is the name of a repository in its normal form. Names that differ only in how they are written are equal:
// https://github.com/Acme/Billing.git, git@github.com:acme/billing and github.com/acme/billing.
//
// Letter case never counts. The common hosts ignore it, and so do GitLab, GitHub Enterprise, Gitea and Bitbucket on hosts of one's own;
// where a host has two names that differ in case, rules for one of them apply to both.
type Repository struct {
	// Host is the DNS name of the server, without user and port; empty if the name does not give one.
	Host string
	// Path is the name on that server, such as acme/billing, without slashes at its ends and without .git.
	Path string
}

// commonHosts are servers that a name without a scheme may begin with, and whose repositories have a path of two elements.
var commonHosts = map[string]bool{"github.com": true, "gitlab.com": true, "bitbucket.org": true, "codeberg.org": true, "dev.azure.com": true, "git.sr.ht": true}

// otherNames are names of servers that have another one as well.
var otherNames = map[string]string{
	"www.github.com": "github.com", "ssh.github.com": "github.com", "www.gitlab.com": "gitlab.com", "altssh.gitlab.com": "gitlab.com",
	"www.bitbucket.org": "bitbucket.org", "altssh.bitbucket.org": "bitbucket.org", "ssh.dev.azure.com": "dev.azure.com", "vs-ssh.visualstudio.com": "dev.azure.com",
}

// maxPasses bounds how often ParseRepository takes an address out of an address. More than two are an attack.
const maxPasses = 8

// ParseRepository reads the name of a repository: a path such as acme/billing, one with its host before it, or an address that git
// takes. A first element is a host if the address has a scheme or a user, if it is a common host, or if it looks like a DNS name and two
// more elements follow. A host without a dot is an alias of the caller's own settings and is left out. Any text has a reading; that of an
// empty one is empty.
func ParseRepository(s string) Repository {
	if at := strings.Index(s, "://"); at >= 0 {
		if query := strings.IndexByte(s[at:], '?'); query >= 0 {
			s = s[:at+query]
		}
	}
	return readRepository(s)
}

// readRepository reads a name or a glob, in which a question mark is a character of the glob.
func readRepository(s string) Repository {
	r := parseRepository(s)
	for range maxPasses {
		again := parseRepository(r.String())
		if again.String() == r.String() {
			break
		}
		r = again
	}
	return r
}

// CleanRepository returns the name of a repository in its normal form.
func CleanRepository(s string) string { return ParseRepository(s).String() }

// String returns the path, after the host if the name has one.
func (r Repository) String() string {
	if r.Host == "" || r.Path == "" {
		return r.Host + r.Path
	}
	return r.Host + "/" + r.Path
}

// Same reports whether two names may be of one repository: their paths are equal, and so are their hosts if both are known.
func (r Repository) Same(other Repository) bool {
	return r.Path == other.Path && (r.Host == other.Host || r.Host == "" || other.Host == "")
}

func parseRepository(s string) Repository {
	s = FoldCase(strings.ReplaceAll(strings.TrimSpace(unescaped(s)), `\`, "/"))
	host, rest, certain := splitAddress(s)
	path := cleanElements(rest)
	if host == "" && !certain {
		if first, after, ok := strings.Cut(path, "/"); ok && (commonHosts[mainName(first)] || isHost(first) && strings.Contains(after, "/")) {
			host, path = first, after
		} else if commonHosts[mainName(path)] {
			host, path = path, ""
		}
	}
	r := Repository{Host: mainName(host), Path: path}
	r.azure(host)
	r.leavePage()
	if (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")) && r.Host != "dev.azure.com" && !strings.HasSuffix(strings.TrimRight(rest, "/ "), ".git") {
		r.leaveWebPage()
	}
	if !isHost(r.Host) {
		r.Host = ""
	}
	return r
}

// splitAddress takes scheme, user, port and fragment from an address. certain is true if what comes first is no part of a path.
func splitAddress(s string) (host, path string, certain bool) {
	if scheme, rest, ok := strings.Cut(s, "://"); ok && isScheme(scheme) {
		rest, _, _ = strings.Cut(rest, "#")
		host, path = cutHost(rest)
		if before, after, ok := strings.Cut(host, ":"); ok {
			if host = before; !isNumber(after) { // ssh://git@host:acme/billing
				path = after + "/" + path
			}
		}
		return host, path, true
	}
	slash := strings.IndexByte(s, '/')
	if slash < 0 {
		slash = len(s)
	}
	at := strings.LastIndexByte(s[:slash], '@')
	user := at > 0
	before, after, colon := strings.Cut(s[at+1:], ":")
	if colon && !strings.Contains(before, "/") && (user || isHost(before) || before != "" && !strings.HasPrefix(after, "/")) {
		if port, rest, ok := strings.Cut(after, "/"); ok && isNumber(port) && strings.Contains(strings.Trim(rest, "/"), "/") {
			after = rest
		}
		return before, after, true
	}
	if user && isHost(s[at+1:slash]) {
		return s[at+1 : slash], s[slash:], true
	}
	return "", s, false
}

// cutHost splits what follows a scheme. Text before an @ is a user or a password.
func cutHost(s string) (host, path string) {
	host, path, _ = strings.Cut(s, "/")
	return host[strings.LastIndexByte(host, '@')+1:], path
}

// cleanElements drops empty elements, those that mean the folder itself, and .git at the end.
func cleanElements(path string) string {
	elements := strings.Split(path, "/")
	out := elements[:0]
	for _, e := range elements {
		switch e = strings.TrimSpace(e); e {
		case "", ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, e)
		}
	}
	for len(out) > 0 {
		last := &out[len(out)-1]
		trimmed := strings.TrimSpace(strings.TrimSuffix(*last, ".git"))
		if trimmed == *last {
			break
		}
		if *last = trimmed; trimmed == "" || trimmed == "." {
			out = out[:len(out)-1]
		}
	}
	return strings.Join(out, "/")
}

// azure brings the addresses of Azure DevOps to organization/project/repository.
func (r *Repository) azure(host string) {
	if org, ok := strings.CutSuffix(r.Host, ".visualstudio.com"); ok && org != "" && !strings.Contains(org, ".") && r.Path != "" {
		r.Host, r.Path = "dev.azure.com", org+"/"+strings.TrimPrefix(r.Path, "defaultcollection/")
	}
	if r.Host != "dev.azure.com" {
		return
	}
	if host != r.Host {
		r.Path = strings.TrimPrefix(r.Path, "v3/")
	}
	elements := strings.Split(r.Path, "/")
	for i, e := range elements {
		if e != "_git" || i == len(elements)-1 || i == 0 {
			continue
		}
		if i == 1 { // the repository that has the name of its project
			elements[i] = elements[i+1]
		} else {
			elements = append(elements[:i], elements[i+1:]...)
		}
		break
	}
	r.Path = strings.Join(elements, "/")
}

// twoElements are servers all of whose repositories have a path of two elements.
var twoElements = map[string]bool{"github.com": true, "bitbucket.org": true, "codeberg.org": true}

// leavePage takes the page from the address of a page of a repository, such as /tree/main or /pull/5, and what GitLab puts behind /-/. Globs
// of such servers stay as they are.
func (r *Repository) leavePage() {
	if repository, _, ok := strings.Cut(r.Path, "/-/"); ok && strings.Contains(repository, "/") {
		r.Path = repository
	}
	if elements := strings.SplitN(r.Path, "/", 3); len(elements) == 3 && twoElements[r.Host] && !isGlob(elements[0]+elements[1]+elements[2][:1]) {
		if name := strings.TrimSuffix(elements[1], ".git"); name != "" {
			r.Path = elements[0] + "/" + name
		}
	}
}

// isGlob reports whether a text has characters of globs. In the address of a page they are parts of names, as in /blob/main/app/[id]/page.tsx.
func isGlob(s string) bool { return strings.ContainsAny(s, "*?[{") }

// pages are the elements that follow the name of a repository in the addresses of its pages. GitLab, where a name may have more than two elements,
// lets no group and no project have one of these names.
var pages = map[string]bool{"tree": true, "blob": true, "blame": true, "raw": true, "commits": true}

// leaveWebPage takes the page from a web address on a server that is not known, such as GitHub Enterprise. Before a page are at least an owner and a
// repository, and something follows it. Of pages such as /issues/5, whose names GitLab allows for projects, only /OWNER/REPOSITORY/pull/NUMBER is one.
func (r *Repository) leaveWebPage() {
	elements := strings.Split(r.Path, "/")
	for i := 2; i < len(elements)-1; i++ {
		if pages[elements[i]] || i == 2 && elements[i] == "pull" && isNumber(elements[i+1]) {
			if name := strings.TrimSuffix(strings.Join(elements[:i], "/"), ".git"); !isGlob(name+elements[i+1][:1]) && !strings.HasSuffix(name, "/") {
				r.Path = name
			}
			return
		}
	}
}

func mainName(host string) string {
	if main, ok := otherNames[host]; ok {
		return main
	}
	return host
}

// isHost reports whether a text in lower case looks like a DNS name: labels joined by dots, the last of letters only. So it is neither
// an alias such as github.com-work nor a version such as v1.2. Of a glob, * may be in all labels but the last.
func isHost(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	if len(last) == len(s) || len(s) > 253 || len(last) < 2 || last == "git" || strings.Contains(s, "..") || s[0] == '.' || s[0] == '-' {
		return false
	}
	if !strings.HasPrefix(last, "xn--") && strings.ContainsFunc(last, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '*' && r != '_'
	})
}

func isScheme(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
}

func isNumber(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// unescaped undoes percent-encoding, as often as it was done; a text that is not encoded well stays as it is.
func unescaped(s string) string {
	for strings.Contains(s, "%") {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == s || !utf8.ValidString(plain) || strings.ContainsFunc(plain, unicode.IsControl) {
			break
		}
		s = plain
	}
	return s
}

// FoldCase returns a text in which letters that differ only in case are equal, in lower case where that exists, as names of repositories
// and scopes have them in their normal form.
func FoldCase(s string) string {
	folded := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			folded = false
			break
		}
	}
	if folded {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return unicode.ToLower(r)
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

// ParseRepositoryGlob reads a glob of repository names as [ParseRepository] reads a name. A slash at the end of the path stays, and means
// everything below; so does one before a single element, which then is not found in other folders. A host alone means all that it has.
// Braces are not looked into: package subject reads each of their alternatives.
func ParseRepositoryGlob(s string) Repository {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "{}") {
		return Repository{Path: FoldCase(s)}
	}
	r := readRepository(separators(s))
	end := strings.TrimRight(s, "/\\ ") != s
	switch {
	case r.Path == "" && r.Host != "":
		r.Path = "**"
	case r.Path == "":
		return r
	case r.Host == "" && !strings.Contains(r.Path, "/") && (strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./")) && !end:
		r.Path = "/" + r.Path
	}
	if end && !strings.HasSuffix(r.Path, "**") {
		r.Path += "/"
	}
	return r
}

// CleanRepositoryGlob returns a glob of repository names in its normal form.
func CleanRepositoryGlob(s string) string { return ParseRepositoryGlob(s).String() }
