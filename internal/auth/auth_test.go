package auth_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
)

func TestRoles(t *testing.T) {
	order := []auth.Role{auth.Public, auth.Viewer, auth.Evaluator, auth.Reviewer, auth.Admin}
	for i, have := range order {
		for j, needed := range order {
			if got, want := have.Allows(needed), j == 0 || (i > 0 && i >= j); got != want {
				t.Errorf("%q may do what needs %q: %v, want %v", have, needed, got, want)
			}
		}
	}
	if auth.Role("root").Allows(auth.Viewer) {
		t.Error("an unknown role may read")
	}
}

func TestMay(t *testing.T) {
	bound := auth.Actor{Role: auth.Reviewer, ProjectID: "a"}
	for _, tt := range []struct {
		who     auth.Actor
		needed  auth.Role
		project string
		want    rule.Code
	}{
		{bound, auth.Reviewer, "a", ""},
		{bound, auth.Admin, "a", rule.CodeForbidden},
		{bound, auth.Viewer, "b", rule.CodeForbidden},
		{bound, auth.Viewer, store.AllProjects, rule.CodeForbidden},
		{auth.Local("me"), auth.Admin, "b", ""},
		{auth.Actor{}, auth.Viewer, "a", rule.CodeForbidden},
	} {
		if got := rule.CodeOf(tt.who.May(tt.needed, tt.project)); got != tt.want {
			t.Errorf("%+v on %s of %q: %q, want %q", tt.who, tt.needed, tt.project, got, tt.want)
		}
	}
}

func TestActorOfAnEmptyContextMayNothing(t *testing.T) {
	if who := auth.ActorFrom(t.Context()); who.May(auth.Viewer, "default") == nil {
		t.Errorf("%+v may read", who)
	}
}

// keys is a Keys on a fresh store with the project default, and its clock.
func keys(t *testing.T) (*auth.Keys, store.Store, *time.Time) {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	err = s.Update(t.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: rule.DefaultProject, Name: "d", CreatedAt: now, UpdatedAt: now})
	})
	if err != nil {
		t.Fatal(err)
	}
	return auth.NewKeys(s, s.Keys, func() time.Time { return now }), s, &now
}

func TestKeysLiveAndEnd(t *testing.T) {
	k, s, now := keys(t)
	ctx := auth.WithActor(t.Context(), auth.Local("ann"))
	if required, err := k.Required(ctx); err != nil || required {
		t.Fatalf("without any key: required %v, %v", required, err)
	}
	end := now.Add(time.Hour)
	short, shortSecret, err := k.Create(ctx, auth.NewKey{ProjectID: "default", Name: "short", Role: auth.Viewer, ExpiresAt: &end})
	if err != nil {
		t.Fatal(err)
	}
	long, secret, err := k.Create(ctx, auth.NewKey{ProjectID: store.AllProjects, Name: "long", Role: auth.Admin})
	if err != nil || !auth.IsSecret(secret) || secret == shortSecret {
		t.Fatalf("secret %q, %v", secret, err)
	}
	if required, err := k.Required(ctx); err != nil || !required {
		t.Errorf("with keys: required %v, %v", required, err)
	}
	if who, err := k.Authenticate(ctx, secret); err != nil || who != (auth.Actor{Name: "key:long", Role: auth.Admin, ProjectID: store.AllProjects, KeyID: long.ID}) {
		t.Errorf("the actor of the key: %+v, %v", who, err)
	}
	if _, err := k.Authenticate(ctx, shortSecret); err != nil {
		t.Errorf("before its end: %v", err)
	}
	*now = end
	refused := func(about, secret string) {
		t.Helper()
		if _, err := k.Authenticate(ctx, secret); rule.CodeOf(err) != rule.CodeUnauthenticated {
			t.Errorf("%s: %v, want unauthenticated", about, err)
		}
	}
	refused("an expired key", shortSecret)
	refused("an unknown key", auth.NewSecret())
	refused("no key at all", "")
	refused("a hash instead of a secret", long.Hash)
	if err := k.Revoke(ctx, store.AllProjects, long.ID); err != nil {
		t.Fatal(err)
	}
	refused("a revoked key, at once", secret)
	if required, err := k.Required(ctx); err != nil || !required {
		t.Errorf("with an expired key only: required %v, %v; the server would stand open", required, err)
	}
	if err := k.Revoke(ctx, "default", short.ID); err != nil {
		t.Fatal(err)
	}
	if required, err := k.Required(ctx); err != nil || required {
		t.Errorf("with revoked keys only: required %v, %v", required, err)
	}
	list, err := s.Keys.List(ctx, "default")
	if err != nil || len(list) != 1 || list[0].ID != short.ID || strings.Contains(list[0].Hash, shortSecret[4:]) {
		t.Errorf("stored keys %+v, %v", list, err)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	k, _, now := keys(t)
	past := now.Add(-time.Second)
	for _, n := range []auth.NewKey{
		{ProjectID: "default", Role: auth.Viewer},
		{ProjectID: "default", Name: "x", Role: "root"},
		{ProjectID: "default", Name: "x"},
		{ProjectID: "default", Name: "x", Role: auth.Viewer, ExpiresAt: &past},
	} {
		if _, _, err := k.Create(t.Context(), n); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%+v: %v, want invalid", n, err)
		}
	}
	if _, _, err := k.Create(t.Context(), auth.NewKey{ProjectID: "none", Name: "x", Role: auth.Viewer}); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("a key of no project: %v, want not_found", err)
	}
}
