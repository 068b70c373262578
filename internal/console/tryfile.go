package console

import (
	"encoding/base64"
	"io"
	"mime/multipart"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// What uploaded files are judged as.
const (
	asChange   = "change"   // diffs and whole files
	asDocument = "document" // one document
)

// part is an uploaded file.
type part struct {
	name    string
	content []byte
}

// tryFiles evaluates uploaded files, and leads to the evaluation.
func tryFiles(p *page) error {
	v := &try{upload: entry{values: p.r.PostForm, prefix: "u-"}}
	id, err := evaluateFiles(p, &v.upload)
	if err == nil {
		return p.redirect(p.at("evaluations", id))
	}
	if err := v.upload.refuse(err, fileField); err != nil {
		return err
	}
	v.upload.bad("files", "Choose the files again: a browser does not keep them.")
	v.upload.status = statuses[rule.CodeOf(err)]
	v.form.values = map[string][]string{"scope": {v.upload.get("scope")}, "repository": {v.upload.get("repository")}}
	if err := v.load(p); err != nil {
		return err
	}
	return v.again(p)
}

// fileField is the field of the form of files that a field of a request is in, or empty.
func fileField(name string) string {
	switch name {
	case "scope", "node_id":
		return name
	}
	rest, _ := strings.CutPrefix(name, "subject.")
	switch rest {
	case "repository", intentField:
		return rest
	}
	return ""
}

// evaluateFiles submits the uploaded files and returns the id of the evaluation.
func evaluateFiles(p *page, form *entry) (string, error) {
	parts, err := partsOf(p.r.MultipartForm)
	if err != nil {
		return "", err
	}
	if pasted := form.get("pasted"); strings.TrimSpace(pasted) != "" {
		parts = append(parts, part{"pasted", []byte(strings.ReplaceAll(pasted, "\r\n", "\n"))})
	}
	if len(parts) == 0 {
		return "", rule.Errorf(rule.CodeInvalid, "No file is chosen and nothing is pasted.")
	}
	subject, err := uploadedSubject(p, form, parts)
	if err != nil {
		return "", err
	}
	body := submission{subject, form.get("scope"), wire.EvaluateOptions{NodeID: strings.TrimSpace(form.get("node_id"))}}
	e, err := client.Call(p.ctx, p.api, op.Submit, any(body))
	return e.EvaluationID, err
}

// maxParts bounds the files of one upload.
const maxParts = 1_000

// partsOf reads the files of a form. The field of a form without a file is a part without a name.
func partsOf(form *multipart.Form) ([]part, error) {
	if form == nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the form has no files; send it as multipart/form-data")
	}
	var out []part
	for _, header := range form.File["files"] {
		if header.Filename == "" && header.Size == 0 {
			continue
		}
		if len(out) == maxParts {
			return nil, rule.Errorf(rule.CodeInvalid, "More than %d files; send a part of them.", maxParts)
		}
		f, err := header.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(f)
		if err := f.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		out = append(out, part{header.Filename, content})
	}
	return out, nil
}

// uploadedSubject makes the subject of uploaded files: a document, or a change of diffs and whole files.
func uploadedSubject(p *page, form *entry, parts []part) (any, error) {
	as := form.get("as")
	if as == "" && slices.ContainsFunc(parts, func(f part) bool { return f.isDocument() }) && !slices.ContainsFunc(parts, part.isDiff) && len(parts) == 1 {
		as = asDocument
	}
	if as == asDocument {
		if len(parts) != 1 {
			return nil, rule.Errorf(rule.CodeInvalid, "A document is judged alone; these are %d files. Send one.", len(parts))
		}
		return documentOf(p, parts[0])
	}
	s := &wire.CodeChangeSubject{Kind: wire.CodeChange, Repository: form.get("repository"), Intent: form.get(intentField)}
	var diffs []string
	for _, f := range parts {
		if f.isDiff() {
			diffs = append(diffs, strings.TrimRight(string(f.content), "\n")+"\n")
			continue
		}
		if f.name == "pasted" {
			return nil, rule.Errorf(rule.CodeInvalid, "What is pasted is not a diff: it has no line that begins with diff --git, or with ---, +++ and @@.")
		}
		s.Files = append(s.Files, fileOf(form.get("folder"), f))
	}
	s.Diff = strings.Join(diffs, "")
	return s, nil
}

func fileOf(folder string, f part) wire.InputFile {
	out := wire.InputFile{Path: strings.TrimPrefix(path.Join(strings.TrimSpace(folder), f.name), "/")}
	if utf8.Valid(f.content) {
		text := string(f.content)
		out.Content = &text
	} else {
		text := base64.StdEncoding.EncodeToString(f.content)
		out.ContentBase64 = &text
	}
	return out
}

// diffPattern is the beginning of a diff: of git, or the header of a file in unified format.
var diffPattern = regexp.MustCompile(`(?m)^(?:diff --git |--- [^\n]*\n\+\+\+ [^\n]*\n@@ )`)

// sniffed bounds the bytes in which isDiff looks for a diff.
const sniffed = 64 << 10

// isDiff reports whether a file is a diff, by its name or by how it begins.
func (f part) isDiff() bool {
	switch strings.ToLower(path.Ext(f.name)) {
	case ".diff", ".patch":
		return true
	}
	start := f.content[:min(len(f.content), sniffed)]
	at := diffPattern.FindIndex(start)
	if at == nil {
		return false
	}
	if f.name == "pasted" {
		return true
	}
	return at[0] == 0 || strings.HasPrefix(string(start), "From ") || strings.HasPrefix(string(start), "commit ")
}

// formats of documents; those that are true are read by the server when it keeps them, the others are text.
var formats = map[string]bool{".pdf": true, ".docx": true, ".html": true, ".htm": true, ".md": false, ".markdown": false}

func (f part) isDocument() bool {
	_, ok := formats[strings.ToLower(path.Ext(f.name))]
	return ok
}

// documentOf makes a document the subject: by its text, or, if the server has to read its format, by keeping it.
func documentOf(p *page, f part) (any, error) {
	if !formats[strings.ToLower(path.Ext(f.name))] {
		if !utf8.Valid(f.content) {
			return nil, rule.Errorf(rule.CodeInvalid, "%s is not text in UTF-8. Documents are Markdown, HTML, PDF, DOCX or text.", clipText(f.name, briefText))
		}
		return &wire.DocumentSubject{Kind: wire.DocumentKind, Content: string(f.content), Title: f.name}, nil
	}
	if !p.may(auth.Reviewer) {
		return nil, rule.Errorf(rule.CodeInvalid, "%s has to be kept as a document of the project before it can be read, which needs the role reviewer. "+
			"Paste its text into a file whose name ends in .md.", clipText(f.name, briefText))
	}
	kept, err := client.UploadDocument(p.ctx, p.api, wire.Upload{Filename: f.name, Content: f.content})
	if err != nil {
		id := keptAlready(err)
		if id == "" {
			return nil, err
		}
		return &wire.DocumentSubject{Kind: wire.DocumentKind, DocumentID: id}, nil
	}
	return &wire.DocumentSubject{Kind: wire.DocumentKind, DocumentID: kept.ID}, nil
}

// keptPattern finds the document that the API names where it has the content already.
var keptPattern = regexp.MustCompile(`it is document ([0-9a-f]{8}-[0-9a-f-]{27})`)

// keptAlready is the id of the document that has the same content as a refused one, or empty.
func keptAlready(err error) string {
	if rule.CodeOf(err) != rule.CodeConflict {
		return ""
	}
	if m := keptPattern.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return ""
}
