package place

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"tenet/internal/bundle"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
)

// Media types of the artifact.
const (
	fileType   types.MediaType = "application/vnd.tenet.bundle.v1"
	configType types.MediaType = "application/vnd.tenet.bundle.config.v1+json"
	// noteAnnotation holds the signed head, so that nobody fetches a bundle that they have.
	noteAnnotation = "tenet.bundle.note"
)

// registry is a tag of a repository in an OCI registry. Its credentials are those of docker login.
type registry struct {
	tag  name.Reference
	http http.RoundTripper
}

func newRegistry(reference string, cfg Config) (Place, error) {
	tag, err := name.ParseReference(reference, name.WithDefaultRegistry(""))
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "%q is not a place in a registry, such as oci://ghcr.io/acme/rules:production: %w", reference, err)
	}
	round := cfg.Client.Transport
	if round == nil {
		round = http.DefaultTransport
	}
	return &registry{tag, round}, nil
}

func (r *registry) options(ctx context.Context, file bool) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(bounded{r.http, file})}
}

// Fetch implements [Place].
func (r *registry) Fetch(ctx context.Context, have Have) (Fetched, error) {
	got, err := remote.Get(r.tag, r.options(ctx, false)...)
	if err != nil {
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the bundle cannot be fetched from the registry: %w", err)
	}
	image, err := got.Image()
	if err != nil {
		return Fetched{}, rule.Errorf(rule.CodeInvalid, "%s holds no bundle: %w", r.tag, err)
	}
	manifest, err := image.Manifest()
	if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != fileType {
		return Fetched{}, rule.Errorf(rule.CodeInvalid, "%s holds no bundle of Tenet", r.tag)
	}
	out := Fetched{Version: got.Digest.String(), Note: manifest.Annotations[noteAnnotation]}
	if out.Version == have.Version {
		return out, nil
	}
	if size := manifest.Layers[0].Size; size < 0 || size > maxFile {
		return Fetched{}, rule.Errorf(rule.CodeTooLarge, "the bundle in the registry has %d bytes; at most %d are read", size, maxFile)
	}
	layer, err := remote.Layer(r.tag.Context().Digest(manifest.Layers[0].Digest.String()), r.options(ctx, true)...)
	if err != nil {
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the bundle cannot be fetched from the registry: %w", err)
	}
	body, err := layer.Compressed()
	if err != nil {
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the bundle cannot be fetched from the registry: %w", err)
	}
	out.Body = limited(body)
	return out, nil
}

// Push implements [Place].
func (r *registry) Push(ctx context.Context, f *bundle.File) error {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), configType)
	image, err := mutate.AppendLayers(image, static.NewLayer(f.Bytes(), fileType))
	if err != nil {
		return err
	}
	annotated, ok := mutate.Annotations(image, map[string]string{noteAnnotation: f.Note}).(v1.Image)
	if !ok {
		return rule.Errorf(rule.CodeInternal, "the artifact cannot be made")
	}
	if err := remote.Write(r.tag, annotated, r.options(ctx, false)...); err != nil {
		return rule.Errorf(rule.CodeUnavailable, "the bundle cannot be pushed: %w", err)
	}
	return nil
}

// maxManifest bounds a manifest, and all else that a registry says beside blobs, in bytes. That of a bundle has about 2,000.
const maxManifest = 256 << 10

// bounded limits answers of a registry: manifests are small, and no file is larger than a bundle.
type bounded struct {
	http.RoundTripper
	file bool // a bundle is fetched
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := int64(maxManifest)
	if b.file && (r.Response != nil || strings.Contains(r.URL.Path, "/blobs/")) { // registries redirect to where blobs are
		limit = maxFile + checkpoint.MaxNote
	}
	answer.Body = both{io.LimitReader(answer.Body, limit), answer.Body}
	return answer, nil
}
