package discover

import (
	_ "embed" // the table
	"fmt"
	"strings"

	"tenet/internal/wire"
)

// ReliabilityTable lists how often candidates of a confidence were rules, a line for each range, as docs/discovery-quality.md has it.
//
//go:embed reliability.txt
var ReliabilityTable string

// Reliability returns how often candidates of a confidence were rules.
func Reliability() wire.Reliability {
	out := wire.Reliability{Ranges: []wire.ConfidenceRange{}}
	for line := range strings.Lines(ReliabilityTable) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		var r wire.ConfidenceRange
		if _, err := fmt.Sscanf(line, "| %f to %f | %d | %f | %f |", &r.From, &r.Until, &r.Candidates, &r.Confidence, &r.Rules); err != nil {
			panic("discover: reliability.txt has the line " + line)
		}
		out.Candidates += r.Candidates
		out.Ranges = append(out.Ranges, r)
	}
	return out
}
