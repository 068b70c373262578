package checkpoint

import (
	"context"
	"errors"

	"golang.org/x/mod/sumdb/note"
)

// SignText returns a note of a text that all signing keys of a name have signed. The text ends with a line break.
func SignText(ctx context.Context, s Signer, name, text string) (string, error) {
	keys, _, err := s.Keys(ctx, name)
	if err != nil {
		return "", err
	}
	verifiers, err := verifiersOf(name, keys)
	if err != nil {
		return "", err
	}
	signatures, err := s.Sign(ctx, name, text)
	if err != nil {
		return "", err
	}
	return signed(text, verifiers, signatures)
}

// errUnsigned is the error of a note that no trusted key has signed.
var errUnsigned = errors.New("no trusted key has signed it")

// OpenText returns the text of a note if one of the verifier keys has signed it, and the name of that key.
func OpenText(signedNote string, keys []string) (text, name string, err error) {
	if len(signedNote) > MaxNote {
		return "", "", errors.New("the signed note is too long")
	}
	list := make([]note.Verifier, len(keys))
	for i, k := range keys {
		if list[i], err = note.NewVerifier(k); err != nil {
			return "", "", errors.New("a trusted key is not a verifier key such as example.com/tenet/default+1a2b3c4d+AZ...")
		}
	}
	n, err := note.Open([]byte(signedNote), note.VerifierList(list...))
	if e, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		_ = e
		return "", "", errUnsigned
	}
	if err != nil {
		return "", "", err
	}
	if len(n.Sigs) == 0 {
		return "", "", errUnsigned
	}
	return n.Text, n.Sigs[0].Name, nil
}
