package importtest

// layer is the height of a package. Arrows point down: a package imports lower layers only, and blocks and surfaces their
// neighbours where their row says so.
type layer int

const (
	nouns      layer = iota // what the system is about; imports the standard library only, and all other packages may import it
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
	"rule":    {layer: nouns},
	"wire":    {layer: nouns, imports: []string{"rule"}},         // the requests and the answers of the API
	"wire/op": {layer: nouns, imports: []string{"rule", "wire"}}, // and its operations
	"text":    {layer: nouns},
	"ledger":  {layer: nouns, imports: []string{"rule"}}, // the law of ALLOW

	"checkpoint":      {layer: block, imports: []string{"audit/tree"}}, // what leaves the machine of a log, and how it is checked
	"evidence/attest": {layer: block, imports: []string{"audit", "audit/tree", "checkpoint", "store"}},
	"evidence/pack":   {layer: block, imports: []string{"audit", "audit/tree", "checkpoint", "rule", "store"}, tests: []string{"evidence"}},
	"witness":         {layer: capability, imports: []string{"checkpoint"}},

	"bundle":       {layer: block, imports: []string{"checkpoint", "rule", "store"}},                           // what was deployed, as a signed file
	"edge":         {layer: block, imports: []string{"bundle", "bundle/place", "checkpoint", "rule", "store"}}, // evaluation from bundles
	"bundle/place": {layer: block, imports: []string{"bundle", "checkpoint", "rule"}},

	"audit":      {layer: block, imports: []string{"audit/tree", "rule", "store", "worker"}},
	"audit/tree": {layer: block},
	"worker":     {layer: block}, // goroutines that stay
	"auth":       {layer: block, imports: []string{"audit", "rule", "store"}},
	"blocks":     {layer: block},
	"change":     {layer: block, imports: []string{"audit", "auth", "corpus", "rule", "store"}},
	"check":      {layer: block, imports: []string{"charset", "code", "diff", "rule", "shell", "subject"}},
	"code":       {layer: block}, // calls, imports and the like of source code
	"config":     {layer: block},
	// What contradicts what is asked of discovery too, of candidates.
	"conflict/contradict": {layer: block, imports: []string{"corpus", "lexicon", "norm", "rule"}},
	"corpus":              {layer: block, imports: []string{"federation", "poll", "rule", "store", "subject", "text"}},
	"discover/assistant":  {layer: block, imports: []string{"blocks", "discover/prose", "discover/source", "rule", "subject"}},
	"discover/comment":    {layer: block, imports: []string{"blocks", "discover/prose", "discover/source", "rule"}},
	"discover/archive":    {layer: block, imports: []string{"rule"}},
	"discover/code":       {layer: block, imports: []string{"discover/source", "lex", "rule"}},
	"discover/exclude":    {layer: block, imports: []string{"discover/policy", "rule", "subject"}},
	"discover/linter":     {layer: block, imports: []string{"discover/source", "lex", "rule", "subject"}},
	"discover/policy":     {layer: block, imports: []string{"blocks", "discover/assistant", "discover/prose", "discover/source", "document/extract", "rule"}},
	"discover/prose":      {layer: block, imports: []string{"blocks", "lexicon", "rule"}},
	"discover/source":     {layer: block, imports: []string{"rule"}},
	"document/extract":    {layer: block, imports: []string{"blocks", "rule"}},
	"evaluate/find":       {layer: block, imports: []string{"audit", "corpus", "job", "rule", "store"}},
	"evaluate/record":     {layer: block, imports: []string{"audit", "auth", "evaluate/find", "job", "rule", "store", "subject"}},
	"federation":          {layer: block, imports: []string{"rule", "store", "subject"}},
	"git":                 {layer: block, imports: []string{"charset", "diff"}},
	"gateway":             {layer: block, imports: []string{"charset", "rule", "text", "wire"}}, // what a call of a tool is to rules, and a refusal
	"gateway/pin":         {layer: block, imports: []string{"rule"}},
	"gateway/relay":       {layer: surface, imports: []string{"client", "gateway", "gateway/pin", "rule", "text", "wire", "worker"}, tests: []string{"app", "config"}},
	"hook":                {layer: block, imports: []string{"gateway", "hook/guard", "report", "rule", "shell", "subject", "wire"}},
	"hook/guard":          {layer: block, imports: []string{"hook/settings", "shell"}}, // what would take the hooks out
	"hook/settings":       {layer: block, imports: []string{"rule"}},
	"job":                 {layer: block, imports: []string{"audit", "rule", "store", "turn"}},
	"judge":               {layer: block, imports: []string{"diff", "judge/probe", "llm", "norm", "redact", "rule", "store", "subject", "turn"}, tests: []string{"catalog"}},
	"judge/probe":         {layer: block, imports: []string{"rule"}}, // control rules, whose answers are known
	"lex":                 {layer: block},
	"rulefile":            {layer: block, imports: []string{"rule", "text", "wire"}, tests: []string{"catalog", "/packs"}}, // rule files: their form, schema and faults
	"poll":                {layer: block},                                                                                  // work that is repeated
	"turn":                {layer: block},                                                                                  // places that groups take by turns
	"telemetry":           {layer: block, imports: []string{"rule"}},                                                       // traces by OpenTelemetry
	"tlsfile":             {layer: block, imports: []string{"rule"}},                                                       // certificates of the server, from files
	"sso":                 {layer: block, imports: []string{"auth", "rule", "store", "text"}},                              // who people are, by identity providers
	"sso/login":           {layer: block, imports: []string{"wire"}},                                                       // signing in from the command line
	"lexicon":             {layer: block},                                                                                  // English words and what they mean, from WordNet
	"lint":                {layer: block, imports: []string{"norm", "rule"}},
	"llm":                 {layer: block, imports: []string{"telemetry"}},
	"llm/provider":        {layer: block, imports: []string{"llm", "rule", "telemetry", "turn"}},
	"metric":              {layer: block},
	"norm":                {layer: block, imports: []string{"corpus", "lexicon", "rule"}}, // one reading of a rule for contradictions, lint and judge
	"redact":              {layer: block, imports: []string{"charset", "diff", "subject"}},
	"report":              {layer: block, imports: []string{"rule"}},
	"review":              {layer: block, imports: []string{"report"}}, // comments beside the lines of pull and merge requests
	"shell":               {layer: block},
	"signature":           {layer: block, imports: []string{"rule"}},
	"store":               {layer: block, imports: []string{"rule"}},
	"store/sqlstore":      {layer: block, imports: []string{"rule", "store", "telemetry"}, tests: []string{"audit", "corpus", "health"}},
	"charset":             {layer: block},
	"diff":                {layer: block, imports: []string{"charset"}},
	"subject":             {layer: block, imports: []string{"charset", "diff", "lex", "rule"}},
	"/packs":              {layer: block, imports: []string{"rule"}, tests: []string{"catalog", "evaluate"}},

	"agent":    {layer: capability, imports: []string{"audit", "auth", "charset", "lint", "llm", "redact", "rule", "subject"}},
	"approval": {layer: capability, imports: []string{"audit", "auth", "corpus", "job", "poll", "rule", "store", "text"}, tests: []string{"api", "app"}},
	"catalog":  {layer: capability, imports: []string{"audit", "auth", "change", "check", "corpus", "lint", "rule", "rulefile", "store", "subject"}},
	"acting":   {layer: capability, imports: []string{"audit", "auth", "rule", "store"}}, // the agents of people
	"conflict": {
		layer:   capability,
		imports: []string{"audit", "auth", "conflict/contradict", "corpus", "job", "llm", "norm", "redact", "rule", "store", "text"},
		tests:   []string{"catalog"},
	},
	"discover": {
		layer:   capability,
		imports: []string{"audit", "auth", "check", "corpus", "discover/archive", "discover/exclude", "discover/source", "job", "llm", "norm", "redact", "rule", "store", "subject"},
		tests:   []string{"catalog", "document"},
	},
	"document": {layer: capability, imports: []string{"audit", "auth", "corpus", "document/extract", "job", "poll", "redact", "rule", "store"}},
	"evaluate": {
		layer:   capability,
		imports: []string{"audit", "auth", "check", "corpus", "diff", "evaluate/find", "evaluate/record", "federation", "job", "judge", "rule", "store", "subject", "telemetry"},
	},
	"health":    {layer: capability, imports: []string{"audit", "auth", "corpus", "federation", "job", "lint", "rule", "store"}},
	"export":    {layer: capability, imports: []string{"audit", "bundle/place", "job", "rule", "store"}},                           // decisions for other systems
	"fleet":     {layer: capability, imports: []string{"audit", "auth", "checkpoint", "rule", "store"}, tests: []string{"health"}}, // the edges of a project
	"hierarchy": {layer: capability, imports: []string{"audit", "auth", "change", "corpus", "federation", "rule", "store", "subject", "text", "wire"}, tests: []string{"catalog"}},
	"ingest":    {layer: capability, imports: []string{"auth", "job", "rule", "signature", "store"}},
	"modeleval": {layer: capability, imports: []string{"rule", "subject", "wire"}},
	"operate":   {layer: capability, imports: []string{"rule", "store"}},
	"queue":     {layer: capability, imports: []string{"audit", "auth", "rule", "store", "text"}},
	"release":   {layer: capability, imports: []string{"audit", "auth", "bundle", "checkpoint", "corpus", "federation", "job", "rule", "store"}, tests: []string{"catalog"}},
	"sandbox": {
		layer:   capability,
		imports: []string{"audit", "auth", "check", "corpus", "job", "lint", "llm", "redact", "rule", "store", "subject"},
		tests:   []string{"evaluate"},
	},
	"search":    {layer: capability, imports: []string{"corpus", "job", "llm", "poll", "redact", "rule", "store"}, tests: []string{"auth", "document"}},
	"evidence":  {layer: capability, imports: []string{"audit", "audit/tree", "checkpoint", "evidence/attest", "job", "poll", "rule", "store"}, tests: []string{"witness"}},
	"privacy":   {layer: capability, imports: []string{"audit", "auth", "rule", "store"}}, // personal data in records
	"retention": {layer: capability, imports: []string{"audit", "auth", "rule", "store"}},
	"trail":     {layer: capability, imports: []string{"audit", "auth", "evaluate/find", "rule", "store"}},
	"watch":     {layer: capability, imports: []string{"audit", "auth", "job", "rule", "store", "subject"}}, // samples of verdicts, judged again
	"webhook":   {layer: capability, imports: []string{"audit", "auth", "job", "rule", "signature", "store", "telemetry"}},

	"api": {
		layer: surface,
		imports: []string{
			"acting", "agent", "api/rest", "approval", "audit", "audit/tree", "auth", "catalog", "checkpoint", "conflict", "corpus", "discover", "document",
			"document/extract", "evaluate", "evidence", "evidence/pack", "fleet", "health", "hierarchy", "ingest", "job", "judge", "lint", "llm", "metric", "operate",
			"privacy", "queue", "release", "retention", "rule", "sandbox", "search", "signature", "sso", "store", "trail", "watch", "webhook",
		},
		tests: []string{"app"},
	},
	"api/rest": {layer: surface, imports: []string{"audit", "auth", "metric", "rule", "store", "text", "telemetry"}},
	"client":   {layer: surface, tests: []string{"api", "app"}},
	"console": {
		layer: surface, imports: []string{"auth", "client", "console/patch", "console/wordmark", "rule", "sso", "store", "telemetry"},
		tests: []string{"app", "audit", "config", "console/browsertest", "store/sqlstore"},
	},
	"console/patch":           {layer: block, imports: []string{"console/wordmark", "diff"}},
	"console/wordmark":        {layer: block},
	"gateway/decide":          {layer: surface, imports: []string{"client", "gateway", "rule"}},
	"gateway/extauthz":        {layer: surface, imports: []string{"client", "gateway", "gateway/decide", "rule"}},
	"gateway/extmcp":          {layer: surface, imports: []string{"client", "gateway", "gateway/decide", "gateway/extmcp/extmcppb", "rule"}},
	"gateway/extmcp/extmcppb": {layer: block},
	"mcp":                     {layer: surface, imports: []string{"client", "rule", "/packs"}, tests: []string{"app", "config"}},

	"app": {
		layer: wiring,
		imports: []string{
			"acting", "agent", "api", "api/rest", "approval", "audit", "auth", "bundle", "bundle/place", "catalog", "change", "check", "checkpoint", "client", "config",
			"conflict", "conflict/contradict", "console", "corpus", "discover", "discover/assistant", "discover/code", "discover/comment", "discover/linter",
			"discover/policy", "discover/source", "document", "edge", "evaluate", "evaluate/find", "evaluate/record", "evidence", "export", "fleet", "gateway/extauthz",
			"gateway/extmcp", "health", "hierarchy", "ingest", "job", "judge", "judge/probe", "llm", "llm/provider", "mcp", "metric", "operate", "privacy", "queue",
			"redact", "release", "retention", "rule", "sandbox", "search", "sso", "store", "store/sqlstore", "subject", "telemetry", "tlsfile", "trail", "watch", "webhook",
			"/packs",
		},
	},

	"cli": {
		layer: command,
		imports: []string{
			"app", "bundle", "bundle/place", "catalog", "charset", "checkpoint", "client", "config", "console/wordmark", "discover/archive", "discover/assistant",
			"discover/exclude", "discover/source", "evidence/attest", "evidence/pack", "gateway", "gateway/pin", "gateway/relay", "git", "health", "hook", "hook/guard",
			"hook/settings", "job", "lint", "mcp", "modeleval", "release", "report", "review", "rule", "rulefile", "sandbox", "sso/login", "store", "subject", "telemetry",
			"tlsfile", "witness",
		},
	},
	"auditor":             {layer: block, imports: []string{"checkpoint", "evidence/attest", "evidence/pack"}, tests: []string{"auditor/auditortest"}},
	"auditor/auditortest": {layer: support, imports: []string{"audit", "audit/tree", "checkpoint", "evidence/attest", "store"}},
	"auditor/page":        {layer: command, tests: []string{"auditor/auditortest", "console/browsertest"}},
	"auditor/wasm":        {layer: command, imports: []string{"auditor"}},
	"mcp/conformance":     {layer: command, imports: []string{"client", "mcp", "rule"}},
	"/cmd/tenet":          {layer: command, imports: []string{"cli"}},
	"/bench":              {layer: command}, // a client like any other: it knows the service by its HTTP API
	"/bench/commands":     {layer: command, imports: []string{"catalog", "check", "subject", "/packs"}},
	"/bench/demo":         {layer: command, imports: []string{"app", "client", "config", "rule", "store/sqlstore"}},
	"/bench/lexicon":      {layer: command},
	"/bench/discovery":    {layer: command, imports: []string{"discover/assistant", "discover/comment", "discover/policy", "discover/prose", "discover/source"}, tests: []string{"discover"}},
	"/sdk/generate":       {layer: command},
	"/bench/checks":       {layer: command, imports: []string{"auth", "check", "evaluate", "judge", "llm", "modeleval", "rule", "sandbox", "store", "store/sqlstore", "subject"}},
	"/bench/triage":       {layer: command, imports: []string{"auth", "check", "corpus", "evaluate", "judge", "ledger", "modeleval", "rule", "store", "subject", "wire"}},
	"/bench/search":       {layer: command, imports: []string{"auth", "corpus", "document", "rule", "search", "store", "store/sqlstore", "wire"}},

	"console/browsertest":   {layer: support},
	"document/documenttest": {layer: support},
	"importtest":            {layer: support},
	"oracletest":            {layer: support, tests: []string{"catalog", "evaluate"}},
	"porttest":              {layer: support},
	"proptest":              {layer: support},
	"wordtest":              {layer: support},
	"judge/judgetest":       {layer: support, imports: []string{"judge/probe", "llm", "llm/llmtest", "rule", "text"}},
	"llm/llmtest":           {layer: support, imports: []string{"llm", "rule"}},
	"sso/dextest":           {layer: support},
	"sso/ssotest":           {layer: support},
	"store/litetest":        {layer: support, imports: []string{"store/sqlstore"}},
	"store/pgtest":          {layer: support, imports: []string{"store/sqlstore"}},
	"store/storetest":       {layer: support, imports: []string{"rule", "store"}},
	"/cases":                {layer: support, tests: []string{"api", "app", "catalog", "cli", "client", "evaluate"}},
	"/e2e":                  {layer: support, tests: []string{"api", "app", "catalog", "checkpoint", "cli", "client", "evaluate", "release"}},
}

