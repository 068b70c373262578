package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/a-h/templ"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// page is one request of one person.
type page struct {
	console *Console
	w       http.ResponseWriter
	r       *http.Request
	// ctx has the actor and the session; it ends when the request has taken too long.
	ctx context.Context //nolint:containedctx // a page lives as long as its request
	// began is the context that the request came with, which a live stream reads its session in again and again.
	began context.Context //nolint:containedctx // as above
	// api calls the API as the actor of ctx, in the project of the page.
	api   *client.Client
	nonce string
	theme string // light, dark, or empty for what the reader's system has

	who      auth.Actor // zero for somebody who is not signed in
	local    bool       // who is the local user of a server without keys
	project  rule.Project
	projects []rule.Project // those that who may see, at most maxProjects
	notice   flash
	entering bool // the screen is for people who are signed in
	loaded   bool // the session
	sent     bool // the answer
}

// maxProjects bounds the list of the project switcher.
const maxProjects = 100

// open signs the person in and enters the project of the path. It leads people who have yet to sign in to where they can.
func (p *page) open(screen route) error {
	if err := p.console.cfg.API.MayEnter(p.r); err != nil {
		return err
	}
	if p.r.Method == http.MethodPost && !screen.upload {
		p.r.Body = http.MaxBytesReader(p.w, p.r.Body, maxForm)
		if err := p.r.ParseForm(); err != nil {
			return rule.Errorf(rule.CodeInvalid, "the form cannot be read: %w", err)
		}
	}
	p.entering = !screen.open
	if err := p.load(); err != nil || p.sent {
		return err
	}
	switch {
	case p.who != (auth.Actor{}):
	case screen.open:
		return nil
	case p.partial():
		return sessionEnded(p)
	case p.r.Method == http.MethodGet || p.r.Method == http.MethodHead:
		return p.redirect("/signin?" + queryOf("next", p.r.URL.RequestURI()))
	default:
		return rule.Errorf(rule.CodeUnauthenticated, "you are not signed in, or the session has ended; sign in and try again")
	}
	p.ctx = auth.WithActor(p.ctx, p.who)
	p.r = p.r.WithContext(p.ctx)
	if err := p.enter(screen); err != nil || !screen.upload {
		return err
	}
	return receive(p)
}

// sessionEnded answers a script that asks for a part of a page after the session has ended. The page that asks shows it beside what somebody may
// have typed, instead of the sign-in page in the place of the part.
func sessionEnded(p *page) error {
	p.w.Header().Set("HX-Retarget", "#ended")
	p.w.Header().Set("HX-Reswap", "innerHTML")
	return p.answer(http.StatusUnauthorized, endedNotice())
}

// receive reads a form with files. The person is known by then: nobody else can make the server hold that much.
func receive(p *page) error {
	p.r.Body = http.MaxBytesReader(p.w, p.r.Body, p.console.cfg.MaxBody)
	err := p.r.ParseMultipartForm(p.console.cfg.MaxBody)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return rule.Errorf(rule.CodeTooLarge, "the files have more than %s together; send a part of them", sizeWords(p.console.cfg.MaxBody))
	}
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the form cannot be read: %w", err)
	}
	return nil
}

// forget removes the files that the form of the request has left on disk.
func forget(p *page) {
	if p.r.MultipartForm != nil {
		_ = p.r.MultipartForm.RemoveAll() // they are in the folder for temporary files
	}
}

// enter makes the project of the path the project of the page. Projects that the person may not see are not found.
func (p *page) enter(screen route) error {
	list, err := client.Get(p.ctx, p.api, op.ListProjects.Where(wire.PageQuery{Page: 1, PageSize: maxProjects}))
	if err != nil {
		return err
	}
	p.projects = list.Items
	id := p.r.PathValue("project")
	if id == "" {
		return nil
	}
	if !p.who.Sees(id) {
		return rule.NotFound("project", id)
	}
	if i := slices.IndexFunc(p.projects, func(r rule.Project) bool { return r.ID == id }); i >= 0 {
		p.project = p.projects[i]
	} else if p.project, err = client.Get(p.ctx, p.api, op.GetProject.At(id)); err != nil {
		return err
	}
	p.api = p.api.InProject(id)
	return p.who.May(screen.role, id)
}

// may reports whether the person has a role in the project of the page: whether the page offers what needs it.
func (p *page) may(role auth.Role) bool { return p.who.May(role, p.project.ID) == nil }

