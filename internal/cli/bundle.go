package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tenet/internal/bundle"
	places "tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// bundleCommands are `tenet bundle ...`.
type bundleCommands struct {
	Build   bundleBuildCommand   `cmd:"" help:"Write what is deployed to an environment to a signed file."`
	Push    bundlePushCommand    `cmd:"" help:"Put a bundle into a folder, an OCI registry or S3 storage."`
	Pull    bundlePullCommand    `cmd:"" help:"Fetch a bundle, verify it and write it to a file."`
	Verify  bundleVerifyCommand  `cmd:"" help:"Verify the signature, the hashes and the Merkle root of a bundle."`
	Inspect bundleInspectCommand `cmd:"" help:"Show what a bundle says of itself, without trusting it."`
	Key     bundleKeyCommand     `cmd:"" help:"Print the keys that edges of an environment trust."`
}

// signers names the keys that a bundle must be signed by.
type signers struct {
	Trust []string `required:"" placeholder:"KEY" sep:"none" help:"Verifier key that must have signed it, or a file with a key on each line, as tenet bundle key prints them. May be repeated."`
}

// keys returns the verifier keys.
func (t signers) keys() ([]string, error) { return trustedKeys(t.Trust) }

func trustedKeys(given []string) ([]string, error) {
	var keys []string
	for _, k := range given {
		if strings.Contains(k, "+") && !strings.Contains(k, "\n") {
			if _, err := os.Stat(k); err != nil {
				keys = append(keys, k)
				continue
			}
		}
		data, err := os.ReadFile(k)
		if err != nil {
			return nil, fmt.Errorf("--trust: %q is neither a verifier key nor a file with keys: %w", k, err)
		}
		for l := range strings.SplitSeq(string(data), "\n") {
			if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
				keys = append(keys, l)
			}
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("--trust names no key")
	}
	return keys, nil
}

type bundleBuildCommand struct {
	Environment string `arg:"" type:"filled" help:"production, staging or development."`
	Out         string `short:"o" type:"filled" placeholder:"FILE" help:"File to write; default is ENVIRONMENT.bundle."`
	output
}

func (bundleBuildCommand) Help() string {
	return `A bundle holds the rules of the active snapshot with federation, waivers, policy, suspended agents and the hashes of keys. It is signed by the keys
of the audit log, and an edge evaluates from it without a database server. The server must have run once, since it makes its key when it starts.

    tenet bundle build production -o production.bundle
    tenet bundle key production > production.keys
    tenet edge --bundle file:production.bundle --trust production.keys`
}

func (k *bundleBuildCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	done := s.progress("downloading the bundle")
	data, err := client.Get(ctx, c, op.GetBundle.At(k.Environment))
	done()
	if err != nil {
		return err
	}
	path := cmp.Or(k.Out, k.Environment+".bundle")
	if path == "-" {
		_, err := s.out.Write(data)
		return err
	}
	if err := checkpoint.WriteFile(path, data); err != nil {
		return err
	}
	return noted(s, k.output, placed{path, int64(len(data))}, nil, func(p placed) string { return fmt.Sprintf("wrote %s (%s)", p.Place, sizeText(p.Bytes)) })
}

// placed is the JSON of a file that a command has written or sent.
type placed struct {
	Place string `json:"place"`
	Bytes int64  `json:"bytes"`
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

type bundlePushCommand struct {
	Place       string `arg:"" type:"filled" help:"oci://REGISTRY/REPOSITORY:TAG, s3://BUCKET/KEY or file:PATH."`
	Environment string `type:"filled" xor:"what" required:"" placeholder:"NAME" help:"Environment whose newest bundle is pushed."`
	File        string `type:"filled" xor:"what" required:"" placeholder:"FILE" help:"Bundle to push as it is."`
	output
}

func (bundlePushCommand) Help() string {
	return `Registries take the credentials of docker login. S3 takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.
Push again from time to time, such as each minute: a bundle ages from when the server last vouched for it, and edges with max_age count on that.

    tenet bundle push oci://ghcr.io/acme/rules:production --environment production
    tenet bundle push s3://rules/production.bundle --file production.bundle`
}

func (k *bundlePushCommand) Run(ctx context.Context, s *session) error {
	to, err := places.Parse(k.Place, places.Config{Env: s.env})
	if err != nil {
		return err
	}
	push := func(data []byte) error {
		f, err := bundle.Parse(data)
		if err != nil {
			return err
		}
		if err := to.Push(ctx, f); err != nil {
			return err
		}
		return noted(s, k.output, placed{k.Place, int64(len(data))}, nil, func(p placed) string {
			return fmt.Sprintf("pushed to %s (%s)", p.Place, sizeText(p.Bytes))
		})
	}
	if k.File != "" {
		data, err := readLimited(s, k.File, bundle.MaxSize+checkpoint.MaxNote)
		if err != nil {
			return err
		}
		return push(data)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		data, err := client.Get(ctx, c, op.GetBundle.At(k.Environment))
		if err != nil {
			return err
		}
		return push(data)
	})
}

type bundlePullCommand struct {
	Place string `arg:"" type:"filled" help:"Where the bundle is: the address at a server, oci://..., s3://... or file:PATH."`
	Out   string `short:"o" type:"filled" required:"" placeholder:"FILE" help:"File to write."`
	signers
	output
}

