package bundle

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/rule"
)

// Actions of a deployment, as the head names them.
const (
	Deploy   = "deploy"
	Rollback = "rollback"
)

// Head says what a bundle is. It is signed.
type Head struct {
	// Name is that of the keys: the origin of the server's logs, the project and the environment.
	Name        string
	Project     string
	Environment string
	Seq         int64  // grows with each bundle of the environment
	Action      string // [Deploy] or [Rollback]
	Snapshot    string // id
	Root        string // Merkle root of the snapshot, in hex
	Rules       int
	// Built is when the contents were put together; Signed when the server last vouched that nothing newer is deployed.
	Built, Signed time.Time
	// Size and Hash (SHA-256, hex) are those of the compressed body; RawSize and RawHash those of the canonical text. A delta has those of
	// the text that it leads to.
	Size, RawSize int64
	Hash, RawHash string
	// Base is the RawHash of the bundle that a delta changes, and BaseSeq its number; empty for a whole bundle.
	Base    string
	BaseSeq int64
}

// Limits of a bundle, in bytes.
const (
	MaxSize    = 256 << 20
	MaxRawSize = 1 << 30
)

const headTitle = "tenet bundle 1"

// NameOf returns the name of the keys of an environment's bundles.
func NameOf(origin, project, environment string) string {
	return origin + "/" + project + "/bundles/" + environment
}

// Text returns what is signed.
func (h *Head) Text() string {
	var b strings.Builder
	row := func(name, value string) { fmt.Fprintf(&b, "%s %s\n", name, value) }
	b.WriteString(headTitle + "\n")
	row("name", h.Name)
	row("project", h.Project)
	row("environment", h.Environment)
	row("seq", strconv.FormatInt(h.Seq, 10))
	row("action", h.Action)
	row("snapshot", h.Snapshot)
	row("root", h.Root)
	row("rules", strconv.Itoa(h.Rules))
	row("built", h.Built.UTC().Format(time.RFC3339Nano))
	row("signed", h.Signed.UTC().Format(time.RFC3339Nano))
	row("size", strconv.FormatInt(h.Size, 10))
	row("hash", h.Hash)
	row("raw-size", strconv.FormatInt(h.RawSize, 10))
	row("raw-hash", h.RawHash)
	if h.Base != "" {
		row("base-seq", strconv.FormatInt(h.BaseSeq, 10))
		row("base", h.Base)
	}
	return b.String()
}

// parseHead reads the text of a head. Only the form that Text writes is read, so that one meaning has one text.
func parseHead(text string) (*Head, error) {
	title, rest, _ := strings.Cut(text, "\n")
	if title != headTitle {
		return nil, fmt.Errorf("it begins with %q, not with %q; is it a bundle of another version of Tenet?", clip(title), headTitle)
	}
	fields := map[string]string{}
	for l := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n") {
		name, value, _ := strings.Cut(l, " ")
		fields[name] = value
	}
	var bad error
	number := func(name string) int64 {
		n, err := strconv.ParseInt(fields[name], 10, 64)
		if (err != nil || n < 0) && bad == nil {
			bad = fmt.Errorf("%w: %s is %q", errDamaged, name, clip(fields[name]))
		}
		return n
	}
	at := func(name string) time.Time {
		t, err := time.Parse(time.RFC3339Nano, fields[name])
		if err != nil && bad == nil {
			bad = fmt.Errorf("%w: %s is %q", errDamaged, name, clip(fields[name]))
		}
		return t.UTC()
	}
	h := &Head{
		Name: fields["name"], Project: fields["project"], Environment: fields["environment"], Seq: number("seq"), Action: fields["action"], Snapshot: fields["snapshot"],
		Root: fields["root"], Rules: int(number("rules")), Built: at("built"), Signed: at("signed"), Size: number("size"), Hash: fields["hash"], RawSize: number("raw-size"),
		RawHash: fields["raw-hash"], Base: fields["base"],
	}
	if h.Base != "" {
		h.BaseSeq = number("base-seq")
	}
	switch {
	case bad != nil:
		return nil, bad
	case h.Text() != text:
		return nil, fmt.Errorf("%w: its head has another form", errDamaged)
	case h.Size > MaxSize || h.RawSize > MaxRawSize:
		return nil, rule.Errorf(rule.CodeTooLarge, "the bundle has %d bytes, and %d unpacked; at most %d and %d are read", h.Size, h.RawSize, MaxSize, MaxRawSize)
	case !isHash(h.Hash) || !isHash(h.RawHash) || h.Base != "" && !isHash(h.Base):
		return nil, fmt.Errorf("%w: a hash is not one", errDamaged)
	case h.Action != Deploy && h.Action != Rollback:
		return nil, fmt.Errorf("%w: its action is %q", errDamaged, clip(h.Action))
	}
	return h, nil
}

func isHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

func clip(s string) string { return s[:min(len(s), 60)] }

// ReadHead reads the head in a note without looking at its signatures.
func ReadHead(signedNote string) (*Head, error) {
	text, _, _ := strings.Cut(signedNote, "\n\n")
	h, err := parseHead(text + "\n")
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the head of the bundle is not understood: %w", err)
	}
	return h, nil
}

// Sign returns the signed note of a head.
func (h *Head) Sign(ctx context.Context, s checkpoint.Signer) (string, error) {
	return checkpoint.SignText(ctx, s, h.Name, h.Text())
}

// OpenHead returns the head in a note if a trusted key has signed it under the name that the head has.
func OpenHead(signedNote string, trusted []string) (*Head, error) {
	if len(trusted) == 0 {
		return nil, rule.Errorf(rule.CodeInvalid, "no key is trusted; name the verifier key of the server, as `tenet bundle key` prints it")
	}
	text, name, err := checkpoint.OpenText(signedNote, trusted)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the bundle is refused: %w", err)
	}
	h, err := parseHead(text)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the bundle is refused: %w", err)
	}
	if h.Name != name || !strings.HasSuffix(name, "/"+h.Project+"/bundles/"+h.Environment) {
		return nil, rule.Errorf(rule.CodeInvalid, "the bundle is refused: it is of %s, and the key of %s has signed it", clip(h.Name), name)
	}
	return h, nil
}
