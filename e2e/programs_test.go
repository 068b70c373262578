package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver that tamper uses
)

// exits CODE PROGRAM ARGUMENT... runs a program as exec does, and fails if it exits with another code.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, isExit := errors.AsType[*exec.ExitError](err)
		if !isExit {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("exits with %d, not %d", got, want)
	}
}

// model ADDR FILE is a model server of the OpenAI kind that answers every prompt with the text of a file, until it is interrupted. It asks for interrupts
// itself: shells start what runs in the background with interrupts ignored, and then a script would never end that waits for it.
func model(args []string) int {
	if len(args) != 2 {
		return complain("usage: model ADDR FILE")
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return complain("%v", err)
	}
	answer, err := json.Marshal(map[string]any{
		"id": "1", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(text)}}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
	})
	if err != nil {
		return complain("%v", err)
	}
	server := http.Server{Addr: args[0], ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		<-interrupts
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return complain("%v", err)
	}
	return 0
}

// call is http [-status N] [-key KEY] [-type TYPE] [-wait] [-until REGEXP] METHOD URL [FILE]: it prints the body of the
// answer and fails if the status is wrong. With -wait it tries until it is right, for up to a minute; with -until, until the
// body matches as well.
func call(ts *testscript.TestScript, negated bool, args []string) {
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	status := flags.Int("status", 200, "")
	key := flags.String("key", "", "")
	mediaType := flags.String("type", "application/json", "")
	wait := flags.Bool("wait", false, "")
	until := flags.String("until", "", "")
	if err := flags.Parse(args); negated || err != nil || flags.NArg() < 2 {
		ts.Fatalf("usage: http [-status N] [-key KEY] [-type TYPE] [-wait] [-until REGEXP] METHOD URL [FILE]")
	}
	wanted, err := regexp.Compile(*until)
	ts.Check(err)
	var body []byte
	if flags.NArg() > 2 {
		body = []byte(ts.ReadFile(flags.Arg(2)))
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got, answer, err := exchange(flags.Arg(0), flags.Arg(1), *key, *mediaType, body)
		if err == nil && got == *status && wanted.Match(answer) {
			_, err = ts.Stdout().Write(answer)
			ts.Check(err)
			return
		}
		if (!*wait && *until == "") || time.Since(began) > time.Minute {
			ts.Fatalf("status %d, error %v: %s", got, err, answer)
		}
	}
}

func exchange(method, url, key, mediaType string, body []byte) (int, []byte, error) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", mediaType)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// tamper FILE SQL changes an SQLite database behind Tenet's back.
func tamper(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: tamper FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { _ = db.Close() }()
	result, err := db.Exec(args[1])
	ts.Check(err)
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		ts.Fatalf("nothing was changed (%v)", err)
	}
}
