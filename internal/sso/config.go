package sso

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Limits of the file of providers.
const (
	maxFile      = 1 << 20
	MaxProviders = 20
	maxRoles     = 10_000
)

// Provider describes an identity provider that speaks OpenID Connect, as sso_file declares it.
type Provider struct {
	// Name identifies the provider in addresses and in the names of actors: the actor of ann@example.com is NAME:ann@example.com.
	Name string `yaml:"name"`
	// Title is its name on the sign-in page; empty means Name.
	Title string `yaml:"title"`
	// Issuer is the address whose discovery document describes it.
	Issuer   string `yaml:"issuer"`
	ClientID string `yaml:"client_id"`
	// ClientSecret is the secret of the console's client. At most one of the three is given; a public client has none.
	ClientSecret     string `yaml:"client_secret"`
	ClientSecretEnv  string `yaml:"client_secret_env"`
	ClientSecretFile string `yaml:"client_secret_file"`
	// CLIClientID is the public client of the command line; empty means that tenet login does not offer the provider.
	CLIClientID string `yaml:"cli_client_id"`
	// Audiences are those of bearer tokens that the API accepts in addition to the two clients.
	Audiences []string `yaml:"audiences"`
	// Scopes are asked for at sign-in; empty means openid, profile and email.
	Scopes []string `yaml:"scopes"`
	// NameClaim names the person; empty means email, which counts only if the provider has verified it.
	NameClaim string `yaml:"name_claim"`
	// GroupsClaim lists the groups of the person; empty means groups.
	GroupsClaim string `yaml:"groups_claim"`
	// Roles are the roles that groups give. A person has the highest of those of all groups. A person without any has no access.
	Roles []GroupRole `yaml:"roles"`
}

// GroupRole gives the members of a group a role in a project.
type GroupRole struct {
	Group   string    `yaml:"group"`
	Project string    `yaml:"project"` // * is every project
	Role    auth.Role `yaml:"role"`
}

// nameForm is the form of the name of a provider. It holds no colon, so that actors of providers differ.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// reservedNames begin the names of other actors, or are addresses of the sign-in page.
var reservedNames = []string{"key", "local", "system", "tenet", "hook", "ingest", "github", "agent", "person", "backchannel"}

// ReadFile reads the file of identity providers; an empty name means none. Secrets come from the environment or files that it names.
func ReadFile(name string, env func(string) string) ([]Provider, error) {
	if name == "" {
		return nil, nil
	}
	data, err := readLimited(name)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "sso_file: %w", err)
	}
	list, err := Parse(data)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := list[i].readSecret(env); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return data, err
}

// readSecret takes the secret from where it is.
func (p *Provider) readSecret(env func(string) string) error {
	switch {
	case p.ClientSecretEnv != "":
		if p.ClientSecret = env(p.ClientSecretEnv); p.ClientSecret == "" {
			return rule.Errorf(rule.CodeInvalid, "sso_file: the environment variable %s of provider %s is empty", p.ClientSecretEnv, p.Name)
		}
	case p.ClientSecretFile != "":
		data, err := readLimited(p.ClientSecretFile)
		if err != nil {
			return rule.Errorf(rule.CodeInvalid, "sso_file: the secret of provider %s: %w", p.Name, err)
		}
		if p.ClientSecret = strings.TrimSpace(string(data)); p.ClientSecret == "" {
			return rule.Errorf(rule.CodeInvalid, "sso_file: %s of provider %s is empty", p.ClientSecretFile, p.Name)
		}
	}
	return nil
}

// Parse reads a file of identity providers (YAML or JSON). It returns all faults in one invalid error.
func Parse(data []byte) ([]Provider, error) {
	var file struct {
		Providers []Provider `yaml:"providers"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, rule.Errorf(rule.CodeInvalid, "sso_file cannot be read: %s", yaml.FormatError(err, false, false))
	}
	var p rule.Problems
	if n := len(file.Providers); n == 0 || n > MaxProviders {
		p.Add("providers", "has %d entries; give 1 to %d", n, MaxProviders)
		return nil, p.Err("sso_file is invalid")
	}
	for i := range file.Providers {
		one := &file.Providers[i]
		at := fmt.Sprintf("providers[%d]", i)
		before := file.Providers[:i]
		if slices.ContainsFunc(before, func(x Provider) bool { return x.Name == one.Name }) {
			p.Add(at+".name", "%q occurs twice", one.Name)
		}
		if slices.ContainsFunc(before, func(x Provider) bool { return x.Issuer == one.Issuer }) {
			p.Add(at+".issuer", "%q occurs twice; declare all groups with one provider", one.Issuer)
		}
		one.validate(&p, at)
		one.setDefaults()
	}
	return file.Providers, p.Err("sso_file is invalid")
}

func (p *Provider) validate(problems *rule.Problems, at string) {
	if !nameForm.MatchString(p.Name) {
		problems.Add(at+".name", "%q must have 1 to 31 lower-case letters, digits and -, and begin with a letter", p.Name)
	}
	if slices.Contains(reservedNames, p.Name) {
		problems.Add(at+".name", "%q is in use; choose another", p.Name)
	}
	issuer, err := url.Parse(p.Issuer)
	switch {
	case err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" || issuer.User != nil:
		problems.Add(at+".issuer", "%q must be an address such as https://login.example.com", p.Issuer)
	case issuer.Scheme != "https" && !loopback(issuer):
		problems.Add(at+".issuer", "%q must begin with https://, unless it is on this machine", p.Issuer)
	}
	if p.ClientID == "" {
		problems.Add(at+".client_id", "is missing")
	}
	given := 0
	for _, s := range []string{p.ClientSecret, p.ClientSecretEnv, p.ClientSecretFile} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		problems.Add(at+".client_secret", "give one of client_secret, client_secret_env and client_secret_file")
	}
	if len(p.Scopes) > 0 && !slices.Contains(p.Scopes, "openid") {
		problems.Add(at+".scopes", "must contain openid")
	}
	if n := len(p.Roles); n == 0 || n > maxRoles {
		problems.Add(at+".roles", "has %d entries; give 1 to %d, since a person without a role has no access", n, maxRoles)
	}
	for i, r := range p.Roles {
		at := fmt.Sprintf("%s.roles[%d]", at, i)
		if r.Group == "" {
			problems.Add(at+".group", "is missing")
		}
		if r.Project != store.AllProjects && !rule.ValidProjectID(r.Project) {
			problems.Add(at+".project", "%q is neither the id of a project nor *", r.Project)
		}
		if !slices.Contains(auth.Roles, r.Role) {
			problems.Add(at+".role", "is %q; use one of %s", r.Role, rule.Names(auth.Roles))
		}
	}
}

// loopback reports whether an address is on this machine, so that its traffic can be read by nobody else.
func loopback(u *url.URL) bool {
	return u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
}

func (p *Provider) setDefaults() {
	if p.Title == "" {
		p.Title = p.Name
	}
	if len(p.Scopes) == 0 {
		p.Scopes = []string{"openid", "profile", "email"}
	}
	if p.NameClaim == "" {
		p.NameClaim = "email"
	}
	if p.GroupsClaim == "" {
		p.GroupsClaim = "groups"
	}
}

// grants returns the roles that groups give, or nil.
func (p *Provider) grants(groups []string) *auth.Grants {
	member := make(map[string]bool, len(groups))
	for _, g := range groups {
		member[g] = true
	}
	roles := map[string]auth.Role{}
	for _, r := range p.Roles {
		if member[r.Group] {
			roles[r.Project] = auth.Higher(roles[r.Project], r.Role)
		}
	}
	return auth.NewGrants(roles)
}
