package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"tenet/internal/redact"
	"tenet/internal/subject"
)

// A file in another encoding must not carry a secret into a record.
func TestContentInBase64(t *testing.T) {
	const secret = "AKIA" + "Q3EGRZ7XKHWJ2NBT"
	wide := func(s string) *string {
		var b strings.Builder
		for _, c := range []byte(s) {
			b.WriteString(string([]byte{c, 0}))
		}
		return new(base64.StdEncoding.EncodeToString([]byte("\xff\xfe" + b.String())))
	}
	in := subject.Input{Files: []subject.InputFile{
		{Path: "a.py", ContentBase64: wide("key = '" + secret + "'\n")},
		{Path: "b.py", ContentBase64: wide("x = 1\n")},
		{Path: "c.py", ContentBase64: new("*")},
	}}
	out, found, _ := redact.New().Input(in)
	if len(found) != 1 || found[0].Where != "files[0].content_base64" || !out.Redacted {
		t.Fatalf("found %+v, redacted %v", found, out.Redacted)
	}
	if f := out.Files[0]; f.ContentBase64 != nil || f.Content == nil || strings.Contains(*f.Content, secret) || !strings.Contains(*f.Content, "key = ") {
		t.Errorf("the file is %+v", f)
	}
	if out.Files[1].ContentBase64 != in.Files[1].ContentBase64 || in.Files[0].ContentBase64 == nil {
		t.Error("a file without a secret, or the input, is changed")
	}
}
