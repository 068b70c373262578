package login

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zalando/go-keyring"

	"tenet/internal/wire"
)

// Tokens hold the result of a sign-in.
type Tokens struct {
	Provider wire.SignInProvider `json:"provider"`
	ID       string              `json:"id_token"`                // sent to the server
	Refresh  string              `json:"refresh_token,omitempty"` // for others, from the provider
	Expiry   time.Time           `json:"expiry"`                  // of ID
}

// Store keeps the tokens of servers: in the keyring of the operating system where there is one, else in files that only their owner can read.
type Store struct {
	// Dir is the folder of the files.
	Dir string
	// NoKeyring uses files alone.
	NoKeyring bool
}

// service is the name under which the keyring has the tokens.
const service = "tenet"

// Load returns the tokens of a server, or nil if there are none.
func (s Store) Load(server string) (*Tokens, error) {
	data, err := s.read(server)
	if err != nil || data == nil {
		return nil, err
	}
	var t Tokens
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("the stored sign-in cannot be read; run tenet login again: %w", err)
	}
	return &t, nil
}

func (s Store) read(server string) ([]byte, error) {
	if !s.NoKeyring {
		if text, err := keyring.Get(service, server); err == nil {
			return []byte(text), nil
		}
	}
	data, err := os.ReadFile(s.file(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Save stores the tokens of a server. It returns the file if there is no keyring to hold them.
func (s Store) Save(server string, t *Tokens) (file string, err error) {
	data, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	file = s.file(server)
	if !s.NoKeyring && keyring.Set(service, server, string(data)) == nil {
		return "", ignoreMissing(os.Remove(file))
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	// Written aside and moved, so that nobody reads half of it, and nobody else any.
	aside, err := os.CreateTemp(s.Dir, ".signin-*")
	if err != nil {
		return "", err
	}
	_, err = aside.Write(data)
	if err = errors.Join(err, aside.Close()); err == nil {
		err = os.Rename(aside.Name(), file)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(aside.Name()))
	}
	return file, nil
}

// Delete removes the tokens of a server. Removing ones that are not there changes nothing.
func (s Store) Delete(server string) error {
	if !s.NoKeyring {
		if err := keyring.Delete(service, server); err == nil {
			return ignoreMissing(os.Remove(s.file(server)))
		}
	}
	return ignoreMissing(os.Remove(s.file(server)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// file is the name of a server's file. It holds no part of the address, which may be no file name.
func (s Store) file(server string) string {
	sum := sha256.Sum256([]byte(server))
	return filepath.Join(s.Dir, "signin-"+hex.EncodeToString(sum[:8])+".json")
}
