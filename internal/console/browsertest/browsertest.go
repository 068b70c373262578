// Package browsertest drives a real browser in tests: Chromium, one for all tests of a package.
package browsertest

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Env names the variable that holds the path of the browser. With it, a browser that does not start fails the test; `make test` sets
// it. Without it, Chromium is looked for, and a test is skipped where it is missing.
const Env = "TENET_TEST_BROWSER"

// axe finds what keeps people with disabilities from using a page. See vendored/SUMS for its origin.
//
//go:embed vendored/axe.min.js
var axe string

// opened is the browser of the package's tests.
var opened = sync.OnceValues(start)

// Main runs the tests of a package, for its TestMain, then ends the browser and removes its files.
func Main(m *testing.M) {
	code := m.Run()
	if started.Load() {
		if browser, err := opened(); err == nil {
			_ = chromedp.Cancel(browser) // nothing follows
		}
	}
	os.Exit(code)
}

// started is true once a test has asked for the browser.
var started atomic.Bool

func start() (context.Context, error) {
	program := os.Getenv(Env)
	if program == "" {
		program = find()
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-prefers-reduced-motion", true), chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("password-store", "basic"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses its sandbox to root
	}
	allocated, _ := chromedp.NewExecAllocator(context.Background(), options...)
	// Chromium sends events that chromedp does not have yet, which it would log.
	ctx, _ := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}))
	if err := chromedp.Run(ctx); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return ctx, nil
}

// find returns the path of Chromium, or is empty.
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	return ""
}

// Tab is a tab of the browser with cookies of its own. Its methods fail the test on errors.
type Tab struct {
	t    testing.TB
	ctx  context.Context //nolint:containedctx // chromedp keeps a tab in its context
	base string

	mu       sync.Mutex
	problems []string
}

// stepTime bounds one step in a tab.
const stepTime = time.Minute

// Open opens a tab on the server with an address such as http://127.0.0.1:8080, and closes it with the test.
func Open(t testing.TB, base string) *Tab {
	t.Helper()
	if os.Getenv(Env) == "" && find() == "" {
		t.Skip("this test needs Chromium: run `make test`, which installs it, or install it and set " + Env + " to its path")
	}
	started.Store(true)
	browser, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel, err := newTab(browser)
	if err != nil {
		t.Fatal(err)
	}
	tab := &Tab{t: t, ctx: ctx, base: base}
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, tab.watch)
	tab.run(log.Enable(), runtime.Enable(), network.Enable(), emulation.SetTimezoneOverride("Europe/Berlin"),
		chromedp.EmulateViewport(1280, 900))
	return tab
}

// Use has another test, such as a subtest, fail on errors from now on.
func (b *Tab) Use(t testing.TB) { b.t = t }

// newTab opens a tab with cookies of its own. Without a window of its own, Chromium refuses the first tab of a set of cookies.
func newTab(browser context.Context) (context.Context, context.CancelFunc, error) {
	executor := cdp.WithExecutor(browser, chromedp.FromContext(browser).Browser)
	cookies, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(executor)
	if err != nil {
		return nil, nil, err
	}
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(cookies).WithNewWindow(true).Do(executor)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithTargetID(id))
	return ctx, cancel, chromedp.Run(ctx) // the tab ends with the context of its first actions
}

// run carries out actions.
func (b *Tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// watch collects what must not happen: errors of scripts and of the console, violations of the Content-Security-Policy, and requests
// to another host.
func (b *Tab) watch(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			problem = "console: "
			for _, a := range e.Args {
				problem += string(a.Value) + a.Description + " "
			}
		}
	case *log.EventEntryAdded:
		// The browser logs answers with an error status, which tests look at themselves.
		if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork {
			problem = "log: " + e.Entry.Text
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || (u.Scheme != "data" && u.Scheme != "blob" && u.Scheme+"://"+u.Host != b.base) {
			problem = "request to " + e.Request.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		b.problems = append(b.problems, problem)
		b.mu.Unlock()
	}
}

// Problems returns and forgets what should not have happened in the tab: errors of scripts, violations of the policy, and requests to
// other hosts.
func (b *Tab) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.problems
	b.problems = nil
	return list
}

// Open opens a path of the server and returns the status of the answer.
func (b *Tab) Open(path string) int {
	b.t.Helper()
	return b.navigate(chromedp.Navigate(b.base + path))
}

// navigate carries out an action that leads to another page, waits until that is loaded, and returns the status of its answer.
func (b *Tab) navigate(action chromedp.Action) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	if answer == nil {
		return 0
	}
	return int(answer.Status)
}

// Follow clicks an element that leads to another page, and returns the status of the answer.
func (b *Tab) Follow(selector string) int {
	b.t.Helper()
	return b.navigate(chromedp.Click(selector, chromedp.ByQuery))
}

// Press types keys, as chromedp's package kb names them, into what has the focus.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	b.awaitFocus()
	b.run(typed(keys))
}

