package config_test

import (
	"strings"
	"testing"

	"tenet/internal/config"
)

func TestSettingsInForceNameTheirSourceAndHideSecrets(t *testing.T) {
	file := write(t, "job_workers: 3\nlog_level: warn\ngithub_token: ghp_secretsecret\n")
	env := func(name string) string {
		return map[string]string{
			"TENET_LOG_LEVEL": "error", "TENET_JOB_LEASE": "20s", "TENET_EXPORT": "file:/d,nats://tenet:hunter4@n:4222/x", "TENET_DATABASE_URL": "postgres://tenet:hunter2@db/tenet?sslpassword=hunter3&sslmode=require",
		}[name]
	}
	c, err := config.Load(file, env, map[string]string{"job_lease": "30s"})
	if err != nil {
		t.Fatal(err)
	}
	if c.ReadFrom() != file {
		t.Errorf("the file is %q, want %q", c.ReadFrom(), file)
	}
	got := map[string]config.Value{}
	all := ""
	for _, v := range c.InForce() {
		got[v.Key] = v
		all += v.Value + "\n"
	}
	if len(got) != len(config.Settings()) {
		t.Errorf("%d settings of %d", len(got), len(config.Settings()))
	}
	for key, want := range map[string][3]string{
		"job_lease":     {"30s", "flag", "--job-lease"},
		"log_level":     {"error", "environment", "TENET_LOG_LEVEL"},
		"job_workers":   {"3", "file", file + ": job_workers"},
		"rate_burst":    {"50", "default", "default of rate_burst"},
		"github_token":  {"(set, not shown)", "file", file + ": github_token"},
		"ingest_secret": {"", "default", "default of ingest_secret"},
	} {
		if v := got[key]; [3]string{v.Value, string(v.Source), v.From} != want {
			t.Errorf("%s: %q from %s (%s), want %q", key, v.Value, v.Source, v.From, want)
		}
	}
	for _, secret := range []string{"hunter", "ghp_"} {
		if strings.Contains(all, secret) {
			t.Errorf("the values show %s:\n%s", secret, all)
		}
	}
	if url := got["database_url"].Value; !strings.Contains(url, "@db/tenet") || !strings.Contains(url, "sslmode=require") {
		t.Errorf("the address of the database is %s", url)
	}
}

func TestPrices(t *testing.T) {
	c := config.Config{ModelPrices: "openai:gpt-5-mini=0.25/2/0.025, ollama:org/qwen3:8b=0/0"}
	prices, err := c.Prices()
	if err != nil || len(prices) != 2 {
		t.Fatalf("%v, %v", prices, err)
	}
	if got, want := prices["openai:gpt-5-mini"].Cost(3_000_000, 1_000_000, 1_000_000), 2*0.25+0.025+2; got != want {
		t.Errorf("the cost is %v, want %v", got, want)
	}
	for _, bad := range []string{"gpt", "gpt=1", "gpt=1/x", "=1/2", "gpt=1/2/3/4", "gpt=-1/2", "gpt=NaN/2", "a=1/2,a=1/2"} {
		if _, err := (&config.Config{ModelPrices: bad}).Prices(); err == nil || !strings.HasPrefix(err.Error(), "model_prices: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
