package rest

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// Signer authenticates the signer of a body.
type Signer struct {
	// Expect refuses headers that no valid signature can have, before the server reads the body.
	Expect func(header http.Header) error
	Verify func(header http.Header, body []byte) (auth.Actor, error)
}

// SignedBytes returns the body of a signed request.
func SignedBytes(ctx context.Context) []byte { return exchangeFrom(ctx).raw }

// authenticateBody reads the body of a signed request and returns its signer. It reads the body before it can know the
// caller, within the limits for all callers, but not if the header alone shows that the signature is wrong.
func (s *Server) authenticateBody(x *exchange) (auth.Actor, error) {
	signer := x.endpoint.signer
	if err := signer.Expect(x.r.Header); err != nil {
		return auth.Actor{}, Unsigned(err)
	}
	_, buf, err := x.readAll()
	if err != nil {
		return auth.Actor{}, err
	}
	defer putBuffer(buf)
	x.raw = append([]byte(nil), buf.Bytes()...)
	who, err := signer.Verify(x.r.Header, x.raw)
	return who, Unsigned(err)
}

// Unsigned adds to an unauthenticated error that a signature is needed. Other errors stay as they are.
func Unsigned(err error) error {
	if rule.CodeOf(err) != rule.CodeUnauthenticated {
		return err
	}
	return &httpError{
		cause: rule.Errorf(rule.CodeUnauthenticated, "%s", err.Error()), header: http.Header{"Www-Authenticate": {`Signature realm="tenet"`}},
	}
}
