package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// identityField is the field of bodies that names for whom and by which agent the actor acted.
const identityField = "identity"

type identityKey struct{}

// WithIdentity puts into a context for whom and by which agent its actor acts. The entries that are written under the context name it.
func WithIdentity(ctx context.Context, i rule.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityFrom returns the identity of a context; the zero one if it has none.
func IdentityFrom(ctx context.Context) rule.Identity {
	i, _ := ctx.Value(identityKey{}).(rule.Identity)
	return i
}

// identified returns a record whose body names the identity of the context. Evaluations name it on their own.
func identified(ctx context.Context, r Record) Record {
	i := IdentityFrom(ctx)
	object, ok := bytes.CutPrefix(r.Body, []byte("{"))
	if i.IsZero() || r.Kind == KindEvaluation || !ok {
		return r
	}
	body := append([]byte(`{"`+identityField+`":`), JSON(i)...)
	if !bytes.HasPrefix(object, []byte("}")) {
		body = append(body, ',')
	}
	r.Body = append(body, object...)
	return r
}

// maxIdentity bounds the bytes of a body that an identity takes.
const maxIdentity = 8 << 10

var readerPool = sync.Pool{New: func() any {
	return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxBody)))
}}

// EvaluationIdentity returns the identity in the record of an evaluation, which is its first field; nil if it has none, or retention has
// removed the record. It reads the first bytes of the body alone.
func EvaluationIdentity(e *store.AuditEntry) *rule.Identity {
	if len(e.Body) == 0 {
		return nil
	}
	r := readerPool.Get().(*zstd.Decoder)
	defer readerPool.Put(r)
	if err := r.Reset(bytes.NewReader(e.Body)); err != nil {
		return nil
	}
	begin := make([]byte, maxIdentity)
	n, err := io.ReadFull(r, begin)
	if n == 0 || err != nil && n == maxIdentity {
		return nil
	}
	raw, ok := bytes.CutPrefix(begin[:n], []byte(`{"`+identityField+`":`))
	if !ok {
		return nil
	}
	var i rule.Identity
	if json.NewDecoder(bytes.NewReader(raw)).Decode(&i) != nil {
		return nil
	}
	return &i
}
