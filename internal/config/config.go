// Package config holds the settings of a Tenet node. A flag wins over an environment variable TENET_*, that over
// tenet.yaml, that over the default. Unknown keys and malformed values are refused.
package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Config is a node's settings. Each field's tags give its key in tenet.yaml, its default and its meaning; the environment
// variable is TENET_ and the key in upper case.
type Config struct {
	Listen        string        `key:"listen" default:"127.0.0.1:8080" doc:"Address to listen on. Without API keys it must be a loopback address."`
	Data          string        `key:"data" default:"" doc:"Folder of the embedded SQLite database. Empty: the user's data folder."`
	DatabaseURL   string        `key:"database_url" default:"" doc:"PostgreSQL address (postgres://...). Empty: embedded SQLite."`
	ReadURLs      string        `key:"read_urls" default:"" doc:"Addresses (postgres://...) of replicas of database_url, with commas between. Lists, figures and exports of records are read there while a replica is at most read_staleness behind. Empty: all is read at database_url."`
	ReadStaleness time.Duration `key:"read_staleness" default:"5s" doc:"How far a replica may be behind to answer reads. Callers see what they have changed themselves through this server at once."`
	NoSeed        bool          `key:"no_seed" default:"false" doc:"Start the first time with an empty corpus instead of the starter packs."`

	JudgeModel     string        `key:"judge_model" default:"" doc:"Model that judges what checks leave open, as provider:model, such as openai:gpt-5-mini. Several with commas between: each is asked where those before it are unavailable. Empty: no model."`
	ConfirmModel   string        `key:"confirm_model" default:"" doc:"Model that confirms denials of CRITICAL rules, as provider:model. Empty: the judge looks a second time."`
	JudgeProfile   string        `key:"judge_profile" default:"large" doc:"How the judge's model is asked: large (up to ten rules a call), or small (one rule a call, in a short form, for models of few billion parameters). For single models, with commas between: ollama:qwen3:1.7b=small,large. Of several models the first one counts. tenet model check measures which profile suits a model."`
	JudgeTimeout   time.Duration `key:"judge_timeout" default:"30s" doc:"Time limit of one call to the model."`
	JudgeTotal     time.Duration `key:"judge_total_timeout" default:"" doc:"Time limit of all calls to the model for one evaluation, waiting for their turn and repairs included; triage before it may take half as long. Empty: three times judge_timeout, and at least 90s."`
	JudgeParallel  int           `key:"judge_parallel" default:"32" doc:"Calls to the model that may run at once."`
	JudgeTokens    int           `key:"judge_max_tokens" default:"0" doc:"Tokens of input that one evaluation may send to the model, by an estimate of four bytes a token; 0 means no limit. What would go beyond is not asked, and named in coverage."`
	JudgeSamples   float64       `key:"judge_samples" default:"0.01" doc:"How many of the verdicts of checks, and of the rules that triage rules out, the model judges too after the evaluation, to see how often they are wrong; 0 for none. At most 2 of one evaluation and 500 a day of a project."`
	CacheMemory    int64         `key:"cache_memory" default:"67108864" doc:"Memory for stored verdicts, in bytes, by estimate."`
	CacheMaxMB     int64         `key:"cache_max_mb" default:"256" doc:"Stored verdicts of one project in the database, in MiB of text; the oldest go first."`
	ModelPrices    string        `key:"model_prices" default:"" doc:"Prices of models per million tokens of input, output and cached input, with commas between, such as openai:gpt-5-mini=0.25/2.00/0.025. Usage then shows cost."`
	PriceCurrency  string        `key:"price_currency" default:"USD" doc:"Currency of model_prices."`
	EmbeddingModel string        `key:"embedding_model" default:"" doc:"Model that makes vectors for search, as provider:model, such as openai:text-embedding-3-small. Empty: search by words alone."`

	RecordSubjects      string        `key:"record_subjects" default:"redacted" doc:"What the record of an evaluation keeps of the subject: redacted (without its secrets), full, or none. Without it, a record cannot be replayed."`
	RecordRetention     int           `key:"record_retention" default:"0" doc:"Days after which the records of evaluations are removed from the audit chain, which stays whole; 0 keeps them without limit."`
	ScanRetention       int           `key:"scan_retention" default:"180" doc:"Days after which what a scan has found and nobody has made a rule of is deleted, with the text round it; 0 keeps it without limit. Rules keep their sources, and decisions are remembered."`
	AuditFolder         string        `key:"audit_folder" default:"" doc:"Folder, outside of the database, of the key that signs checkpoints of the audit logs, and of the last checkpoints. Empty: audit in the data folder; with database_url, no checkpoints."`
	AuditOrigin         string        `key:"audit_origin" default:"" doc:"Name of the audit logs, such as example.com/tenet, to which that of the project is added. Empty: the one in the file of the key."`
	AuditSigner         string        `key:"audit_signer" default:"" doc:"Command that signs checkpoints with a key that is elsewhere, with its first arguments. Needs audit_origin. Empty: the key in audit_folder."`
	AuditCheckpoint     time.Duration `key:"audit_checkpoint" default:"30s" doc:"Interval at which the audit logs that have grown get a checkpoint. They also get one after a deployment and at shutdown."`
	AuditPublish        string        `key:"audit_publish" default:"" doc:"Where checkpoints go, with commas between: stdout, file:PATH (appended to), folder:PATH (a file each), s3://BUCKET/PREFIX (an object each), and addresses that get them by POST."`
	AuditPolicy         string        `key:"audit_policy" default:"" doc:"File (C2SP tlog-policy) of the witnesses that cosign checkpoints, and of the quorum of them. Empty: none are asked."`
	AuditPage           string        `key:"audit_page" default:"" doc:"File of the page for auditors, tenet-auditor.html of a release, that is served at /audit/page. Empty: the file of that name beside the program or in share/tenet of where it is installed, if there is one."`
	PrivacyKeyFile      string        `key:"privacy_key_file" default:"" doc:"File with the key that encrypts the keys of people, under which records hold personal data; all nodes need copies of one file. Empty: privacy.key in the data folder, which is made at its first use; with database_url, none."`
	Export              string        `key:"export" default:"" doc:"Where decisions go, with commas between: file:PATH and s3://BUCKET/PREFIX (Parquet files), nats://HOST:PORT/SUBJECT (JetStream), kafka://HOST:PORT/TOPIC (several brokers with + between). Empty: nowhere."`
	ExportEvery         time.Duration `key:"export_every" default:"1m" doc:"Interval at which new decisions are exported."`
	SubmissionRetention time.Duration `key:"submission_retention" default:"168h" doc:"How long a repeated submission id or idempotency key gets the answer of its first request."`

	RESTPrefix        string        `key:"rest_prefix" default:"/rest" doc:"Path under which agents are served as REST routes, in addition to /agent, such as /rest; off for none."`
	AgentsFile        string        `key:"agents_file" default:"" doc:"YAML file that declares more agents. Empty: the built-in ones alone."`
	SessionCount      int           `key:"session_count" default:"2000" doc:"Conversations with agents that a node remembers, of all callers; those not used for longest go first."`
	SessionAge        time.Duration `key:"session_age" default:"1h" doc:"Time after its last exchange at which a node forgets a conversation with an agent."`
	Console           bool          `key:"console" default:"true" doc:"Serve the web console."`
	ConsoleSessionAge time.Duration `key:"console_session_age" default:"12h" doc:"Time after which people must sign in to the console again."`
	PublicURL         string        `key:"public_url" default:"" doc:"Address at which browsers reach the server, such as https://tenet.example.com. Identity providers send people back there. Empty: the address of each request."`
	SSOFile           string        `key:"sso_file" default:"" doc:"YAML file of the identity providers (OpenID Connect) at which people sign in, and of the roles of their groups. Empty: people sign in with keys."`
	SSORecheck        time.Duration `key:"sso_recheck" default:"30m" doc:"Time after which a session of the console asks the identity provider whether the person is still signed in there."`
	MCP               bool          `key:"mcp" default:"true" doc:"Serve the Model Context Protocol at /mcp."`

	GRPCListen  string `key:"grpc_listen" default:"" doc:"Address on which gateways ask over gRPC (agentgateway's ExtMcp, Envoy's ext_authz), such as 127.0.0.1:8082; a port alone is on 127.0.0.1. Empty: they cannot. Without API keys it must be a loopback address."`
	GRPCHeaders string `key:"grpc_headers" default:"" doc:"Headers of HTTP requests that rules can read as facts.headers when a proxy asks by ext_authz, with commas between, such as content-type,x-tenant. Those that carry secrets are refused."`

	FirstKey string `key:"first_key" secret:"true" default:"" doc:"API key (tnt_ and 43 characters) that is made for an administrator where no key was ever made, for servers that nobody logs in to. Empty: tenet keys create makes the first."`

	TLSCert       string `key:"tls_cert" default:"" doc:"File of the server's certificate in PEM, with those between it and its authority. The server then speaks TLS only, also on grpc_listen. A new one is used within seconds, without a restart."`
	TLSKey        string `key:"tls_key" default:"" doc:"File of the private key of tls_cert, in PEM."`
	TLSClientCA   string `key:"tls_client_ca" default:"" doc:"File of the authorities, in PEM, whose certificates clients must present. /health and /ready answer without one. Empty: none is asked for."`
	TLSMinVersion string `key:"tls_min_version" default:"1.2" doc:"Least version of TLS: 1.2 or 1.3."`

	TrustedProxies string `key:"trusted_proxies" default:"" doc:"Networks of proxies before the server, with commas between, such as 10.1.0.0/16. X-Forwarded-For and X-Forwarded-Proto count only where they come from them: they name the client, by which keys with networks count, and say that browsers use TLS."`

	MaxBody       int64   `key:"max_body" default:"10485760" doc:"Largest request body, in bytes."`
	MaxImportBody int64   `key:"max_import_body" default:"67108864" doc:"Largest body of a rule import, in bytes."`
	MaxDocument   int64   `key:"max_document" default:"52428800" doc:"Largest uploaded document, in bytes."`
	RateLimit     float64 `key:"rate_limit" default:"0" doc:"Requests per second that one key may make; 0 means no limit."`
	RateBurst     int     `key:"rate_burst" default:"50" doc:"Requests that one key may make at once above the rate limit."`

	PollInterval time.Duration `key:"poll_interval" default:"250ms" doc:"Interval at which a node looks for changes by other nodes."`
	ViewMemory   int64         `key:"view_memory" default:"4294967296" doc:"Memory for the rules of all projects, in bytes, by estimate; projects not used for longest are dropped from memory beyond it."`
	JobWorkers   int           `key:"job_workers" default:"16" doc:"Background jobs that a node runs at once."`
	JobLease     time.Duration `key:"job_lease" default:"15s" doc:"Time after which another node takes the background jobs of a dead one; the clocks of nodes must differ by less."`
	JobKeep      time.Duration `key:"job_keep" default:"168h" doc:"Time after which ended background jobs are deleted."`

	Alerts           bool    `key:"alerts" default:"true" doc:"Raise alerts about rules, and count evaluations in the background. Without it, insights are counted when they are read."`
	AlertDormantDays int     `key:"alert_dormant_days" default:"90" doc:"Days without a verdict after which a rule is dormant."`
	AlertDenyRate    float64 `key:"alert_deny_rate" default:"0.5" doc:"Share of DENY among the verdicts of a rule, from 0 to 1, above which an alert is raised."`
	AlertDenyDays    int     `key:"alert_deny_days" default:"7" doc:"Days over which that share is computed, today included, in UTC."`
	AlertDenyMin     int     `key:"alert_deny_min" default:"20" doc:"Verdicts that a rule must have in those days."`
	AlertHealthDrop  int     `key:"alert_health_drop" default:"15" doc:"Points by which the health score of a rule must fall from one measurement to the next for an alert."`
	AlertAutoResolve bool    `key:"alert_auto_resolve" default:"true" doc:"Resolve an alert once its condition has ended. Otherwise only people do."`
	AlertQuietDays   int     `key:"alert_quiet_days" default:"7" doc:"Days for which a condition raises no other alert after a person has resolved its alert."`

	WebhookAllowNetworks string        `key:"webhook_allow_networks" default:"" doc:"Networks that webhooks may reach although they are not on the public internet, with commas between, such as 10.1.0.0/16,fd00::/8."`
	WebhookRetention     time.Duration `key:"webhook_retention" default:"168h" doc:"Time after which ended webhook deliveries are deleted."`

	IngestProject      string        `key:"ingest_project" default:"default" doc:"Project of the changes that other systems send."`
	IngestSecret       string        `key:"ingest_secret" secret:"true" default:"" doc:"Secret (whsec_...) of submissions to /api/v1/gateway/ingest/generic. Empty: all are refused."`
	IngestGitHubSecret string        `key:"ingest_github_secret" secret:"true" default:"" doc:"Secret of GitHub's webhooks, sent to /api/v1/gateway/ingest/github. Empty: all are refused."`
	GitHubURL          string        `key:"github_url" default:"https://api.github.com" doc:"Address of GitHub's API, from which the diffs of pull requests are fetched."`
	GitHubToken        string        `key:"github_token" secret:"true" default:"" doc:"Token that may read pull requests. Empty: only those of public repositories."`
	HookTimeout        time.Duration `key:"hook_timeout" default:"10s" doc:"Longest time that tenet hook takes for its answer. For agents it is capped at 25s, since these wait for 30s; the flag --timeout allows more."`
	HookFail           string        `key:"hook_fail" default:"CRITICAL=closed,HIGH=ask,MEDIUM=ask,LOW=open" doc:"What tenet hook answers where a rule of a severity could not be judged: closed denies, ask asks the person, open lets it pass and says so. One word sets all severities. Where nothing at all could be judged, the strictest counts. Set on a server, it is the least of every project's policy."`
	HookApproval       string        `key:"hook_approval" default:"off" doc:"What tenet hook does with what needs confirmation: off leaves it to the tool, which asks the person there; ask asks people for an approval on the server, prints its address and stops; wait also waits for it, within hook_timeout."`
	HookSelf           string        `key:"hook_self" default:"ask" doc:"What the hooks of agents answer to an act that would take Tenet's own walls out, such as a change of their settings or git commit --no-verify: ask asks the person, deny denies. Nothing lets it pass."`

	Undecided string `key:"undecided" default:"CRITICAL=fail,HIGH=fail,MEDIUM=warn,LOW=warn" doc:"What tenet check and the hooks of git do about a rule that nothing could decide, for want of a model or a fact: fail, warn lets it pass and says so, pass lets it pass. One word sets all severities. What could not be examined of the subject always fails."`

	LogLevel  string `key:"log_level" default:"info" doc:"Least level that is logged: debug, info, warn or error."`
	LogFormat string `key:"log_format" default:"text" doc:"Format of the log: text or json."`
	AccessLog bool   `key:"access_log" default:"true" doc:"Log each request that is answered, with its id and without its query."`

	read *reading // where the values come from; nil for a Config that was not read
}

