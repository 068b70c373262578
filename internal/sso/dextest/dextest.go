// Package dextest runs dex, a real identity provider, in tests, and signs people in there as a browser would.
package dextest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Env names the variable that holds the path of dex, which `make test` builds from tools/dex. Without it, the tests that need it are skipped.
const Env = "TENET_TEST_DEX"

// Password is that of all people.
const Password = "correct horse"

// Provider is a running dex.
type Provider struct {
	Issuer string
}

// client is a client of dex, as its storage describes one.
type client struct {
	ID           string   `json:"id"`
	Secret       string   `json:"secret,omitempty"`
	RedirectURIs []string `json:"redirectURIs,omitempty"`
	Public       bool     `json:"public,omitempty"`
	Name         string   `json:"name"`
}

type person struct {
	Name, Email, Password string
	Groups                []string
}

// Start starts dex with two clients, tenet (secret "s3cret", for a console at the address) and tenet-cli (public), and with people by name, who
// have groups. It ends with the test. Tokens are good for the given number of seconds.
func Start(tb testing.TB, console string, seconds int, people map[string][]string) *Provider {
	tb.Helper()
	program := os.Getenv(Env)
	if program == "" {
		tb.Skip(Env + " does not name dex; make test builds it")
	}
	settings := struct {
		Clients        []client
		People         []person
		IDTokenSeconds int
	}{IDTokenSeconds: seconds, Clients: []client{
		{ID: "tenet", Secret: "s3cret", RedirectURIs: []string{console + "/signin/corp/callback"}, Name: "Tenet"},
		{ID: "tenet-cli", Public: true, Name: "Tenet's command line"},
	}}
	for name, groups := range people {
		settings.People = append(settings.People, person{name, name + "@example.com", Password, groups})
	}
	input, err := json.Marshal(settings)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), program)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stderr = tb.Output()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait() // the test's context kills it before
	})
	if _, err := in.Write(append(input, '\n')); err != nil {
		tb.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal("dex has not started: ", err)
	}
	return &Provider{strings.TrimSpace(line)}
}

// Browser is a browser without scripts, which follows redirects and keeps cookies.
type Browser struct {
	tb     testing.TB
	client *http.Client
}

// NewBrowser returns a browser without cookies.
func NewBrowser(tb testing.TB) *Browser {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &Browser{tb, &http.Client{Jar: jar}}
}

// Page is an answer, and the address that it comes from after all redirects.
type Page struct {
	Status int
	URL    *url.URL
	Body   string
}

// Get opens an address.
func (b *Browser) Get(address string) Page {
	b.tb.Helper()
	r, err := http.NewRequestWithContext(b.tb.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.tb.Fatal(err)
	}
	return b.do(r)
}

// Post sends a form.
func (b *Browser) Post(address string, form url.Values) Page {
	b.tb.Helper()
	r, err := http.NewRequestWithContext(b.tb.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.tb.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

func (b *Browser) do(r *http.Request) Page {
	b.tb.Helper()
	r.Header.Set("Accept", "text/html")
	resp, err := b.client.Do(r)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.tb.Fatal(err)
	}
	return Page{resp.StatusCode, resp.Request.URL, string(body)}
}

var action = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)

// SignIn opens an address that leads to dex, signs in there, and returns the page to which dex leads back.
func (b *Browser) SignIn(address, name, password string) Page {
	b.tb.Helper()
	return b.fill(b.Get(address), url.Values{"login": {name}, "password": {password}})
}

// SignInOnDevice opens the address of a sign-in on another device, confirms its code, and signs in.
func (b *Browser) SignInOnDevice(address, code, name, password string) Page {
	b.tb.Helper()
	confirm := b.fill(b.Get(address), url.Values{"user_code": {code}})
	return b.fill(confirm, url.Values{"login": {name}, "password": {password}})
}

// fill sends the form of a page.
func (b *Browser) fill(p Page, form url.Values) Page {
	b.tb.Helper()
	found := action.FindStringSubmatch(p.Body)
	at := p.URL
	if found != nil {
		to, err := p.URL.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
		if err != nil {
			b.tb.Fatal(err)
		}
		at = to
	}
	return b.Post(at.String(), form)
}
