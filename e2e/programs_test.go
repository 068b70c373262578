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
	"regexp"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver that tamper uses
)

// exits CODE PROGRAM ARGUMENT... runs a program and succeeds if it exits with the code.
func exits(args []string) int {
	if len(args) < 2 {
		return complain("usage: exits CODE PROGRAM ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return complain("%v", err)
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		return complain("%v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		return complain("exits with %d, not %d", got, want)
	}
	return 0
}

// model ADDR FILE is a model server of the OpenAI kind that answers every prompt with the text of a file, until it is killed.
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
	return complain("%v", server.ListenAndServe())
}

// call is http [-status N] [-key KEY] [-type TYPE] [-wait] [-until REGEXP] METHOD URL [FILE]: it prints the body of the
// answer and succeeds if the status is right. With -wait it tries until then, for up to 20 seconds; with -until, until the
// body matches as well.
func call(args []string) int {
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	status := flags.Int("status", 200, "")
	key := flags.String("key", "", "")
	mediaType := flags.String("type", "application/json", "")
	wait := flags.Bool("wait", false, "")
	until := flags.String("until", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 2 {
		return complain("usage: http [-status N] [-key KEY] [-type TYPE] [-wait] [-until REGEXP] METHOD URL [FILE]")
	}
	wanted, err := regexp.Compile(*until)
	if err != nil {
		return complain("%v", err)
	}
	var body []byte
	if flags.NArg() > 2 {
		var err error
		if body, err = os.ReadFile(flags.Arg(2)); err != nil {
			return complain("%v", err)
		}
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got, answer, err := exchange(flags.Arg(0), flags.Arg(1), *key, *mediaType, body)
		if err == nil && got == *status && wanted.Match(answer) {
			_, _ = os.Stdout.Write(answer)
			return 0
		}
		if (!*wait && *until == "") || time.Since(began) > 20*time.Second {
			return complain("status %d, error %v: %s", got, err, answer)
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
func tamper(args []string) int {
	if len(args) != 2 {
		return complain("usage: tamper FILE SQL")
	}
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return complain("%v", err)
	}
	defer func() { _ = db.Close() }()
	result, err := db.Exec(args[1])
	if err != nil {
		return complain("%v", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return complain("nothing was changed (%v)", err)
	}
	return 0
}