// head holds the title and the place of a screen, which the frame shows.
type head struct {
	Title string
	Nav   string // name of the entry of the navigation that the screen belongs to
	// Refresh is after how many seconds a browser without scripts loads the page again; 0 means never.
	Refresh int
	// Print leaves out the frame, for paper.
	Print bool
}

// show answers with a page.
func (p *page) show(h head, body templ.Component) error { return p.showAs(http.StatusOK, h, body) }

// showAs answers with a page and a status.
func (p *page) showAs(status int, h head, body templ.Component) error {
	p.takeNotice()
	return p.answer(status, frame(p, h, body))
}

// fragment answers with a component alone, for a script that puts it into a page.
func (p *page) fragment(body templ.Component) error { return p.answer(http.StatusOK, body) }

// partial reports whether a script asks for a component to put into a page.
func (p *page) partial() bool { return p.r.Header.Get("HX-Request") == "true" }

func (p *page) answer(status int, body templ.Component) error {
	var b bytes.Buffer
	if err := body.Render(p.ctx, &b); err != nil {
		return err
	}
	if err := p.commit(); err != nil {
		return err
	}
	p.sent = true
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.w.Header().Add("Vary", "HX-Request")
	p.w.WriteHeader(status)
	_, _ = p.w.Write(b.Bytes())
	return nil
}

// download answers with a file.
func (p *page) download(name, contentType string, body []byte) error {
	if err := p.commit(); err != nil {
		return err
	}
	p.sent = true
	p.w.Header().Set("Content-Type", contentType)
	p.w.Header().Set("Content-Disposition", attachment(name))
	_, _ = p.w.Write(body)
	return nil
}

// redirect answers that the browser is to get another address of the console.
func (p *page) redirect(to string) error {
	if err := p.commit(); err != nil {
		return err
	}
	p.sent = true
	http.Redirect(p.w, p.r, to, http.StatusSeeOther)
	return nil
}

// statuses gives the status of a page about an error; other codes are internal errors.
var statuses = map[rule.Code]int{
	rule.CodeInvalid: http.StatusUnprocessableEntity, rule.CodeNotFound: http.StatusNotFound, rule.CodeConflict: http.StatusConflict,
	rule.CodePrecondition: http.StatusPreconditionFailed, rule.CodeUnauthenticated: http.StatusUnauthorized, rule.CodeForbidden: http.StatusForbidden,
	rule.CodeUnavailable: http.StatusServiceUnavailable, rule.CodeTooLarge: http.StatusRequestEntityTooLarge, rule.CodeRateLimited: http.StatusTooManyRequests,
}

// fail answers with a page about an error. Unknown errors are logged, and reveal nothing.
func (p *page) fail(err error) {
	if p.sent {
		return
	}
	e, known := errors.AsType[*rule.Error](err)
	status := 0
	if known {
		status = statuses[e.Code]
	}
	if errors.Is(err, context.DeadlineExceeded) {
		status, e = http.StatusServiceUnavailable, rule.Errorf(rule.CodeUnavailable, "the server took too long; try again")
	}
	if status == 0 {
		p.console.cfg.Logger.ErrorContext(p.ctx, "a page of the console failed", slog.String("path", p.r.URL.Path), slog.Any("error", err))
		status, e = http.StatusInternalServerError, rule.Errorf(rule.CodeInternal, "Something went wrong here. The log of the server says what.")
	}
	if err := p.showAs(status, head{Title: http.StatusText(status)}, problemPage(p, status, e)); err != nil {
		p.console.cfg.Logger.ErrorContext(p.ctx, "the error page of the console failed", slog.Any("error", err))
		http.Error(p.w, "internal error", http.StatusInternalServerError)
	}
}

// missing answers that nothing has the address.
func missing(*page) error {
	return rule.Errorf(rule.CodeNotFound, "nothing has this address")
}

// home leads to the first screen.
func home(p *page) error { return p.redirect(projectAddress(p.startProject(), "evaluations")) }

// projectHome leads to a project whose address names no page.
func projectHome(p *page) error { return p.redirect(p.at("evaluations")) }

// startProject is where a person begins: in the only project, or in the default one.
func (p *page) startProject() string {
	return cmp.Or(p.who.Home(), rule.DefaultProject)
}

// switchProject leads to the same list in another project.
func switchProject(p *page) error {
	query := p.r.URL.Query()
	list := query.Get("list")
	project := query.Get("project")
	for _, section := range navigation {
		for _, entry := range section.entries {
			if entry.name == list && list != "queue" {
				return p.redirect(projectAddress(project, list))
			}
		}
	}
	return p.redirect(projectAddress(project, "evaluations"))
}
