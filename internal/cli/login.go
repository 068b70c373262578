package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/sso/login"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// loginTime is how long a person has to sign in.
const loginTime = 10 * time.Minute

type loginCommand struct {
	Provider  string `placeholder:"NAME" help:"Identity provider, where the server declares several."`
	Device    bool   `help:"Sign in on another device: the command shows an address and a code. It is chosen where there is no display."`
	NoBrowser bool   `help:"Print the address instead of opening it in a browser."`
	output
}

func (loginCommand) Help() string {
	return `Signs in at the identity provider of a server. Later commands for that server then act as you:

    tenet login --server https://tenet.example.com
    tenet rules list --server https://tenet.example.com

The token is kept in the keyring of the operating system where there is one, else in a file that only you can read, and renewed as long as
the provider allows. A key (--key, $TENET_KEY) comes before it. tenet logout forgets it.`
}

// Run signs in and stores the tokens.
func (k *loginCommand) Run(ctx context.Context, s *session) error {
	server, err := signInServer(s)
	if err != nil {
		return err
	}
	c, err := client.New(server, "", nil)
	if err != nil {
		return err
	}
	ways, err := client.Get(ctx, c, op.SignInWays)
	if err != nil {
		return err
	}
	provider, err := chooseProvider(ways.Providers, k.Provider)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	tokens, err := k.signIn(ctx, s, provider)
	if err != nil {
		return err
	}
	if c, err = client.New(server, tokens.ID, nil); err != nil {
		return err
	}
	who, err := client.Get(ctx, c, op.Whoami)
	if err != nil {
		return fmt.Errorf("you are signed in at %s, but the server does not let you in: %w", provider.Title, err)
	}
	file, err := signIns(s).Save(server, tokens)
	if err != nil {
		return fmt.Errorf("the sign-in cannot be stored: %w", err)
	}
	s.note("signed in to %s as %s", server, who.Actor)
	if file != "" {
		s.note("no keyring answers here, so the token is in %s, which only you can read", file)
	}
	return show(s, k.output, who, nil, printWhoami)
}

func (k *loginCommand) signIn(ctx context.Context, s *session, provider *wire.SignInProvider) (*login.Tokens, error) {
	prompt := func(address, code string) {
		switch {
		case code != "":
			s.note("open this address on any device and type the code %s:", code)
		case k.NoBrowser:
			s.note("open this address in a browser on this machine:")
		default:
			s.note("a browser opens this address; if none does, open it yourself:")
		}
		fmt.Fprintf(s.err, "\n    %s\n\n", address)
	}
	if k.Device || !k.NoBrowser && !hasDisplay(s) {
		return login.Device(ctx, provider, prompt)
	}
	var open func(string) error
	if !k.NoBrowser {
		open = func(address string) error { return openBrowser(ctx, address) }
	}
	return login.Browser(ctx, provider, open, prompt)
}

// signInServer is the server that login and logout concern.
func signInServer(s *session) (string, error) {
	server := s.globals.Server
	if server == "" {
		server = s.env("TENET_SERVER")
	}
	if server == "" {
		return "", errors.New("name the server with --server or $TENET_SERVER; an embedded database needs no sign-in")
	}
	return strings.TrimRight(server, "/"), nil
}

func chooseProvider(list []wire.SignInProvider, name string) (*wire.SignInProvider, error) {
	if len(list) == 0 {
		return nil, errors.New("the server declares no identity provider; use a key (--key)")
	}
	if name == "" && len(list) == 1 {
		return &list[0], nil
	}
	names := make([]string, len(list))
	for i := range list {
		if names[i] = list[i].Name; names[i] == name {
			return &list[i], nil
		}
	}
	if name == "" {
		return nil, fmt.Errorf("the server declares several identity providers; choose one with --provider: %s", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("the server declares no identity provider %q, but %s", name, strings.Join(names, ", "))
}

// hasDisplay reports whether a browser can be opened here.
func hasDisplay(s *session) bool {
	return runtime.GOOS != "linux" || s.env("DISPLAY") != "" || s.env("WAYLAND_DISPLAY") != ""
}

// openBrowser opens an address in the browser of the person. The address begins with http, so that no program takes it for a flag.
func openBrowser(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		return errors.New("the address is not one for a browser")
	}
	switch runtime.GOOS {
	case "darwin":
		return exec.CommandContext(ctx, "open", address).Start()
	case "windows":
		return exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", address).Start()
	default:
		return exec.CommandContext(ctx, "xdg-open", address).Start()
	}
}

// signIns holds the tokens of this person.
func signIns(s *session) login.Store {
	return login.Store{Dir: filepath.Join(settingsFolder(s.env), "tenet"), NoKeyring: s.env("TENET_NO_KEYRING") != ""}
}

// signedIn returns the token with which the person has signed in to a server, renewed if need be; empty without a sign-in.
func signedIn(ctx context.Context, s *session, server string) (string, error) {
	server = strings.TrimRight(server, "/")
	stored, err := signIns(s).Load(server)
	if err != nil || stored == nil {
		return "", err
	}
	tokens, err := stored.Fresh(ctx, time.Now())
	if err != nil {
		return "", err
	}
	if tokens != stored {
		if _, err := signIns(s).Save(server, tokens); err != nil {
			return "", err
		}
	}
	return tokens.ID, nil
}

type logoutCommand struct{ output }

func (logoutCommand) Help() string {
	return "The token is removed from this machine. You are still signed in at the identity provider; sign out there too."
}

// Run forgets the tokens of a server.
func (k *logoutCommand) Run(s *session) error {
	server, err := signInServer(s)
	if err != nil {
		return err
	}
	if err := signIns(s).Delete(server); err != nil {
		return err
	}
	return noted(s, k.output, ended{"sign_in", server, "forgotten"}, nil, func(e ended) string { return "signed out of " + e.ID + " on this machine" })
}

type whoamiCommand struct {
	output
}

// Run prints the name and the roles of the caller.
func (k *whoamiCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	who, err := client.Get(ctx, c, op.Whoami)
	return show(s, k.output, who, err, printWhoami)
}

func printWhoami(s *session, who wire.Whoami) error {
	fmt.Fprintln(s.out, who.Actor)
	for _, project := range slices.Sorted(maps.Keys(who.Roles)) {
		place := "in project " + project
		if project == everyProject {
			place = "in every project"
		}
		if _, err := fmt.Fprintf(s.out, "  %s %s\n", who.Roles[project], place); err != nil {
			return err
		}
	}
	return nil
}
