package client

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"strconv"
	"strings"

	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ScanArchive asks for a scan of the files in an archive.
func ScanArchive(ctx context.Context, c *Client, a wire.ArchiveScan) (wire.Scan, error) {
	sources := make([]string, len(a.Sources))
	for i, s := range a.Sources {
		sources[i] = string(s)
	}
	fields := map[string]string{
		"sources": strings.Join(sources, ","), "repository": a.Repository, "exclude": strings.Join(a.Exclude, "\n"), "include": strings.Join(a.Include, "\n"),
	}
	if a.NoDefaultExcludes {
		fields["no_default_excludes"] = strconv.FormatBool(true)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := writeFormOf(w, fields, a.Filename, a.Content); err != nil {
		return wire.Scan{}, fmt.Errorf("client: encoding the form: %w", err)
	}
	return Call(ctx, c, op.ScanArchive.With("Content-Type", w.FormDataContentType()), body.Bytes())
}
