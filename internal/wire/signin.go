package wire

// SignInWays are the ways in which people can sign in.
type SignInWays struct {
	Providers []SignInProvider `json:"providers" doc:"Identity providers, in the order in which they are declared."`
	Keys      bool             `json:"keys" doc:"Whether callers must say who they are; otherwise everybody who reaches the server is its administrator."`
}

// SignInProvider is an identity provider that speaks OpenID Connect.
type SignInProvider struct {
	Name        string   `json:"name" doc:"Name, which begins the names of its people in records." example:"corp"`
	Title       string   `json:"title" doc:"Name for people."`
	Issuer      string   `json:"issuer" doc:"Address whose discovery document describes it." example:"https://login.example.com"`
	CLIClientID string   `json:"cli_client_id,omitempty" doc:"Public client for the command line; absent if it is not offered there."`
	Scopes      []string `json:"scopes" doc:"Scopes to ask for."`
}

// Whoami is who a caller is.
type Whoami struct {
	Actor  string            `json:"actor" doc:"Name in records." example:"corp:ann@example.com"`
	Roles  map[string]string `json:"roles" doc:"Role by project; * is every project."`
	KeyID  string            `json:"key_id,omitempty" doc:"Key that the caller has presented; absent for people and for the local user."`
	Person string            `json:"person,omitempty" doc:"Person behind the caller: the one who has signed in, or the owner of the key; absent if nobody is named." example:"corp:ann@example.com"`
	Agent  string            `json:"agent,omitempty" doc:"Agent that the key or the token names; absent for people and services."`
	// Limits is nil for callers who may do all that their role allows.
	Limits *KeyLimits `json:"limits,omitempty" doc:"Limits of the key within its role; absent if it has none."`
}
