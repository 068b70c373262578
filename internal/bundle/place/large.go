package place

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tenet/internal/rule"
)

// Large is an object of any size in a bucket, such as the copy of a database.
type Large struct {
	b *bucket
	// part is the size of the parts in which it is sent, in bytes.
	part int64
}

const (
	largePart = 64 << 20 // bytes that are sent in one request, and are in memory meanwhile
	mostParts = 10_000   // that storage takes of one object
)

// ParseLarge reads the address of an object, s3://BUCKET/NAME. Credentials, region and endpoint are as for other addresses.
func ParseLarge(address string, cfg Config) (*Large, error) {
	if !strings.HasPrefix(address, "s3:") {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is not an object in a bucket; use s3://BUCKET/NAME", address)
	}
	if cfg.Client == nil {
		// Without a bound on the whole, since an object may be large: only silence ends a request.
		transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
		transport.ResponseHeaderTimeout = 5 * time.Minute
		cfg.Client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if cfg.Env == nil {
		cfg.Env = os.Getenv
	}
	p, err := newBucket(address, cfg)
	if err != nil {
		return nil, err
	}
	return &Large{b: p.(*bucket), part: largePart}, nil //nolint:forcetypeassert // newBucket makes one
}

// Exists reports that the bucket has the object. Storage that does not let the caller ask counts as having none.
func (l *Large) Exists(ctx context.Context) (bool, error) {
	answer, err := l.b.send(ctx, http.MethodHead, nil, nil)
	if err != nil {
		return false, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return true, answer.Body.Close()
	case http.StatusNotFound, http.StatusForbidden:
		return false, answer.Body.Close()
	}
	return false, failed(answer)
}

// Upload sends the first size bytes of a file, in parts if it is large. The bucket has the whole object or, after an error, none.
func (l *Large) Upload(ctx context.Context, from io.ReaderAt, size int64) error {
	if size <= l.part {
		_, err := l.put(ctx, nil, io.NewSectionReader(from, 0, size))
		return err
	}
	var begun struct {
		UploadID string `xml:"UploadId"`
	}
	if err := l.post(ctx, url.Values{"uploads": {""}}, nil, &begun); err != nil {
		return err
	}
	upload := url.Values{"uploadId": {begun.UploadID}}
	err := l.sendParts(ctx, upload, from, size)
	if err != nil { // storage would keep the parts, and charge for them
		answer, abortErr := l.at(upload).send(context.WithoutCancel(ctx), http.MethodDelete, nil, nil)
		if abortErr == nil {
			abortErr = answer.Body.Close()
		}
		err = errors.Join(err, abortErr)
	}
	return err
}

// completed is the request that makes an object of its parts.
type completed struct {
	XMLName xml.Name        `xml:"CompleteMultipartUpload"`
	Parts   []completedPart `xml:"Part"`
}

type completedPart struct {
	PartNumber int
	ETag       string
}

func (l *Large) sendParts(ctx context.Context, upload url.Values, from io.ReaderAt, size int64) error {
	part := max(l.part, (size+mostParts-1)/mostParts)
	var list completed
	for at := int64(0); at < size; at += part {
		n := len(list.Parts) + 1
		tag, err := l.put(ctx, url.Values{"uploadId": upload["uploadId"], "partNumber": {strconv.Itoa(n)}}, io.NewSectionReader(from, at, min(part, size-at)))
		if err != nil {
			return err
		}
		list.Parts = append(list.Parts, completedPart{n, tag})
	}
	body, err := xml.Marshal(list)
	if err != nil {
		return err
	}
	// Storage may answer 200 and then an error.
	var answer struct {
		XMLName xml.Name
		Message string
	}
	if err := l.post(ctx, upload, body, &answer); err != nil {
		return err
	}
	if answer.XMLName.Local == "Error" {
		return rule.Errorf(rule.CodeUnavailable, "the storage has not put the parts together: %s", answer.Message)
	}
	return nil
}

// put sends an object or one part of it, and returns its tag.
func (l *Large) put(ctx context.Context, query url.Values, from io.Reader) (tag string, err error) {
	body, err := io.ReadAll(from)
	if err != nil {
		return "", err
	}
	header := http.Header{}
	if query == nil {
		sum := sha256.Sum256(body)
		header[checksum] = []string{base64.StdEncoding.EncodeToString(sum[:])}
	}
	answer, err := l.at(query).send(ctx, http.MethodPut, body, header)
	if err != nil {
		return "", err
	}
	if answer.StatusCode/100 != 2 {
		return "", failed(answer)
	}
	return answer.Header.Get("ETag"), answer.Body.Close()
}

func (l *Large) post(ctx context.Context, query url.Values, body []byte, into any) error {
	answer, err := l.at(query).send(ctx, http.MethodPost, body, nil)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return failed(answer)
	}
	defer func() { _ = answer.Body.Close() }() // it is read
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil {
		err = xml.NewDecoder(bytes.NewReader(text)).Decode(into)
	}
	if err != nil {
		return rule.Errorf(rule.CodeUnavailable, "the answer of the storage cannot be read: %w", err)
	}
	return nil
}

// at is the bucket with a query.
func (l *Large) at(query url.Values) *bucket {
	b, object := *l.b, *l.b.object
	object.RawQuery = canonicalQuery(query)
	b.object = &object
	return &b
}

// Download writes the object. An answer that ends early is an error. The error has the code not_found if there is no such object.
func (l *Large) Download(ctx context.Context, to io.Writer) error {
	answer, err := l.b.send(ctx, http.MethodGet, nil, nil)
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusNotFound {
		_ = answer.Body.Close() // it says the same
		return rule.Errorf(rule.CodeNotFound, "there is no object %s", l.b.object.Redacted())
	}
	if answer.StatusCode != http.StatusOK {
		return failed(answer)
	}
	defer func() { _ = answer.Body.Close() }() // it is read
	if _, err := io.Copy(to, answer.Body); err != nil {
		return rule.Errorf(rule.CodeUnavailable, "the object did not arrive whole: %w", err)
	}
	return nil
}
