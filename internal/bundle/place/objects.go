package place

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/rule"
)

// Objects is a folder or a bucket of files.
type Objects interface {
	// Put writes a file below it, in place of one with the same name, as a whole or not at all.
	Put(ctx context.Context, name string, body []byte) error
}

// ParseObjects reads the address of a folder, file:PATH, or of a prefix in a bucket, s3://BUCKET/PREFIX.
func ParseObjects(address string, cfg Config) (Objects, error) {
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: 5 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if cfg.Env == nil {
		cfg.Env = os.Getenv
	}
	if rest, ok := strings.CutPrefix(address, "file:"); ok && rest != "" {
		return files(strings.TrimPrefix(rest, "//")), nil
	}
	if strings.HasPrefix(address, "s3:") {
		p, err := newBucket(address, cfg)
		if err != nil {
			return nil, err
		}
		return objects{p.(*bucket)}, nil
	}
	return nil, rule.Errorf(rule.CodeInvalid, "%q is not a folder of files; use file:PATH or s3://BUCKET/PREFIX", address)
}

// files is a folder.
type files string

// Put implements [Objects].
func (folder files) Put(_ context.Context, name string, body []byte) error {
	at := filepath.Join(string(folder), filepath.FromSlash(path.Clean("/"+name)))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // others read the files
		return err
	}
	return checkpoint.WriteFile(at, body)
}

// objects is a prefix in a bucket.
type objects struct{ prefix *bucket }

// Put implements [Objects].
func (o objects) Put(ctx context.Context, name string, body []byte) error {
	b := *o.prefix
	b.object = b.object.JoinPath(path.Clean("/" + name))
	sum := sha256.Sum256(body)
	answer, err := b.send(ctx, http.MethodPut, body, http.Header{checksum: {base64.StdEncoding.EncodeToString(sum[:])}})
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return failed(answer)
	}
	return answer.Body.Close()
}
