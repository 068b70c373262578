package wire

import "time"

// ServerStatus is whether a server runs.
type ServerStatus string

// Values of [ServerStatus].
const (
	ServerLive ServerStatus = "live"
	ServerLost ServerStatus = "lost"
)

// Server is a server of the cluster.
type Server struct {
	ID        string        `json:"id" doc:"Identifier; another one after each start."`
	Name      string        `json:"name" doc:"Host name."`
	Address   string        `json:"address" doc:"Address that it listens on."`
	Version   string        `json:"version" doc:"Version of Tenet."`
	Database  string        `json:"database" enum:"sqlite,postgresql" doc:"Database that it works on."`
	Status    ServerStatus  `json:"status" enum:"live,lost" doc:"live: it was seen in the last 30 seconds; lost: it has ended without a word. Lost ones are listed for a day."`
	This      bool          `json:"this,omitempty" doc:"True for the server that answers."`
	StartedAt time.Time     `json:"started_at" doc:"When it was started."`
	SeenAt    time.Time     `json:"seen_at" doc:"When it last said that it runs, every 10 seconds."`
	Memory    int64         `json:"memory_bytes" doc:"Memory that it has in use for data, in bytes."`
	Workers   int           `json:"job_workers" doc:"Background jobs that it runs at once."`
	Models    []ModelHealth `json:"models" nullable:"false" doc:"The models that it is configured with."`
	Replicas  []Replica     `json:"replicas,omitempty" nullable:"false" doc:"The replicas of the database where it reads lists (read_urls)."`
}

// Replica is how a server fares with a replica of the database.
type Replica struct {
	Name     string `json:"name" doc:"Host and port."`
	BehindMS int64  `json:"behind_ms" doc:"By how much it is behind the database, in milliseconds."`
	LeftOut  string `json:"left_out,omitempty" doc:"Why nothing is read there now; empty if it answers reads."`
}

// ModelHealth is how a server fares with a model.
type ModelHealth struct {
	Purpose     string         `json:"purpose" enum:"judge,confirm,embedding" doc:"What it is asked for."`
	Model       string         `json:"model" doc:"The model, as provider:model; several with commas between are asked in turn."`
	Status      string         `json:"status" enum:"none,checking,ok,unreachable,bad_key" doc:"Result of the latest check, which asks the server of the model for its list of models."`
	Detail      string         `json:"detail,omitempty" doc:"What is wrong and what to set."`
	Resting     []RestingModel `json:"resting,omitempty" nullable:"false" doc:"Models whose breaker is open: they have failed again and again, and are left alone."`
	Calls       int64          `json:"calls" doc:"Calls since the start of the server."`
	Failed      int64          `json:"failed" doc:"Those of them that gave no answer."`
	MedianMS    *int64         `json:"median_ms" doc:"Median time of the last 100 calls that were answered, in milliseconds; null without any."`
	P95MS       *int64         `json:"p95_ms" doc:"Time that 95 of 100 of them took at most."`
	LastCallAt  *time.Time     `json:"last_call_at" doc:"When the last call ended; null before the first."`
	LastError   string         `json:"last_error,omitempty" doc:"Why the last call that failed has failed."`
	LastErrorAt *time.Time     `json:"last_error_at,omitempty" doc:"When."`
}

// RestingModel is a model that is left alone.
type RestingModel struct {
	Model string    `json:"model" doc:"The model."`
	Until time.Time `json:"until" doc:"When it is asked again, once, as a probe."`
}

// UsageQuery says how many days of usage to sum up.
type UsageQuery struct {
	PeriodDays int `query:"period_days" default:"30" minimum:"1" maximum:"400" doc:"Days, today included, in UTC."`
}

