package importtest

// layer is the height of a package. Arrows point down: a package imports lower layers only, and blocks and surfaces their
// neighbours where their row says so.
type layer int

const (
	nouns      layer = iota // what the system is about; imports the standard library only
	block                   // one thing done well, ignorant of who needs it
	capability              // a use case; imports no other capability
	surface                 // how callers reach capabilities
	wiring                  // puts everything together
	command                 // what people run
	support                 // for tests, and imported by tests only
)

// row is what one package may import of this module. Packages under internal/ are named without it, others begin
// with a slash.
type row struct {
	layer   layer
	imports []string
	// tests is what its test files may import beside imports, all nouns, blocks and support.
	tests []string
}

// table names every package. A new package gets a row; a new arrow is added here, where a reviewer sees it.
var table = map[string]row{
	"rule": {layer: nouns},

	"audit":      {layer: block, imports: []string{"rule", "store"}},
	"auth":       {layer: block, imports: []string{"audit", "rule", "store"}},
	"check":      {layer: block, imports: []string{"rule", "subject"}},
	"cli/report": {layer: block, imports: []string{"rule"}},
	"config":     {layer: block},
	// What contradicts what is asked of discovery too, of candidates.
	"conflict/contradict": {layer: block, imports: []string{"corpus", "rule"}},
	"corpus":              {layer: block, imports: []string{"federation", "rule", "store", "subject"}},
	"discover/assistant":  {layer: block, imports: []string{"discover/prose", "discover/source", "rule", "subject"}},
	"discover/code":       {layer: block, imports: []string{"discover/source", "rule"}},
	"discover/linter":     {layer: block, imports: []string{"discover/source", "rule", "subject"}},
	"discover/policy":     {layer: block, imports: []string{"discover/assistant", "discover/prose", "discover/source", "document/extract", "rule"}},
	"discover/prose":      {layer: block, imports: []string{"rule"}},
	"discover/source":     {layer: block, imports: []string{"rule"}},
	"document/extract":    {layer: block, imports: []string{"rule"}},
	"federation":          {layer: block, imports: []string{"rule", "store", "subject"}},
	"hook":                {layer: block, imports: []string{"cli/report", "rule", "subject"}},
	"hook/settings":       {layer: block, imports: []string{"rule"}},
	"job":                 {layer: block, imports: []string{"audit", "rule", "store"}},
	"judge":               {layer: block, imports: []string{"llm", "redact", "rule", "store", "subject"}, tests: []string{"catalog"}},
	"lint":                {layer: block, imports: []string{"rule"}},
	"llm":                 {layer: block, imports: []string{"rule"}},
	"llm/provider":        {layer: block, imports: []string{"llm", "rule"}},
	"redact":              {layer: block, imports: []string{"subject"}},
	"signature":           {layer: block, imports: []string{"rule"}},
	"store":               {layer: block, imports: []string{"rule"}},
	"store/sqlstore":      {layer: block, imports: []string{"rule", "store"}},
	"subject":             {layer: block, imports: []string{"rule"}},
	"/packs":              {layer: block, imports: []string{"rule"}, tests: []string{"catalog", "evaluate"}},

	"agent":   {layer: capability, imports: []string{"audit", "auth", "lint", "llm", "redact", "rule", "subject"}},
	"alert":   {layer: capability, imports: []string{"audit", "auth", "corpus", "job", "rule", "store"}},
	"catalog": {layer: capability, imports: []string{"audit", "auth", "check", "corpus", "federation", "rule", "store", "subject"}},
	"conflict": {
		layer:   capability,
		imports: []string{"audit", "auth", "conflict/contradict", "corpus", "job", "llm", "redact", "rule", "store"},
		tests:   []string{"catalog"},
	},
	"discover": {
		layer:   capability,
		imports: []string{"audit", "auth", "check", "corpus", "discover/source", "job", "llm", "redact", "rule", "store", "subject"},
		tests:   []string{"catalog", "document"},
	},
	"document": {layer: capability, imports: []string{"audit", "auth", "corpus", "document/extract", "job", "redact", "rule", "store"}},
	"evaluate": {layer: capability, imports: []string{"audit", "auth", "check", "corpus", "job", "judge", "redact", "rule", "store", "subject"}},
	"ingest":   {layer: capability, imports: []string{"auth", "job", "rule", "signature", "store"}},
	"insight":  {layer: capability, imports: []string{"audit", "corpus", "job", "lint", "rule", "store"}},
	"quality":  {layer: capability, imports: []string{"rule", "subject"}},
	"release":  {layer: capability, imports: []string{"audit", "auth", "corpus", "federation", "job", "rule", "store"}, tests: []string{"catalog"}},
	"sandbox": {
		layer:   capability,
		imports: []string{"audit", "auth", "check", "corpus", "job", "lint", "llm", "redact", "rule", "store", "subject"},
		tests:   []string{"evaluate"},
	},
	"search":  {layer: capability, imports: []string{"corpus", "llm", "redact", "rule", "store"}},
	"webhook": {layer: capability, imports: []string{"audit", "auth", "job", "rule", "signature", "store"}},

	"api": {
		layer: surface,
		imports: []string{
			"agent", "alert", "audit", "auth", "catalog", "conflict", "corpus", "discover", "discover/source", "document",
			"document/extract", "evaluate", "ingest", "insight", "job", "judge", "redact", "release", "rule", "sandbox", "search",
			"signature", "store", "subject", "webhook",
		},
		tests: []string{"app"},
	},
	// The client is typed with the requests and answers of the capabilities behind the API, so that they have one form.
	"client": {
		layer: surface,
		imports: []string{
			"agent", "alert", "audit", "catalog", "conflict", "discover", "discover/source", "document", "evaluate", "insight", "job",
			"release", "rule", "sandbox", "search", "store", "subject", "webhook",
		},
		tests: []string{"api", "app"},
	},
	"mcp": {layer: surface, imports: []string{"catalog", "client", "rule", "/packs"}, tests: []string{"app", "config"}},

	"app": {
		layer: wiring,
		imports: []string{
			"agent", "alert", "api", "audit", "auth", "catalog", "check", "client", "config", "conflict", "conflict/contradict", "corpus",
			"discover", "discover/assistant", "discover/code", "discover/linter", "discover/policy", "discover/source", "document",
			"evaluate", "ingest", "insight", "job", "judge", "llm", "llm/provider", "mcp", "redact", "release", "rule", "sandbox", "search",
			"store", "store/sqlstore", "subject", "webhook", "/packs",
		},
	},

	"cli": {
		layer: command,
		imports: []string{
			"agent", "app", "audit", "catalog", "cli/report", "client", "config", "conflict", "discover", "discover/assistant",
			"discover/source", "document", "evaluate", "hook", "hook/settings", "insight", "job", "lint", "mcp", "quality", "release",
			"rule", "sandbox", "search", "store", "subject", "webhook", "/packs",
		},
	},
	// What programs outside of this module may import.
	"/client":          {layer: command, imports: []string{"agent", "client", "rule", "subject"}, tests: []string{"app", "config"}},
	"mcp/conformance":  {layer: command, imports: []string{"client", "mcp", "rule"}},
	"/cmd/tenet":       {layer: command, imports: []string{"cli"}},
	"/bench":           {layer: command}, // a client like any other: it knows the service by its HTTP API
	"/bench/discovery": {layer: command, imports: []string{"discover/assistant", "discover/policy", "discover/source"}},
	"/bench/search":    {layer: command, imports: []string{"corpus", "rule", "store"}},

	"document/documenttest": {layer: support},
	"importtest":            {layer: support},
	"judge/judgetest":       {layer: support, imports: []string{"llm", "rule"}},
	"store/litetest":        {layer: support, imports: []string{"store/sqlstore"}},
	"store/pgtest":          {layer: support, imports: []string{"store", "store/sqlstore"}},
	"store/storetest":       {layer: support, imports: []string{"rule", "store"}},
	"/cases":                {layer: support, tests: []string{"api", "app", "catalog", "cli", "client", "evaluate"}},
	"/e2e":                  {layer: support, tests: []string{"api", "app", "catalog", "cli", "client", "evaluate", "release"}},
}

