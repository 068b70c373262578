package console

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Limits of live streams. A script opens the next stream when one has lived its time.
const (
	liveInterval  = 2 * time.Second  // between two looks at the queue
	liveShare     = 50               // a look takes at most one part in so many of a stream's time
	liveAge       = 10 * time.Minute // of a stream
	liveHeartbeat = 15 * time.Second
	liveSend      = 10 * time.Second // for a reader to take an event
	livePerPerson = 8
	liveInAll     = 64
)

// streams counts the live streams.
type streams struct {
	mu    sync.Mutex
	of    map[string]int // by the name of the person
	all   int
	ended chan struct{}
	end   func()
}

func newStreams() *streams {
	s := &streams{of: map[string]int{}, ended: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	return s
}

// begin counts a stream of a person, unless there are too many.
func (s *streams) begin(person string) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= liveInAll || s.of[person] >= livePerPerson {
		return nil, false
	}
	s.all++
	s.of[person]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[person]--; s.of[person] == 0 {
			delete(s.of, person)
		}
	}, true
}

// EndStreams ends the live streams, and refuses further ones: a server that shuts down waits for its requests.
func (c *Console) EndStreams() { c.streams.end() }

// seenCounts writes the counts of a page of the queue for the address of its stream.
func seenCounts(counts map[wire.QueueKind]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, string(kind)+"."+strconv.Itoa(counts[kind]))
	}
	return strings.Join(parts, " ")
}

// parseCounts reads what seenCounts has written; it leaves out what it does not understand.
func parseCounts(text string) map[wire.QueueKind]int {
	counts := map[wire.QueueKind]int{}
	for part := range strings.FieldsSeq(text) {
		kind, number, _ := strings.Cut(part, ".")
		if n, err := strconv.Atoi(number); err == nil && slices.Contains(wire.QueueKinds, wire.QueueKind(kind)) {
			counts[wire.QueueKind(kind)] = n
		}
	}
	return counts
}

// news is how the queue differs from what a page shows.
type news struct {
	More, Fewer int
	// Address is that of the page.
	Address string
}

// compareCounts counts, for the kinds that a page shows (none means all), what waits now and did not, and what waited and does not.
func compareCounts(seen, now map[wire.QueueKind]int, kinds []string) (n news) {
	for _, kind := range wire.QueueKinds {
		if len(kinds) > 0 && !slices.Contains(kinds, string(kind)) {
			continue
		}
		n.More += max(now[kind]-seen[kind], 0)
		n.Fewer += max(seen[kind]-now[kind], 0)
	}
	return n
}

// liveAddress is the address of the stream of a page of the queue.
func liveAddress(p *page, counts map[wire.QueueKind]int) string {
	query := p.r.URL.Query()
	query.Set("seen", seenCounts(counts))
	return "/queue/live?" + query.Encode()
}

// liveQueue streams news of the queue to a page that shows it.
func liveQueue(p *page) error {
	asked := p.r.URL.Query()
	seen := parseCounts(asked.Get("seen"))
	o := op.ListQueue.Where(wire.PageQuery{Page: 1, PageSize: 1})
	kinds := takeQueueFilters(asked, o.Query)
	delete(o.Query, "order")
	asked.Del("seen")
	address := "/queue"
	if len(asked) > 0 {
		address += "?" + asked.Encode()
	}
	return stream(p, func(ctx context.Context) (templ.Component, error) {
		list, err := client.Get(ctx, p.api.InProject(queuePlace(p)), o)
		n := compareCounts(seen, list.Counts, kinds)
		n.Address = address
		return queueNews(n), err
	})
}

// stream streams to a page what look returns. The event close says that no further stream is to be opened: the session has ended, or too
// many streams are open; the page then stays as it is.
func stream(p *page, look func(context.Context) (templ.Component, error)) error {
	return streamUntil(p, nil, look)
}

