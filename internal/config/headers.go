package config

import (
	"regexp"
	"slices"
	"strings"
)

// FactHeaders are the headers of HTTP requests that rules can read, in lower case.
func (c *Config) FactHeaders() []string {
	var list []string
	for name := range strings.SplitSeq(c.GRPCHeaders, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

var (
	headerForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	// secretForm finds the names of headers whose values let their reader act as the sender.
	secretForm = regexp.MustCompile(`authori[sz]ation|cookie|secret|token|password|passwd|credential|api-?key|signature|session|jwt|assertion|client-cert`)
)

// secretHeaders are the names of grpc_headers that are refused.
func (c *Config) secretHeaders() []string {
	return slices.DeleteFunc(c.FactHeaders(), func(name string) bool { return headerForm.MatchString(name) && !secretForm.MatchString(name) })
}
