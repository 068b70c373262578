package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Source says what has set a setting.
type Source string

// Sources, the strongest first.
const (
	Flag        Source = "flag"
	Environment Source = "environment"
	File        Source = "file"
	Default     Source = "default"
)

// origin is where a value comes from: the source, and its name for people.
type origin struct {
	source Source
	name   string
}

// reading remembers where the values of a [Config] come from.
type reading struct {
	file string
	from map[string]origin
}

// Value is a setting with the value in force.
type Value struct {
	Setting

	// Value is safe to show: of a secret it says only whether it is set, of an address it leaves out the password.
	Value  string
	Source Source
	From   string // the flag, the variable, or the place in the file
}

// ReadFrom returns the path of the settings file that was read; empty without one.
func (c *Config) ReadFrom() string {
	if c.read == nil {
		return ""
	}
	return c.read.file
}

// InForce lists all settings with their values and where those come from, in the order of the struct.
func (c *Config) InForce() []Value {
	v := reflect.ValueOf(c).Elem()
	list := []Value{}
	for _, s := range Settings() {
		at := origin{Default, "default of " + s.Key}
		if c.read != nil {
			at = c.read.from[s.Key]
		}
		value := fmt.Sprint(v.Field(s.field).Interface())
		switch {
		case s.Secret:
			value = Masked(value)
		case s.Key == "export" || s.Key == "read_urls": // several addresses
			list := strings.Split(value, ",")
			for i := range list {
				list[i] = WithoutPassword(list[i])
			}
			value = strings.Join(list, ",")
		case strings.Contains(value, "://"):
			value = WithoutPassword(value)
		}
		list = append(list, Value{Setting: s, Value: value, Source: at.source, From: at.name})
	}
	return list
}

// Masked says whether a secret is set, and nothing else about it.
func Masked(secret string) string {
	if secret == "" {
		return ""
	}
	return "(set, not shown)"
}

// WithoutPassword returns an address with its password replaced, both that before the host and one among its parameters. Nothing of a text that
// is no address is shown.
func WithoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return Masked(address)
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "pass") || strings.Contains(strings.ToLower(name), "key") {
			query.Set(name, "xxxxx")
		}
	}
	if len(query) > 0 {
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// Price is the price of a model per million tokens.
type Price struct{ Input, Output, Cached float64 }

// Prices reads the setting model_prices, by model.
func (c *Config) Prices() (map[string]Price, error) {
	prices := map[string]Price{}
	if strings.TrimSpace(c.ModelPrices) == "" {
		return prices, nil
	}
	for one := range strings.SplitSeq(c.ModelPrices, ",") {
		// The name of a model has no =, but may have slashes.
		model, words, ok := strings.Cut(strings.TrimSpace(one), "=")
		parts := strings.Split(words, "/")
		wrong := fmt.Errorf("model_prices: %q is not a model with its prices, such as openai:gpt-5-mini=0.25/2.00/0.025", one)
		if !ok || model == "" || len(parts) < 2 || len(parts) > 3 {
			return nil, wrong
		}
		figures := make([]float64, len(parts))
		for i, p := range parts {
			var err error
			if figures[i], err = strconv.ParseFloat(strings.TrimSpace(p), 64); err != nil || figures[i] < 0 || figures[i] > 1e9 || figures[i] != figures[i] {
				return nil, wrong
			}
		}
		price := Price{Input: figures[0], Output: figures[1], Cached: figures[0]}
		if len(figures) == 3 {
			price.Cached = figures[2]
		}
		if _, twice := prices[model]; twice {
			return nil, fmt.Errorf("model_prices: %s has two prices", model)
		}
		prices[model] = price
	}
	return prices, nil
}

// Cost returns the cost of tokens. Cached ones are a part of the input.
func (p Price) Cost(input, output, cached int64) float64 {
	cached = min(cached, input)
	return (float64(input-cached)*p.Input + float64(cached)*p.Cached + float64(output)*p.Output) / 1e6
}