// streamUntil is stream for something that ends: over is true once look has shown all that there will be.
func streamUntil(p *page, over *bool, look func(context.Context) (templ.Component, error)) error {
	p.sent = true
	header := p.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	to := &events{w: p.w, control: http.NewResponseController(p.w)}
	_ = to.control.SetReadDeadline(time.Time{}) // the server's ends streams too
	if p.who == (auth.Actor{}) {
		to.close()
		return nil
	}
	done, ok := p.console.streams.begin(p.who.Name)
	if !ok {
		to.close()
		return nil
	}
	defer done()
	w := watch{page: p, to: to, look: look, over: over}
	w.run(p.began)
	return nil
}

// watch is a live stream of a page.
type watch struct {
	page *page
	to   *events
	look func(context.Context) (templ.Component, error)
	// over, if not nil, is true once look has shown all that there will be.
	over *bool
}

// run sends what look returns each time it differs from before, until the stream has lived its time, its reader is gone, look fails, or the
// session ends.
func (w *watch) run(request context.Context) {
	to := w.to
	if !to.write(": begun\n\n") {
		return
	}
	before := ""
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-request.Done():
			return
		case <-w.page.console.streams.ended:
			return
		case <-pause.C:
		}
		began := time.Now()
		same, markup, err := w.glance(request)
		switch {
		case err != nil:
			return // the script tries again, at growing distances
		case !same:
			to.close()
			return
		case markup != before:
			if before = markup; !to.send(markup) {
				return
			}
		}
		if w.over != nil && *w.over {
			to.close()
			return
		}
		if !to.beat() {
			return
		}
		pause.Reset(max(liveInterval, liveShare*time.Since(began)))
	}
}

// glance looks once, if the session is still that of the person who opened the stream.
func (w *watch) glance(request context.Context) (same bool, markup string, err error) {
	request, cancel := context.WithTimeout(request, pageTime)
	defer cancel()
	if same, err = w.sameSession(request); err != nil || !same {
		return same, "", err
	}
	component, err := w.look(auth.WithActor(request, w.page.who))
	if err != nil {
		return true, "", err
	}
	var b bytes.Buffer
	err = component.Render(request, &b)
	return true, strings.TrimSpace(b.String()), err
}

// sameSession reports whether the session is still that of the person who opened the stream. The request's context has no session, and so
// it is read again.
func (w *watch) sameSession(ctx context.Context) (bool, error) {
	p := w.page
	now := &page{console: p.console, r: p.r, ctx: ctx}
	err := now.load()
	return now.who == p.who && now.local == p.local, err
}

// events writes server-sent events.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
}

// send sends markup as a message, which the script puts into its element. An empty message changes nothing there, so a comment takes its place.
func (e *events) send(markup string) bool {
	if markup == "" {
		markup = "<!-- nothing new -->"
	}
	return e.write("data: " + strings.ReplaceAll(markup, "\n", "\ndata: ") + "\n\n")
}

// close says that the script is to open no further stream.
func (e *events) close() { e.write("event: close\ndata: \n\n") }

// beat sends a comment if nothing was sent for a while, so that a reader that is gone is noticed, and no proxy gives up.
func (e *events) beat() bool {
	return time.Since(e.last) < liveHeartbeat || e.write(": still here\n\n")
}

// write sends bytes at once and reports whether the reader takes them.
func (e *events) write(text string) bool {
	e.last = time.Now()
	_ = e.control.SetWriteDeadline(e.last.Add(liveSend))
	_, err := e.w.Write([]byte(text))
	return err == nil && e.control.Flush() == nil
}

// takeQueueFilters copies the filters of the queue from the query of a page into that of the API, and returns the kinds.
func takeQueueFilters(from, to url.Values) (kinds []string) {
	for _, name := range queueFilters {
		given := slices.DeleteFunc(slices.Clone(from[name]), func(s string) bool { return s == "" })
		if len(given) > 0 {
			to[name] = given
		}
	}
	return to["kind"]
}