// awaitFocus waits until a field that takes the focus as its page opens has it: the browser gives it after the page is loaded.
func (b *Tab) awaitFocus() {
	b.t.Helper()
	for until := time.Now().Add(stepTime); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if Eval[bool](b, "!document.querySelector('[autofocus]') || document.activeElement !== document.body") {
			return
		}
	}
}

// typed sends keys one by one. A key that gives a character is one event with its text, as a keyboard sends it, so that a page may
// keep the character from a field.
func typed(keys string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for _, r := range keys {
			if r < ' ' || r > '~' {
				if err := chromedp.KeyEvent(string(r)).Do(ctx); err != nil {
					return err
				}
				continue
			}
			for _, kind := range []input.KeyType{input.KeyDown, input.KeyUp} {
				e := input.DispatchKeyEvent(kind).WithKey(string(r))
				if kind == input.KeyDown {
					e = e.WithText(string(r))
				}
				if err := e.Do(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// PressTo types keys that lead to another page, and returns the status of the answer.
func (b *Tab) PressTo(keys string) int {
	b.t.Helper()
	b.awaitFocus()
	return b.navigate(typed(keys))
}

// Type types text into a field, in place of what is there.
func (b *Tab) Type(selector, text string) {
	b.t.Helper()
	b.run(chromedp.Focus(selector, chromedp.ByQuery), chromedp.Evaluate("document.activeElement.select()", nil), typed(text))
}

// Choose chooses an option of a list by its value.
func (b *Tab) Choose(selector, value string) {
	b.t.Helper()
	b.run(chromedp.SetValue(selector, value, chromedp.ByQuery))
}

// Click clicks an element that leads nowhere.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(selector, chromedp.ByQuery))
}

// Wait waits until an expression is true.
func (b *Tab) Wait(expression string) {
	b.t.Helper()
	b.run(chromedp.Poll(expression, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(stepTime)))
}

// Width sets the width of the window, in CSS pixels.
func (b *Tab) Width(pixels int64) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(pixels, 900))
}

// Dark chooses whether the reader's system is dark.
func (b *Tab) Dark(dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// Scripts switches the scripts of pages on or off, from the next page on.
func (b *Tab) Scripts(on bool) {
	b.t.Helper()
	b.run(emulation.SetScriptExecutionDisabled(!on))
}

// Eval evaluates an expression in the page.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	var v T
	b.run(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// Text is the text of the elements that a selector finds, as a reader sees it.
func (b *Tab) Text(selector string) string {
	b.t.Helper()
	return Eval[string](b, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.innerText).join('\\n')", selector))
}

// Count is the number of elements that a selector finds.
func (b *Tab) Count(selector string) int {
	b.t.Helper()
	return Eval[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

// Overflows lists the elements that are wider than the window, outside of those that scroll on their own.
func (b *Tab) Overflows() []string {
	b.t.Helper()
	return Eval[[]string](b, `(() => {
		const wide = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= wide) return [];
		return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > wide + 1)
			.map(e => e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40)).slice(0, 10);
	})()`)
}

// Wrapped lists the times in the columns of lists that are more than one line high.
func (b *Tab) Wrapped() []string {
	b.t.Helper()
	return Eval[[]string](b, `[...document.querySelectorAll(".list td.tight time")].filter(e => e.getClientRects().length > 1)
		.map(e => e.textContent + " in " + e.getClientRects().length + " lines")`)
}

// Axe lists the violations of WCAG 2.2, levels A and AA, that axe-core finds in the page.
func (b *Tab) Axe() []string {
	b.t.Helper()
	if !Eval[bool](b, "typeof axe === 'object'") {
		b.run(chromedp.Evaluate(axe+";0", nil))
	}
	return Eval[[]string](b, `axe.run(document, {runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}, resultTypes: ["violations"]})
		.then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`)
}

// Colours lists the violations of contrast in the page: what a change of theme can bring.
func (b *Tab) Colours() []string {
	b.t.Helper()
	if !Eval[bool](b, "typeof axe === 'object'") {
		b.run(chromedp.Evaluate(axe+";0", nil))
	}
	return Eval[[]string](b, `axe.run(document, {runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}, resultTypes: ["violations"]})
		.then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`)
}

// Picture is a picture of the page as PNG, as wide as the window and at most as high as given, in CSS pixels.
func (b *Tab) Picture(height float64) []byte {
	b.t.Helper()
	var png []byte
	width := Eval[float64](b, "document.documentElement.clientWidth")
	height = min(height, Eval[float64](b, "document.documentElement.scrollHeight"))
	b.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithCaptureBeyondViewport(true).
			WithClip(&page.Viewport{Width: width, Height: height, Scale: 1}).Do(ctx)
		return err
	}))
	return png
}

// Cookies lists the cookies of the tab as name=value and their attributes.
func (b *Tab) Cookies() []string {
	b.t.Helper()
	var list []string
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		cookies, err := network.GetCookies().Do(ctx)
		for _, c := range cookies {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s=%s HttpOnly=%v SameSite=%s", c.Name, c.Value, c.HTTPOnly, c.SameSite)))
		}
		return err
	}))
	return list
}