// Usage counts the calls to models and their cost.
type Usage struct {
	ProjectID  string       `json:"project_id" doc:"The project; * for all together."`
	PeriodDays int          `json:"period_days" doc:"Days, today included, in UTC."`
	From       time.Time    `json:"from" doc:"Beginning of the period."`
	Currency   string       `json:"currency" doc:"Currency of the prices, which the setting price_currency names."`
	Total      UsageFigures `json:"total" doc:"All models together."`
	Models     []ModelUsage `json:"models" nullable:"false" doc:"By model, most tokens first."`
	Days       []DayUsage   `json:"days" nullable:"false" doc:"All days of the period, in order."`
	Judged     int64        `json:"judged" doc:"Verdicts that models gave."`
	Reused     int64        `json:"reused" doc:"Verdicts that were taken from the cache instead of a call."`
	Unpriced   []string     `json:"unpriced,omitempty" nullable:"false" doc:"Models with calls for which the setting model_prices has no price; cost is without them."`
}

// UsageFigures counts calls and tokens.
type UsageFigures struct {
	Calls        int64 `json:"calls" doc:"Calls made."`
	Failed       int64 `json:"failed" doc:"Those without an answer."`
	InputTokens  int64 `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int64 `json:"output_tokens" doc:"Tokens received."`
	CachedTokens int64 `json:"cached_tokens" doc:"Tokens sent that the provider had in its prompt cache."`
	// Cost is nil where no model has a price.
	Cost *float64 `json:"cost" doc:"Cost by the prices of the settings; null where none of the models has a price."`
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Model string `json:"model" doc:"The model."`
	UsageFigures
	MeanMS float64 `json:"mean_ms" doc:"Time of a call on the average, in milliseconds."`
}

// DayUsage is the usage of one day.
type DayUsage struct {
	Date string `json:"date" format:"date" doc:"The day, in UTC."`
	UsageFigures
}

// SettingSource says what has set a setting.
type SettingSource string

// Values of [SettingSource], the strongest first.
const (
	FromFlag        SettingSource = "flag"
	FromEnvironment SettingSource = "environment"
	FromFile        SettingSource = "file"
	FromDefault     SettingSource = "default"
)

// Settings are the settings that a server runs with.
type Settings struct {
	Server string       `json:"server" doc:"Host name of the server that answers; each has settings of its own."`
	File   string       `json:"file,omitempty" doc:"Settings file that was read."`
	Items  []SettingNow `json:"items" nullable:"false" doc:"All settings, in the order of the documentation."`
	// Credentials are the variables of the environment that models' servers and keys come from.
	Credentials []Credential `json:"credentials" nullable:"false" doc:"Variables of the environment by which models are reached."`
}

// SettingNow is a setting in force.
type SettingNow struct {
	Key     string        `json:"key" doc:"Name in tenet.yaml."`
	Env     string        `json:"env" doc:"Variable of the environment."`
	Value   string        `json:"value" doc:"Value in force. Of a secret, only whether it is set; of an address, without its password."`
	Default string        `json:"default" doc:"Value where nothing sets it."`
	Source  SettingSource `json:"source" enum:"flag,environment,file,default" doc:"What has set it."`
	From    string        `json:"from" doc:"The flag, the variable, or the line of the file."`
	Secret  bool          `json:"secret,omitempty" doc:"True if the value is a secret, which is not shown."`
	Doc     string        `json:"doc" doc:"What it means."`
}

// Credential is a variable by which models are reached.
type Credential struct {
	Env    string `json:"env" doc:"Variable of the environment."`
	Set    bool   `json:"set" doc:"Whether it is set."`
	Value  string `json:"value,omitempty" doc:"Its value, if it is an address; without its password."`
	Secret bool   `json:"secret,omitempty" doc:"True if the value is a secret, which is not shown."`
}

// JobCount is the number of background jobs of a kind in a state.
type JobCount struct {
	Kind  string `json:"kind" doc:"Kind of the jobs."`
	State string `json:"state" enum:"queued,running,failed" doc:"Their state."`
	Count int    `json:"count" doc:"How many."`
}

// JobCounts counts the background jobs that wait, run or have failed.
type JobCounts struct {
	Items []JobCount `json:"items" nullable:"false" doc:"By kind and state, over all projects."`
}
