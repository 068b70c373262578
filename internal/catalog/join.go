package catalog

import (
	"tenet/internal/rule"
)

// Join makes one file of several, in their order, each rule with the defaults of its own file; nodes of one name are one node. An error names the place in
// the joined file.
func Join(files []*File) (*File, error) {
	joined := &File{Rules: []Input{}}
	var p rule.Problems
	for _, f := range files {
		if !f.Defaults.isGeneral() {
			p.Add("defaults", "must not have id, slug, statement or relationships: they belong to one rule")
		}
		for _, in := range f.Rules {
			joined.Rules = append(joined.Rules, f.withDefaults(in))
		}
		if f.Federation != nil {
			joined.Federation = append(joined.Federation, f.Federation...)
			if joined.Federation == nil {
				joined.Federation = []FileNode{}
			}
		}
	}
	return joined, p.Err("the rule file is invalid")
}

// isGeneral reports whether defaults hold only what several rules can share.
func (in *Input) isGeneral() bool {
	return in == nil || (in.ID == "" && in.Slug == nil && in.Statement == "" && in.Relationships == nil)
}
