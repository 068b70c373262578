package assistant_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tenet/internal/discover/assistant"
	"tenet/internal/discover/source"
)

// Rules held as strings of a script are read where they are; two strings are no list of rules, and what is fenced is an example.
func TestStringsOfScripts(t *testing.T) {
	for text, want := range map[string][]string{
		"// Yard rules\nconst rules = [\n  \"Weigh each parcel at the desk\",\n  'Stack boxes by size only',\n  \"Quarantine parcels of strangers\",\n];\n": {
			"3 Weigh each parcel at the desk", "4 Stack boxes by size only", "5 Quarantine parcels of strangers",
		},
		"const rules = [\n\"Weigh each parcel at the desk\",\n\"Stack boxes by size\"\n]\n":                                                            nil,
		"```\n\"Weigh each parcel at the desk\",\n\"Stack boxes by size only\",\n\"Quarantine parcels of strangers\",\n```\n\n- Keep the yard clean\n": {"7 Keep the yard clean"},
	} {
		found, problems := assistant.Reader{}.Read(context.Background(), []source.File{{Path: ".cursorrules", Content: []byte(text)}})
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprint(f.Line, " ", f.Statement))
		}
		if !slices.Equal(got, want) || len(problems) > 0 {
			t.Errorf("%q:\n got %q %v\nwant %q", text, got, problems, want)
		}
	}
}
