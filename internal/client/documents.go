package client

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"

	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// UploadDocument keeps a file. The error is a conflict that names the document if the project has the same content already.
func UploadDocument(ctx context.Context, c *Client, u wire.Upload) (wire.Document, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := writeForm(w, u); err != nil {
		return wire.Document{}, fmt.Errorf("client: encoding the form: %w", err)
	}
	return Call(ctx, c, op.UploadDocument.With("Content-Type", w.FormDataContentType()), body.Bytes())
}

func writeForm(w *multipart.Writer, u wire.Upload) error {
	return writeFormOf(w, map[string]string{"title": u.Title, "document_type": u.DocumentType}, u.Filename, u.Content)
}

// writeFormOf writes a form of fields that are not empty and a file.
func writeFormOf(w *multipart.Writer, fields map[string]string, filename string, content []byte) error {
	for name, value := range fields {
		if value == "" {
			continue
		}
		if err := w.WriteField(name, value); err != nil {
			return err
		}
	}
	part, err := w.CreateFormFile("file", filename)
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	return w.Close()
}
