package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Place is where checkpoints go, so that they leave the machine of the database.
type Place interface {
	// Put hands over a signed checkpoint. A checkpoint may come twice: with more cosignatures, or after a failure.
	Put(ctx context.Context, c Checkpoint, signedNote string) error
}

// Objects is a store of objects.
type Objects interface {
	// Put writes an object, in place of one with the same name, as a whole or not at all.
	Put(ctx context.Context, name string, body []byte) error
}

// ParsePlaces reads a list of places with commas between: stdout, file:PATH (which is appended to), folder:PATH (a file each),
// s3://BUCKET/PREFIX (an object each), and addresses of webhooks. bucket opens an address of the s3 form.
func ParsePlaces(list string, stdout io.Writer, client *http.Client, bucket func(address string) (Objects, error)) ([]Place, error) {
	var places []Place
	for s := range strings.SplitSeq(list, ",") {
		switch kind, rest, _ := strings.Cut(strings.TrimSpace(s), ":"); {
		case kind == "":
		case kind == "stdout" && rest == "":
			places = append(places, stream{stdout})
		case kind == "file" && rest != "":
			places = append(places, file(rest))
		case kind == "folder" && rest != "":
			places = append(places, folder(rest))
		case kind == "s3" && bucket != nil:
			at, err := bucket(strings.TrimSpace(s))
			if err != nil {
				return nil, err
			}
			places = append(places, objects{at})
		case kind == "http" || kind == "https":
			u, err := url.Parse(strings.TrimSpace(s))
			if err != nil || u.Host == "" {
				return nil, fmt.Errorf("%q is not an address", s)
			}
			places = append(places, webhook{u.String(), client})
		default:
			return nil, fmt.Errorf("%q is not stdout, file:PATH, folder:PATH, s3://BUCKET/PREFIX or an address", s)
		}
	}
	return places, nil
}

// stream writes checkpoints one after the other, each with an empty line behind it.
type stream struct{ w io.Writer }

func (s stream) Put(_ context.Context, _ Checkpoint, signedNote string) error {
	_, err := io.WriteString(s.w, signedNote+"\n")
	return err
}

type file string

func (path file) Put(_ context.Context, _ Checkpoint, signedNote string) (err error) {
	f, err := os.OpenFile(string(path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteString(signedNote + "\n"); err != nil {
		return err
	}
	return f.Sync()
}

type folder string

func (path folder) Put(_ context.Context, c Checkpoint, signedNote string) error {
	dir := filepath.Join(string(path), url.PathEscape(c.Origin))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, fmt.Sprintf("%012d.checkpoint", c.Size)), []byte(signedNote))
}

// objects are those of a bucket. Their names sort by the size of the log.
type objects struct{ in Objects }

func (o objects) Put(ctx context.Context, c Checkpoint, signedNote string) error {
	return o.in.Put(ctx, fmt.Sprintf("%s/%012d.checkpoint", c.Origin, c.Size), []byte(signedNote))
}

type webhook struct {
	url    string
	client *http.Client
}

func (h webhook) Put(ctx context.Context, _ Checkpoint, signedNote string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(signedNote))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	answer, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // only its status counts
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", h.url, answer.Status)
	}
	return nil
}
