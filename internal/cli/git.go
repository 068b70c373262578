package cli

import (
	"context"
	"fmt"
	"path"
	"strings"

	"tenet/internal/git"
)

// maxInput bounds what is read from stdin or a file, in bytes. The server has a limit of its own, which is lower.
const maxInput = 64 << 20

// repository returns the path of the remote origin, such as acme/payments; empty without one.
func repository(ctx context.Context) string { return repositoryOf(ctx, "") }

// repositoryOf is repository for a folder; an empty one is the current folder.
func repositoryOf(ctx context.Context, dir string) string {
	remote, err := git.Repository{Dir: dir}.Output(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return ""
	}
	return repositoryName(strings.TrimSpace(remote))
}

// folderInRepository is where the current folder lies in its repository, such as src/; empty at its root or outside.
func folderInRepository(ctx context.Context) string {
	prefix, err := gitOutput(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return ""
	}
	return strings.TrimRight(prefix, "\r\n")
}

// repositoryName takes the path out of a remote's address, without host, credentials and .git. Of an address in the file
// system it takes the last element: the rest says where somebody keeps it, not what it is.
func repositoryName(remote string) string {
	var name string
	host, after, scp := strings.Cut(remote, ":")
	scheme, address, isURL := strings.Cut(remote, "://")
	switch {
	case isURL && scheme != "file":
		// Text before an @ may be a password, in a malformed address as well.
		_, name, _ = strings.Cut(address[strings.LastIndex(address, "@")+1:], "/")
	case scp && !isURL && !strings.ContainsAny(host, `/\`) && len(host) > 1:
		name = after // user@host:path
	default:
		name = path.Base(strings.TrimRight(strings.ReplaceAll(remote, `\`, "/"), "/"))
	}
	name = strings.TrimSuffix(strings.Trim(name, "/"), ".git")
	if name == "." || name == ".." {
		return ""
	}
	return name
}

// gitOutput runs git in the current folder and returns what it prints. Its error is the first line of what git says about it.
func gitOutput(ctx context.Context, args ...string) (string, error) {
	return git.Repository{}.Output(ctx, args...)
}

func tooLarge(what string) error {
	return fmt.Errorf("%s has more than %d MiB; judge it in parts", what, maxInput>>20)
}