// Setting describes one setting for documentation and flags.
type Setting struct {
	Key, Env, Default, Doc string
	// Secret settings are shown to nobody.
	Secret bool

	field int
}

// Settings lists all settings in the order of the struct.
func Settings() []Setting {
	t := reflect.TypeFor[Config]()
	list := make([]Setting, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key, ok := tag.Lookup("key")
		if !ok {
			continue
		}
		list = append(list, Setting{
			Key: key, Env: "TENET_" + strings.ToUpper(key), Default: tag.Get("default"), Doc: tag.Get("doc"), Secret: tag.Get("secret") == "true", field: i,
		})
	}
	return list
}

// maxFile bounds the size of tenet.yaml.
const maxFile = 1 << 20

// Load reads the settings: defaults, then the file (none if path is empty), then the environment, then flags by key.
func Load(path string, env func(string) string, flags map[string]string) (Config, error) {
	data, err := readFile(path)
	if err != nil {
		return Config{}, err
	}
	return Read(path, data, env, flags)
}

// Read is Load for the content of a settings file, which errors name by its path and line. The error lists all that is wrong, a line for each.
func Read(path string, data []byte, env func(string) string, flags map[string]string) (Config, error) {
	var c Config
	v := reflect.ValueOf(&c).Elem()
	file, wrong := parse(path, data)
	if file == nil {
		return c, errors.Join(wrong...)
	}
	c.read = &reading{file: path, from: map[string]origin{}}
	unread := map[string]bool{} // settings whose values cannot be read; they have their defaults
	for _, s := range Settings() {
		value, at := s.Default, origin{Default, "default of " + s.Key}
		if f, ok := file[s.Key]; ok {
			value, at = f, origin{File, path + ": " + s.Key}
			delete(file, s.Key)
		}
		if e := env(s.Env); e != "" {
			value, at = e, origin{Environment, s.Env}
		}
		if f, ok := flags[s.Key]; ok {
			value, at = f, origin{Flag, "--" + strings.ReplaceAll(s.Key, "_", "-")}
		}
		c.read.from[s.Key] = at
		if value == "" && s.Default == "" {
			continue // it stays empty
		}
		if err := assign(v.Field(s.field), value); err != nil {
			shown := strconv.Quote(value)
			if s.Secret {
				shown = "the value"
			}
			name := at.name
			if at.source == File {
				name = place(path, data, s.Key) + ": " + s.Key
			}
			wrong = append(wrong, fmt.Errorf("%s: %s %w", name, shown, err))
			unread[s.Key] = true
			if err := assign(v.Field(s.field), s.Default); err != nil {
				return c, fmt.Errorf("the default of %s: %w", s.Key, err)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		err := fmt.Errorf("%s: unknown setting %q", place(path, data, key), key)
		if meant := nearest(key); meant != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, meant)
		}
		wrong = append(wrong, err)
	}
	if c.GRPCListen != "" && !strings.Contains(c.GRPCListen, ":") {
		c.GRPCListen = "127.0.0.1:" + c.GRPCListen
	}
	for _, err := range c.validate() {
		keys := keysOf(err)
		if slices.ContainsFunc(keys, func(key string) bool { return unread[key] }) {
			continue // said above
		}
		if at := slices.IndexFunc(keys, func(key string) bool { return c.read.from[key].source == File }); at >= 0 {
			err = fmt.Errorf("%s: %w", place(path, data, keys[at]), err)
		}
		wrong = append(wrong, err)
	}
	return c, errors.Join(wrong...)
}

