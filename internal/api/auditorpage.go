package api

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
)

// AuditorPage serves the page on which auditors check proofs and evidence packs in their browser. It holds no data, and reaches no address.
type AuditorPage struct{ File string }

// Routes implements [rest.Resource].
func (s AuditorPage) Routes(r *rest.Router) {
	r.Raw("/audit/page", auth.Public, rest.PublicAccess, func(w http.ResponseWriter, r *http.Request) {
		if err := s.serve(w); err != nil {
			rest.WriteProblem(w, r, err)
		}
	})
}

// pagePolicy finds the content security policy that the page names. It lists the hashes of the scripts of the page.
var pagePolicy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="(default-src 'none'; [a-zA-Z0-9 ;'+/=-]+)">`)

// maxAuditorPage bounds the file, in bytes; it has about 5 MB.
const maxAuditorPage = 32 << 20

func (s AuditorPage) serve(w http.ResponseWriter) error {
	info, err := os.Stat(s.File)
	if errors.Is(err, fs.ErrNotExist) || s.File == "" {
		return rule.Errorf(rule.CodeNotFound, "the page for auditors is not here; it is the file tenet-auditor.html of a release, for the setting audit_page or beside the program")
	}
	if err != nil {
		return err
	}
	if info.Size() > maxAuditorPage {
		return rule.Errorf(rule.CodeUnavailable, "audit_page is not the page for auditors: it is too large")
	}
	page, err := os.ReadFile(s.File)
	if err != nil {
		return err
	}
	policy := pagePolicy.FindSubmatch(page[:min(len(page), 4096)])
	if policy == nil || strings.Contains(string(policy[1]), "unsafe-inline") || strings.Contains(string(policy[1]), "http") {
		return rule.Errorf(rule.CodeUnavailable, "audit_page is not the page for auditors: it names no content security policy of it")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", string(policy[1])+"; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	_, err = w.Write(page)
	_ = err // the caller has gone
	return nil
}
