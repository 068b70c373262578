package checkpoint

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"tenet/internal/audit/tree"
)

// MaxProof is the most hashes of a consistency proof, and SizeType is the type of an answer that holds the size that a witness has seen:
// C2SP tlog-witness.
const (
	MaxProof = 63
	SizeType = "text/x.tlog.size"
)

// Request is a request to cosign a checkpoint.
type Request struct {
	Old   int64 // size of the checkpoint that the witness has cosigned before; 0 for none
	Proof []tree.Hash
	Note  string // the signed checkpoint
}

// Marshal encodes a request.
func (r Request) Marshal() string {
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", r.Old)
	for _, h := range r.Proof {
		b.WriteString(base64.StdEncoding.EncodeToString(h[:]) + "\n")
	}
	b.WriteString("\n" + r.Note)
	return b.String()
}

// ParseRequest is the inverse of [Request.Marshal].
func ParseRequest(body string) (Request, error) {
	head, signedNote, ok := strings.Cut(body, "\n\n")
	if !ok {
		return Request{}, errors.New("an empty line before the checkpoint is missing")
	}
	lines := strings.Split(head, "\n")
	number, ok := strings.CutPrefix(lines[0], "old ")
	old, err := ParseSize(number)
	if !ok || err != nil {
		return Request{}, errors.New("the first line is not old and a size")
	}
	if len(lines)-1 > MaxProof {
		return Request{}, fmt.Errorf("a proof has at most %d hashes", MaxProof)
	}
	r := Request{Old: old, Note: signedNote}
	for _, l := range lines[1:] {
		b, err := base64.StdEncoding.DecodeString(l)
		if err != nil || len(b) != len(tree.Hash{}) {
			return Request{}, errors.New("a line of the proof is not a hash in base64")
		}
		r.Proof = append(r.Proof, tree.Hash(b))
	}
	return r, nil
}

// ParseSize reads a size in decimal, without leading zeroes.
func ParseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%.30q is not a size", s)
	}
	return n, nil
}

// SizeError is the answer of a witness that has cosigned a checkpoint of another size than the request says.
type SizeError struct{ Size int64 }

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the witness has cosigned a checkpoint of %d entries", e.Size)
}

// Ask asks a witness to cosign, and returns the lines of its valid cosignatures. It ignores all others that the witness sends. If the
// witness has cosigned a checkpoint of another size before, the error is a [*SizeError].
func (w Witness) Ask(ctx context.Context, client *http.Client, r Request) (string, error) {
	if w.URL == "" {
		return "", fmt.Errorf("the policy has no address of the witness %s", w.Name)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/add-checkpoint", strings.NewReader(r.Marshal()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	answer, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxNote+1))
	if err != nil {
		return "", err
	}
	text := string(body)
	switch {
	case len(body) > MaxNote:
		return "", errors.New("the answer is too long")
	case answer.StatusCode == http.StatusConflict:
		size, err := ParseSize(strings.TrimSuffix(text, "\n"))
		if err != nil || answer.Header.Get("Content-Type") != SizeType {
			return "", errors.New("the witness answered 409 without the size that it has seen")
		}
		return "", &SizeError{size}
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the witness answered %s: %.200q", answer.Status, text)
	}
	return w.cosignatures(r.Note, text)
}

// cosignatures returns those lines of an answer that are valid cosignatures by the witness.
func (w Witness) cosignatures(signedNote, lines string) (string, error) {
	c, err := Parse(signedNote)
	if err != nil {
		return "", err
	}
	opened, err := note.Open([]byte(c.Text()+"\n"+lines), note.VerifierList(w.Key))
	if err != nil {
		return "", fmt.Errorf("the answer is not a cosignature of %s: %w", w.Key.Name(), err)
	}
	var b strings.Builder
	for _, s := range opened.Sigs {
		fmt.Fprintf(&b, "— %s %s\n", s.Name, s.Base64)
	}
	return b.String(), nil
}