// Located returns an error that begins with the name of a setting, such as "tls_cert: ...", with the file and the line that set it before it. It
// returns the error itself if no file did.
func (c Config) Located(err error) error {
	for _, key := range keysOf(err) {
		if c.read == nil || c.read.from[key].source != File {
			continue
		}
		data, unread := os.ReadFile(c.ReadFrom())
		if unread != nil {
			return err
		}
		return fmt.Errorf("%s: %w", place(c.ReadFrom(), data, key), err)
	}
	return err
}

// keysOf returns the settings that an error of validate begins with, such as "tls_cert and tls_key: set both, or neither".
func keysOf(err error) []string {
	keys, _, _ := strings.Cut(err.Error(), ":")
	return strings.FieldsFunc(strings.ReplaceAll(keys, " and ", " "), func(r rune) bool { return r == ' ' || r == ',' })
}

// place is the path of a settings file with the line of a setting.
func place(path string, data []byte, key string) string {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		name, _, ok := bytes.Cut(line, []byte(":"))
		if ok && strings.Trim(strings.TrimSpace(string(name)), `"'`) == key {
			return fmt.Sprintf("%s:%d", path, n)
		}
	}
	return path
}

// nearest returns the setting whose key a wrong one is most like; empty if it is like none.
func nearest(key string) string {
	best, least := "", len(key)/3+1
	for _, s := range Settings() {
		if d := distance(key, s.Key); d < least {
			best, least = s.Key, d
		}
	}
	return best
}