func (k *bundlePullCommand) Run(ctx context.Context, s *session) error {
	trusted, err := k.keys()
	if err != nil {
		return err
	}
	from, err := places.Parse(k.Place, places.Config{Env: s.env, Key: cmp.Or(s.globals.Key, s.env("TENET_KEY")), Project: s.project()})
	if err != nil {
		return err
	}
	got, err := from.Fetch(ctx, places.Have{})
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }() // it was read to its end, or is not wanted
	done := s.progress("downloading the bundle")
	opened, err := bundle.Open(got.Body, trusted, nil)
	done()
	if err != nil {
		return err
	}
	if k.Out == "-" {
		_, err := s.out.Write(opened.Bytes())
		return err
	}
	if err := checkpoint.WriteFile(k.Out, opened.Bytes()); err != nil {
		return err
	}
	return show(s, k.output, reportOf(opened.Head, true), nil, printBundle)
}

type bundleVerifyCommand struct {
	File string `arg:"" type:"filled" help:"The bundle; - for stdin."`
	signers
	output
}

func (bundleVerifyCommand) Help() string {
	return `Checks without a network that a trusted key has signed the bundle, that its bytes are those that were signed, and that its rules have the Merkle
root of the snapshot.

Exit codes: 0 it is right, 1 it is not, 2 it could not be read.`
}

func (k *bundleVerifyCommand) Run(s *session) error {
	trusted, err := k.keys()
	if err != nil {
		return err
	}
	data, err := readLimited(s, k.File, bundle.MaxSize+checkpoint.MaxNote)
	if err != nil {
		return err
	}
	h, err := verifyBundle(data, trusted)
	if err != nil {
		fmt.Fprintf(s.err, "%s %s\n", s.red("tenet:"), err)
		return exit(exitFound)
	}
	return show(s, k.output, reportOf(h, true), nil, printBundle)
}

// verifyBundle checks all that can be checked of a whole bundle.
func verifyBundle(data []byte, trusted []string) (*bundle.Head, error) {
	opened, err := bundle.Open(bytes.NewReader(data), trusted, nil)
	if err != nil {
		return nil, err
	}
	if err := opened.CheckText(); err != nil {
		return nil, err
	}
	c, err := bundle.Decode(opened.Text)
	if err != nil {
		return nil, err
	}
	if root := release.RootOf(c); root != opened.Head.Root || root != c.Snapshot.ContentHash || c.Snapshot.ID != opened.Head.Snapshot {
		return nil, rule.Errorf(rule.CodeInvalid, "the rules of the bundle have the Merkle root %s, and its head has %s", root, opened.Head.Root)
	}
	return opened.Head, nil
}

type bundleInspectCommand struct {
	File string `arg:"" type:"filled" help:"The bundle; - for stdin."`
	output
}

func (bundleInspectCommand) Help() string {
	return `Anybody can write such a head: tenet bundle verify checks it.`
}

func (k *bundleInspectCommand) Run(s *session) error {
	data, err := readLimited(s, k.File, bundle.MaxSize+checkpoint.MaxNote)
	if err != nil {
		return err
	}
	signedNote, err := bundle.ReadNote(bytes.NewReader(data))
	if err != nil {
		return err
	}
	h, err := bundle.ReadHead(signedNote)
	if err != nil {
		return err
	}
	return show(s, k.output, reportOf(h, false), nil, printBundle)
}

type bundleKeyCommand struct {
	Environment string `arg:"" type:"filled" help:"production, staging or development."`
	output
}

func (bundleKeyCommand) Help() string {
	return `Prints the verifier keys of the bundles of an environment, one a line. Hand them to edges by a way that you trust: who changes them decides which
rules an edge takes.

    tenet bundle key production > production.keys`
}

func (k *bundleKeyCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	info, err := client.Get(ctx, c, op.DescribeBundle.At(k.Environment))
	return show(s, k.output, info.Keys, err, func(s *session, keys []string) error {
		_, err := io.WriteString(s.out, strings.Join(keys, "\n")+"\n")
		return err
	})
}

// bundleReport describes a bundle.
type bundleReport struct {
	Verified bool `json:"verified"`
	wire.BundleInfo
	BaseSeq int64 `json:"base_seq,omitempty"`
}

func reportOf(h *bundle.Head, verified bool) bundleReport {
	return bundleReport{Verified: verified, BaseSeq: h.BaseSeq, BundleInfo: wire.BundleInfo{
		ProjectID: h.Project, Environment: wire.Environment(h.Environment), Seq: h.Seq, Action: h.Action, SnapshotID: h.Snapshot, Root: h.Root, Rules: h.Rules, Hash: h.RawHash,
		Size: h.Size, RawSize: h.RawSize, BuiltAt: h.Built, SignedAt: h.Signed, Name: h.Name, Keys: []string{},
	}}
}

func printBundle(s *session, r bundleReport) error {
	state := s.green("verified")
	if !r.Verified {
		state = "not verified; anybody can write this"
	}
	rows := [][]any{
		{"signature", state},
		{"name", line(r.Name)},
		{"project", line(r.ProjectID)},
		{"environment", line(string(r.Environment))},
		{"number", r.Seq},
		{"action", line(r.Action)},
		{"snapshot", line(r.SnapshotID)},
		{"root", line(r.Root)},
		{"rules", r.Rules},
		{"hash", r.Hash},
		{"size", sizeText(r.Size) + ", " + sizeText(r.RawSize) + " unpacked"},
		{"built", r.BuiltAt.Format(time.RFC3339)},
		{"signed", r.SignedAt.Format(time.RFC3339)},
	}
	if r.BaseSeq > 0 {
		rows = append(rows, []any{"changes", fmt.Sprintf("bundle %d", r.BaseSeq)})
	}
	return s.table("", rows)
}
