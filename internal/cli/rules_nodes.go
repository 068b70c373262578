package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// printNodeChange shows what an import does to a federation node: what comes to hold there (+), what no longer does (-), and
// what is overridden (~).
func printNodeChange(s *session, b io.Writer, ch *rule.NodeChange) {
	sign := map[string]string{"create": s.green("+"), "delete": s.red("-")}[ch.Action]
	if sign == "" {
		sign = s.yellow("~")
	}
	fmt.Fprintf(b, "%s node %s  %s\n", sign, s.bold(line(ch.Path)), s.dim(string(ch.Level)+", "+ch.Action))
	for _, f := range ch.Fields {
		fmt.Fprintf(b, "    %s: %s %s %s\n", f.Field, s.red(value(f.Before)), s.dim("→"), s.green(value(f.After)))
	}
	for _, o := range ch.Overridden {
		fmt.Fprintf(b, "    %s %s instead of %s\n", s.yellow("~"), s.yellow(o.By), o.Rule)
	}
	hasValue := func(name string) bool {
		return slices.Contains(ch.Gains, name) || slices.Contains(ch.Loses, name) ||
			slices.ContainsFunc(ch.Overridden, func(o rule.NodeOverridden) bool { return o.By == name || o.Rule == name })
	}
	for _, name := range ch.Gains {
		if !slices.ContainsFunc(ch.Overridden, func(o rule.NodeOverridden) bool { return o.By == name }) {
			fmt.Fprintf(b, "    %s\n", s.green("+ "+name))
		}
	}
	for _, name := range ch.Loses {
		fmt.Fprintf(b, "    %s\n", s.red("- "+name))
	}
	quiet := func(what string, names []string) {
		if names = slices.DeleteFunc(slices.Clone(names), hasValue); len(names) > 0 {
			fmt.Fprintf(b, "    %s\n", s.dim(what+", which changes nothing that holds: "+strings.Join(names, ", ")))
		}
	}
	quiet("attached", ch.Attached)
	quiet("removed", ch.Detached)
}