// distance counts the bytes to insert, remove or change to turn one text into another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// parse reads settings by their keys, which are nil if the file is no YAML, and lists those that are no plain values.
func parse(path string, data []byte) (map[string]string, []error) {
	values := map[string]any{}
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, []error{fmt.Errorf("%s: %w", path, err)}
	}
	out := make(map[string]string, len(values))
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch value := values[key].(type) {
		case string, bool, int, int64, uint64, float64:
			out[key] = fmt.Sprint(value)
		default:
			wrong = append(wrong, fmt.Errorf("%s: %s must be a plain value", place(path, data, key), key))
		}
	}
	return out, wrong
}

func assign(field reflect.Value, value string) error {
	switch field.Interface().(type) {
	case string:
		field.SetString(value)
	case bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("is not true or false")
		}
		field.SetBool(b)
	case int, int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return errors.New("is not a whole number of 0 or more")
		}
		field.SetInt(n)
	case float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || x < 0 {
			return errors.New("is not a number of 0 or more")
		}
		field.SetFloat(x)
	case time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return errors.New("is not a duration such as 30s or 250ms")
		}
		field.SetInt(int64(d))
	}
	return nil
}

// validate returns what is wrong beyond single values.
func (c *Config) validate() (wrong []error) {
	if _, err := c.Level(); err != nil {
		wrong = append(wrong, err)
	}
	upTo := func(most, n int) bool { return n >= 1 && n <= most }
	first := strings.Split(c.RESTPrefix+"/", "/")[1]
	if _, err := c.Prices(); err != nil {
		wrong = append(wrong, err)
	}
	for _, check := range []struct {
		ok      bool
		problem string
	}{
		{isAddress(c.Listen), fmt.Sprintf("listen: %q is not an address such as 127.0.0.1:8080", c.Listen)},
		{c.GRPCListen == "" || isAddress(c.GRPCListen), fmt.Sprintf("grpc_listen: %q is not an address such as 127.0.0.1:8082", c.GRPCListen)},
		{c.LogFormat == "text" || c.LogFormat == "json", fmt.Sprintf("log_format: %q is not text or json", c.LogFormat)},
		{
			c.DatabaseURL == "" || strings.HasPrefix(c.DatabaseURL, "postgres://") || strings.HasPrefix(c.DatabaseURL, "postgresql://"),
			"database_url: must begin with postgres://",
		},
		{c.ReadURLs == "" || c.DatabaseURL != "", "read_urls: are replicas of database_url, which is not set"},
		{c.ReadStaleness >= 100*time.Millisecond && c.ReadStaleness <= time.Minute, "read_staleness: must be between 100ms and 1m"},
		{min(c.MaxBody, c.MaxImportBody, c.MaxDocument) >= 1024, "max_body, max_import_body and max_document: must be at least 1024"},
		{c.JudgeTotal == 0 || c.JudgeTotal >= c.JudgeTimeout, "judge_total_timeout: must be at least judge_timeout"},
		{profilesForm.MatchString(c.JudgeProfile), fmt.Sprintf("judge_profile: %q is not large or small, or a list such as ollama:qwen3:1.7b=small,large", c.JudgeProfile)},
		{c.JudgeSamples >= 0 && c.JudgeSamples <= 1, "judge_samples: must be from 0 to 1"},
		{max(c.JudgeTimeout, c.JudgeTotal) <= time.Hour, "judge_timeout and judge_total_timeout: must be at most 1h"},
		{upTo(1000, c.JobWorkers), "job_workers: must be between 1 and 1000"},
		{c.JobLease >= time.Second, "job_lease: must be at least 1s"},
		{c.ExportEvery >= time.Second, "export_every: must be at least 1s"},
		{
			slices.Contains([]string{"redacted", "full", "none"}, c.RecordSubjects),
			fmt.Sprintf("record_subjects: %q is not redacted, full or none", c.RecordSubjects),
		},
		{upTo(36500, c.AlertDormantDays), "alert_dormant_days: must be between 1 and 36500"},
		{upTo(36500, c.AlertQuietDays), "alert_quiet_days: must be between 1 and 36500"},
		{c.AlertDenyRate > 0 && c.AlertDenyRate <= 1, "alert_deny_rate: must be above 0 and at most 1"},
		{upTo(400, c.AlertDenyDays), "alert_deny_days: must be between 1 and 400"},
		{c.AlertDenyMin >= 1, "alert_deny_min: must be at least 1"},
		{upTo(100, c.AlertHealthDrop), "alert_health_drop: must be between 1 and 100"},
		{c.SessionCount >= 1, "session_count: must be at least 1"},
		{c.RESTPrefix == "off" || prefixForm.MatchString(c.RESTPrefix), fmt.Sprintf("rest_prefix: %q is not a path such as /rest, nor off", c.RESTPrefix)},
		{!slices.Contains(reservedPaths, first), fmt.Sprintf("rest_prefix: /%s is in use; choose another path, or off", first)},
		{
			c.PublicURL == "" || publicForm.MatchString(c.PublicURL),
			fmt.Sprintf("public_url: %q is not an address such as https://tenet.example.com, without a path", c.PublicURL),
		},
		{c.AuditCheckpoint >= time.Second, "audit_checkpoint: must be at least 1s"},
		{c.AuditSigner == "" || c.AuditOrigin != "", "audit_signer: needs audit_origin"},
		{c.RecordRetention <= 36500, "record_retention: must be at most 36500 days"},
		{(c.TLSCert == "") == (c.TLSKey == ""), "tls_cert and tls_key: set both, or neither"},
		{c.TLSClientCA == "" || c.TLSCert != "", "tls_client_ca: needs tls_cert and tls_key"},
		{c.TLSMinVersion == "1.2" || c.TLSMinVersion == "1.3", fmt.Sprintf("tls_min_version: %q is not 1.2 or 1.3", c.TLSMinVersion)},
		{len(c.PriceCurrency) >= 1 && len(c.PriceCurrency) <= 10, "price_currency: must have 1 to 10 characters, such as USD"},
		{
			len(c.secretHeaders()) == 0,
			"grpc_headers: " + strings.Join(c.secretHeaders(), ", ") + " must not be a fact: names of headers have lower-case letters, digits and -, and none that carry secrets are taken",
		},
		{c.ScanRetention <= 36500, "scan_retention: must be at most 36500 days"},
	} {
		if !check.ok {
			wrong = append(wrong, errors.New(check.problem))
		}
	}
	return wrong
}

