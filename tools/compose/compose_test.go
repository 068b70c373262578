// Package compose reads the compose file of the repository as docker compose does.
package compose

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const file = "../../deploy/compose.yaml"

// load reads the file with a profile and an environment.
func load(t *testing.T, profile string, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env), cli.WithProfiles([]string{profile}))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// The file is valid by the schema of compose, dex starts only on demand, and the server can write nowhere but in its volume.
func TestTheFileIsValid(t *testing.T) {
	for profile, want := range map[string]string{"": "database tenet", "dex": "database dex tenet"} {
		project, err := load(t, profile, "POSTGRES_PASSWORD=p", "TENET_FIRST_KEY=k", "TENET_DEX_SECRET=s", "TENET_DEX_HASH=h")
		if err != nil {
			t.Fatalf("profile %q: %v", profile, err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(project.Services)), " "); got != want {
			t.Errorf("profile %q starts %s, want %s", profile, got, want)
		}
		server := project.Services["tenet"]
		if !server.ReadOnly || !slices.Equal(server.CapDrop, []string{"ALL"}) || server.HealthCheck == nil || server.DependsOn["database"].Condition != "service_healthy" {
			t.Errorf("the server: read-only %t, without %v, checked %v, after %v", server.ReadOnly, server.CapDrop, server.HealthCheck, server.DependsOn)
		}
		for _, port := range server.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("port %d is open to %q", port.Target, port.HostIP)
			}
		}
	}
}

// Without a secret nothing starts, and the error says which one is missing.
func TestSecretsAreNeeded(t *testing.T) {
	for missing, env := range map[string]string{"POSTGRES_PASSWORD": "TENET_FIRST_KEY=k", "TENET_FIRST_KEY": "POSTGRES_PASSWORD=p"} {
		if _, err := load(t, "", env); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}
