package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/release"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Bundles serves what is deployed to environments as signed files.
type Bundles struct{ Bundles *release.Bundles }

// bundleRef names an environment in a path.
type bundleRef struct {
	Environment string `path:"environment" doc:"production, staging or development."`
}

// bundleFile is a bundle, or 304 with its signed head.
type bundleFile struct {
	Status      int
	ContentType string `header:"Content-Type"`
	ETag        string `header:"ETag"`
	Caching     string `header:"Cache-Control"`
	Note        string `header:"Tenet-Bundle-Note"`
	Body        []byte
}

// Routes implements [rest.Resource].
func (s Bundles) Routes(r *rest.Router) {
	r = r.Tag(releaseTag)
	rest.Handle(r, rest.Operation{
		ID: "get-bundle", Route: op.GetBundle.Route(), Role: auth.Evaluator, Status: http.StatusOK, Summary: "Get what is deployed to an environment as a signed file",
		Description: "For edges: the rules of the active snapshot with federation, waivers, policy, suspended agents and the hashes of keys, as the docs of bundles describe it. " +
			"The ETag names the bundle; 304 carries a fresh signed head in Tenet-Bundle-Note. With `Accept: text/event-stream` an event `bundle` is sent at once if the newest " +
			"bundle is not base, and whenever there is a newer one. 409 if nothing is deployed.",
	}, s.get).Streams("`bundle`, with the description of the newest bundle.")
	rest.Handle(r, rest.Operation{
		ID: "describe-bundle", Route: op.DescribeBundle.Route(), Role: auth.Viewer, Summary: "Describe the newest bundle of an environment", Description: "With the keys that edges trust.",
	}, func(ctx context.Context, in *bundleRef) (wire.BundleInfo, error) {
		environment, err := release.ParseEnvironment(in.Environment)
		if err != nil {
			return wire.BundleInfo{}, err
		}
		return s.describe(ctx, environment)
	})
}

func (s Bundles) describe(ctx context.Context, environment wire.Environment) (out wire.BundleInfo, err error) {
	b, err := s.Bundles.Latest(ctx, rest.Project(ctx), environment, "")
	if err != nil {
		return out, err
	}
	h := b.Head
	out = wire.BundleInfo{
		ProjectID: h.Project, Environment: wire.Environment(h.Environment), Seq: h.Seq, Action: h.Action, SnapshotID: h.Snapshot, Root: h.Root, Rules: h.Rules, Hash: h.RawHash,
		Size: h.Size, RawSize: h.RawSize, BuiltAt: h.Built, SignedAt: h.Signed, Name: h.Name,
	}
	out.Keys, err = s.Bundles.Keys(ctx, rest.Project(ctx), environment)
	return out, err
}

func (s Bundles) get(ctx context.Context, in *struct {
	bundleRef
	wire.BundleQuery
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the bundle that you have; 304 if there is none newer."`
},
) (out bundleFile, err error) {
	environment, err := release.ParseEnvironment(in.Environment)
	if err != nil {
		return out, err
	}
	if rest.WantsEvents(ctx) {
		return out, s.news(ctx, environment, in.Base)
	}
	b, err := s.Bundles.Latest(ctx, rest.Project(ctx), environment, in.Base)
	if err != nil {
		return out, err
	}
	out = bundleFile{
		ContentType: "application/vnd.tenet.bundle.v1", ETag: strconv.Quote(b.Head.RawHash), Caching: "private, no-cache", Note: base64.StdEncoding.EncodeToString([]byte(b.Note)),
	}
	if noneMatch(in.IfNoneMatch, out.ETag) {
		out.Status, out.ContentType = http.StatusNotModified, ""
		return out, nil
	}
	out.Body = b.Bytes()
	return out, nil
}

// news sends an event for each bundle that is newer than the one that the client has.
func (s Bundles) news(ctx context.Context, environment wire.Environment, have string) error {
	if _, err := s.describe(ctx, environment); err != nil {
		return err // answered as to any other request
	}
	events, ctx := rest.OpenStream(ctx)
	for {
		b, err := s.Bundles.Newer(ctx, rest.Project(ctx), environment, have)
		if errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return events.Finish(ctx, rest.None{}, nil)
		}
		if err != nil {
			return events.Finish(ctx, nil, err)
		}
		info, err := s.describe(ctx, environment)
		if err != nil {
			return events.Finish(ctx, nil, err)
		}
		events.Send("bundle", info)
		have = b.Head.RawHash
	}
}
