package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// bar shows on a terminal how much of long work is done, and how long the rest may take. Calls to show must not overlap;
// done ends it.
func (s *session) bar(what string) (show func(n, all int), done func()) {
	if !isTerminal(s.err) {
		return func(int, int) {}, func() {}
	}
	began, shown := time.Now(), time.Time{}
	show = func(n, all int) {
		now := time.Now()
		if n < all && now.Sub(shown) < 100*time.Millisecond {
			return
		}
		shown = now
		fmt.Fprintf(s.err, "\r\x1b[K%s %s", what, barLine(n, all, now.Sub(began)))
	}
	return show, func() { fmt.Fprint(s.err, "\r\x1b[K") }
}

// barWidth is the length of a full bar.
const barWidth = 30

// barLine draws n of all, and from the time taken so far what is left.
func barLine(n, all int, took time.Duration) string {
	full := barWidth * n / max(all, 1)
	line := fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), n, all)
	if n == 0 || n == all {
		return line
	}
	left := took / time.Duration(n) * time.Duration(all-n)
	return line + ", " + left.Round(time.Second).String() + " left"
}

// received shows on a terminal how much of a download has come, on its way to a writer. done ends it.
func received(s *session, what string, to io.Writer) (w io.Writer, done func()) {
	if !isTerminal(s.err) {
		return to, func() {}
	}
	return &counted{to: to, show: func(n int64) { fmt.Fprintf(s.err, "\r\x1b[K%s %s", what, sizeText(n)) }}, func() { fmt.Fprint(s.err, "\r\x1b[K") }
}

// counted counts what is written, and shows it now and then.
type counted struct {
	to    io.Writer
	show  func(n int64)
	n     int64
	shown time.Time
}

// Write implements [io.Writer].
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	if now := time.Now(); now.Sub(c.shown) >= 100*time.Millisecond {
		c.shown = now
		c.show(c.n)
	}
	return n, err
}
