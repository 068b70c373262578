package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// connection sends requests one after the other over one connection. The load shares the processors with what it measures, so it is to take little
// of them: net/http's client takes several times as much.
type connection struct {
	net.Conn

	from *bufio.Reader
	host string
	text []byte // of the last request
}

// answerTime bounds the wait for an answer.
const answerTime = 5 * time.Minute

// connect opens a connection to a server.
func (s *server) connect(ctx context.Context) (*connection, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, from: bufio.NewReaderSize(conn, 32<<10), host: u.Host}, nil
}

// send sends a request, with a JSON body if there is one, reads the whole answer, and fails unless its status is 200 or 201.
func (c *connection) send(method, path string, body []byte) error {
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	c.text = append(append(c.text[:0], method...), ' ')
	c.text = append(c.text, path...)
	c.text = append(c.text, " HTTP/1.1\r\nHost: "...)
	c.text = append(c.text, c.host...)
	c.text = append(c.text, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	c.text = strconv.AppendInt(c.text, int64(len(body)), 10)
	c.text = append(c.text, "\r\n\r\n"...)
	if _, err := c.Write(append(c.text, body...)); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.from, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return fmt.Errorf("%s %s: status %d: %s", method, path, answer.StatusCode, text)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// settle waits until the server has done the work that an import leaves to jobs, such as the search for conflicts: it is no part of an evaluation.
func (s *server) settle(ctx context.Context, projects ...string) error {
	if len(projects) == 0 {
		projects = []string{""}
	}
	began := time.Now()
	for quiet := 0; quiet < 3; {
		if time.Since(began) > settleTime {
			return fmt.Errorf("the jobs of the server were not done after %s", settleTime)
		}
		n := 0
		for _, project := range projects {
			k, err := s.unfinished(ctx, project)
			if err != nil {
				return err
			}
			n += k
		}
		if quiet++; n > 0 {
			quiet = 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// settleTime bounds the wait for jobs.
const settleTime = 3 * time.Minute

// unfinished counts the jobs of a project that run, or wait to search for conflicts; an empty project is that of the server's default.
func (s *server) unfinished(ctx context.Context, project string) (total int, err error) {
	for _, which := range []string{"state=running", "state=queued&kind=conflicts.find"} {
		answer, err := s.get(ctx, "/api/v1/jobs?"+which+inProject(project))
		if err != nil {
			return 0, err
		}
		var page struct {
			Total *int `json:"total"`
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		if _ = answer.Body.Close(); err != nil {
			return 0, err
		}
		if page.Total == nil {
			return 0, fmt.Errorf("the list of jobs has no total: status %d", answer.StatusCode)
		}
		total += *page.Total
	}
	return total, nil
}

// inProject is the parameter of a request about a project; empty for the server's default project.
func inProject(id string) string {
	if id == "" {
		return ""
	}
	return "&project_id=" + id
}
