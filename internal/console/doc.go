// Package console serves the web console: pages for the people who write, approve and look up rules, and who must explain a verdict.
//
// The console is a client of the API in the same process. It carries out every read and every change as a request to the API with
// the actor of the session in its context, so that roles, validation and records are those of the API. The package holds no rules of
// its own about who may do what; [page.may] only decides what a page offers.
//
// # Where things are
//
//	console.go   the handler: which requests are the console's, sessions, security headers, panics
//	routes.go    the table of routes; the only list of addresses
//	page.go      page: one request of one person, with everything that a screen needs
//	session.go   sessions in the database, the cookie, flash messages
//	live.go      streams of news to open pages, their limits
//	signin.go    signing in and out
//	asset.go     embedded files, named by their content
//	text.go      foreign text: bidi, invisible and control characters made visible, long lines folded
//	address.go   addresses of screens and of the states of lists
//	layout.templ the frame of all pages, and the error page
//	parts.templ  components that screens share: badges, times, tables, pagers, empty states
//	ruleform.go  the inputs of a rule: filling them, reading them, errors at their place
//	entry.templ  fields of forms that show again what was typed and what is wrong with it
//	NAME.go      one screen: its handler, the reads it makes, the view that its template takes
//	NAME.templ   its components
//	assets/      own style sheet, own script, icon
//	vendored/    htmx and its extensions, unchanged, with licence and checksums
//
// Subpackages: patch lays out a diff with marks and colours, wordmark compares two texts word by word, browsertest drives a real
// browser.
//
// # How to add a screen
//
//  1. routes.go: a row for each address, with the role that its API operations need.
//  2. NAME.go: func(p *page) error. Read with client.Get(p.ctx, p.api, op...); end with p.show(head, component). Return errors as they
//     come: the frame turns not_found and projects out of reach into a page with status 404, forbidden into 403, and so on.
//  3. NAME.templ, then go generate ./internal/console. Text that people, models or other systems have written goes through @foreign
//     (or @lines where it has several); times through @when; never through { } alone.
//  4. A change is a form that posts to an address of its own. The handler calls the API, then p.say(...) and p.redirect(...), so that
//     reloading repeats nothing. Offer the form only if p.may(role); the API refuses a forged one.
//  5. The page must work without JavaScript. Then, where it helps, load a component alone: an hx-get with hx-nonce={ p.nonce }, and
//     p.fragment(component) where p.partial() is true.
//  6. screens_test.go: a row of the table. It runs the screen with and without JavaScript, at 360 pixels, light and dark, and asks axe.
//     Keys: data-item on the rows of a list; data-key="a" on what a key presses; data-go="q" on links that "g q" follows.
package console

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod templ generate -log-level=error