// homes says where alone, tests aside, code of others is known. To take another library is then a change of one package.
var homes = map[string][]string{
	"cel.dev/cel-go":                      {"check"},
	"code.dny.dev/ssrf":                   {"webhook"},
	"database/sql":                        {"store/sqlstore", "store/pgtest"},
	"github.com/alecthomas/kong":          {"cli"},
	"github.com/danielgtaylor/huma":       {"api"},
	"github.com/jackc/pgx":                {"store/sqlstore", "store/pgtest"},
	"github.com/kljensen/snowball":        {"corpus"},
	"github.com/ledongthuc/pdf":           {"document/extract"},
	"github.com/modelcontextprotocol":     {"mcp", "mcp/conformance"},
	"github.com/owenrumney/go-sarif":      {"cli/report"},
	"github.com/pelletier/go-toml":        {"discover/linter"},
	"github.com/pressly/goose":            {"store/sqlstore"},
	"github.com/prometheus/client_golang": {"api", "app"},
	"github.com/rogpeppe/go-internal":     {"cli", "hook"},
	"github.com/santhosh-tekuri":          {"agent"},
	"github.com/tailscale/hujson":         {"hook/settings"},
	"github.com/yuin/goldmark":            {"document/extract"},
	"github.com/zricethezav/gitleaks":     {"redact"},
	"golang.org/x/net/html":               {"document/extract"},
	"golang.org/x/text":                   {"corpus", "document/extract"},
	"modernc.org/sqlite":                  {"store/sqlstore"},
}

// vague are names that say nothing about what a package gives.
var vague = map[string]bool{
	"base": true, "common": true, "core": true, "engine": true, "helper": true, "helpers": true, "lib": true, "manager": true,
	"misc": true, "processor": true, "shared": true, "util": true, "utils": true,
}