// homes says where alone, tests aside, code of others is known. To take another library is then a change of one package.
var homes = map[string][]string{
	"cel.dev/cel-go":                         {"check"},
	"code.dny.dev/ssrf":                      {"webhook"},
	"database/sql":                           {"store/sqlstore", "store/pgtest"},
	"github.com/a-h/templ":                   {"console"},
	"github.com/alecthomas/chroma":           {"console/patch"},
	"github.com/alecthomas/kong":             {"cli"},
	"github.com/alexedwards/scs":             {"console"},
	"github.com/chromedp":                    {"console/browsertest"},
	"github.com/coreos/go-oidc":              {"sso", "sso/login"},
	"github.com/envoyproxy":                  {"gateway/extauthz"},
	"github.com/jackc/pgx":                   {"store/sqlstore", "store/pgtest"},
	"github.com/kljensen/snowball":           {"corpus"},
	"github.com/ledongthuc/pdf":              {"document/extract"},
	"github.com/modelcontextprotocol":        {"mcp", "mcp/conformance"},
	"github.com/owenrumney/go-sarif":         {"report"},
	"github.com/pelletier/go-toml":           {"discover/linter", "redact"},
	"github.com/pressly/goose":               {"store/sqlstore"},
	"github.com/prometheus/client_golang":    {"api", "api/rest", "app", "metric"},
	"github.com/rogpeppe/go-internal":        {"cli", "hook"},
	"github.com/santhosh-tekuri":             {"agent"},
	"github.com/tailscale/hujson":            {"hook/settings"},
	"github.com/yuin/goldmark":               {"blocks"},
	"github.com/zalando/go-keyring":          {"sso/login"},
	"github.com/transparency-dev/formats":    {"checkpoint", "witness"},
	"go.opentelemetry.io":                    {"telemetry"},
	"golang.org/x/mod":                       {"api", "audit/tree", "checkpoint", "cli", "evidence", "witness"},
	"golang.org/x/oauth2":                    {"sso", "sso/login"},
	"golang.org/x/net/html":                  {"blocks"},
	"golang.org/x/text":                      {"blocks", "charset", "code", "corpus", "document/extract"},
	"google.golang.org/grpc":                 {"app", "gateway/extauthz", "gateway/extmcp", "gateway/extmcp/extmcppb"},
	"modernc.org/sqlite":                     {"store/sqlstore"},
	"mvdan.cc/sh":                            {"shell"},
	"github.com/google/go-containerregistry": {"bundle/place"},
}

// vague are names that say nothing about what a package gives.
var vague = map[string]bool{
	"base": true, "common": true, "core": true, "engine": true, "helper": true, "helpers": true, "lib": true, "manager": true,
	"misc": true, "processor": true, "shared": true, "util": true, "utils": true,
}
