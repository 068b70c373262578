package place

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/rule"
)

// bucket is an object in storage that speaks the S3 protocol. Credentials, region and endpoint come from the usual variables, AWS_...,
// or from region= and endpoint= in the address.
type bucket struct {
	object              *url.URL
	region              string
	id, secret, session string
	client              *http.Client
	now                 func() time.Time
}

// noteMeta holds the signed head beside the object.
const noteMeta = "X-Amz-Meta-Tenet-Note"

// checksum is the SHA-256 of an object; buckets that lock objects ask for one.
const checksum = "X-Amz-Checksum-Sha256"

func newBucket(address string, cfg Config) (Place, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || len(u.Path) < 2 {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is not an object such as s3://bucket/production.bundle", address)
	}
	region := cmp.Or(u.Query().Get("region"), cfg.Env("AWS_REGION"), cfg.Env("AWS_DEFAULT_REGION"), "us-east-1")
	endpoint := cmp.Or(u.Query().Get("endpoint"), cfg.Env("AWS_ENDPOINT_URL_S3"), cfg.Env("AWS_ENDPOINT_URL"))
	b := &bucket{
		region: region, id: cfg.Env("AWS_ACCESS_KEY_ID"), secret: cfg.Env("AWS_SECRET_ACCESS_KEY"), session: cfg.Env("AWS_SESSION_TOKEN"), client: cfg.Client, now: time.Now,
	}
	if endpoint == "" {
		b.object = &url.URL{Scheme: "https", Host: u.Host + ".s3." + region + ".amazonaws.com", Path: u.Path}
		return b, nil
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is not the address of S3 storage", endpoint)
	}
	b.object = at.JoinPath(u.Host, u.Path)
	return b, nil
}

// Fetch implements [Place].
func (b *bucket) Fetch(ctx context.Context, have Have) (Fetched, error) {
	answer, err := b.send(ctx, http.MethodGet, nil, http.Header{"If-None-Match": {have.Version}})
	if err != nil {
		return Fetched{}, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return Fetched{Body: limited(answer.Body), Version: answer.Header.Get("ETag")}, nil
	case http.StatusNotModified:
		_ = answer.Body.Close() // it is empty
		return b.noteOnly(ctx, have)
	}
	return Fetched{}, failed(answer)
}

// noteOnly reads the signed head of the object that the caller has: not all storage sends it with 304.
func (b *bucket) noteOnly(ctx context.Context, have Have) (Fetched, error) {
	answer, err := b.send(ctx, http.MethodHead, nil, nil)
	if err != nil {
		return Fetched{}, err
	}
	_ = answer.Body.Close() // it is empty
	note, err := base64.StdEncoding.DecodeString(answer.Header.Get(noteMeta))
	if err != nil || answer.StatusCode != http.StatusOK {
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the storage has no signed head beside the bundle (%s)", answer.Status)
	}
	return Fetched{Note: string(note), Version: have.Version}, nil
}

// Push implements [Place].
func (b *bucket) Push(ctx context.Context, f *bundle.File) error {
	answer, err := b.send(ctx, http.MethodPut, f.Bytes(), http.Header{noteMeta: {base64.StdEncoding.EncodeToString([]byte(f.Note))}})
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return failed(answer)
	}
	return answer.Body.Close()
}

func failed(answer *http.Response) error {
	defer func() { _ = answer.Body.Close() }() // only its beginning counts
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
	return rule.Errorf(rule.CodeUnavailable, "the storage has answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
}

// send sends a request that is signed by Signature Version 4 of AWS, if there are credentials.
func (b *bucket) send(ctx context.Context, method string, body []byte, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.object.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		if values[0] != "" {
			r.Header[name] = values
		}
	}
	if b.id != "" {
		b.sign(r, body)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "the storage cannot be reached: %w", err)
	}
	return answer, nil
}

func (b *bucket) sign(r *http.Request, body []byte) {
	now := b.now().UTC()
	day, moment := now.Format("20060102"), now.Format("20060102T150405Z")
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	r.Header.Set("X-Amz-Date", moment)
	r.Header.Set("X-Amz-Content-Sha256", hash)
	names, lines := "host;", "host:"+r.URL.Host+"\n"
	if sum := r.Header.Get(checksum); sum != "" {
		names += strings.ToLower(checksum) + ";"
		lines += strings.ToLower(checksum) + ":" + sum + "\n"
	}
	names, lines = names+"x-amz-content-sha256;x-amz-date", lines+"x-amz-content-sha256:"+hash+"\nx-amz-date:"+moment+"\n"
	if note := r.Header.Get(noteMeta); note != "" {
		names += ";" + strings.ToLower(noteMeta)
		lines += strings.ToLower(noteMeta) + ":" + note + "\n"
	}
	if b.session != "" {
		r.Header.Set("X-Amz-Security-Token", b.session)
		names += ";x-amz-security-token"
		lines += "x-amz-security-token:" + b.session + "\n"
	}
	scope := day + "/" + b.region + "/s3/aws4_request"
	canonical := sha256.Sum256([]byte(strings.Join([]string{r.Method, canonicalPath(r.URL.Path), canonicalQuery(r.URL.Query()), lines, names, hash}, "\n")))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", moment, scope, hex.EncodeToString(canonical[:])}, "\n")
	key := []byte("AWS4" + b.secret)
	for _, part := range []string{day, b.region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", b.id, scope, names, hex.EncodeToString(mac(key, text))))
}

// canonicalPath encodes a path as signatures have it: all but unreserved characters and slashes (RFC 3986).
func canonicalPath(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// canonicalQuery encodes a query as signatures have it, sorted by name.
func canonicalQuery(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum(nil)
}