// isAddress reports whether a server can listen at an address: a host, which may be empty, and a port, which is a number up to 65535 or the name of
// a service that the system knows.
func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return false
	}
	_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	return err == nil
}

// profilesForm is the form of judge_profile.
var profilesForm = regexp.MustCompile(`^([^,=\s]+=)?(large|small)(,([^,=\s]+=)?(large|small))*$`)

// Profile returns the profile by which a model is asked.
func (c *Config) Profile(model string) string {
	profile := "large"
	for entry := range strings.SplitSeq(c.JudgeProfile, ",") {
		name, value, own := strings.Cut(entry, "=")
		switch {
		case !own:
			profile = entry
		case name == model:
			return value
		}
	}
	return profile
}

// publicForm is the form of public_url.
var publicForm = regexp.MustCompile(`^https?://[A-Za-z0-9.\[\]:-]+$`)

// prefixForm is the form of a path prefix.
var prefixForm = regexp.MustCompile(`^(/[a-z0-9][a-z0-9_-]*)+$`)

// reservedPaths are the first segments of the server's other paths.
var reservedPaths = []string{
	"agent", "api", "audit", "docs", "health", "mcp", "metrics", "openapi.json", "ready", "ui",
	"assets", "console", "operations", "p", "project", "queue", "signin", "signout", "theme",
}

// leastJudging is the least time limit of all calls for one evaluation that judge_timeout alone gives.
const leastJudging = 90 * time.Second

// Judging is the time limit of all calls to the model for one evaluation: judge_total_timeout, or what follows from judge_timeout.
func (c *Config) Judging() time.Duration {
	if c.JudgeTotal > 0 {
		return c.JudgeTotal
	}
	return max(leastJudging, 3*c.JudgeTimeout)
}

// Level is the log level.
func (c *Config) Level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return l, fmt.Errorf("log_level: %q is not debug, info, warn or error", c.LogLevel)
	}
	return l, nil
}
