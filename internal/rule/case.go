package rule

// FileCase is a test case of a rule file: a subject with the verdict that one rule must give on it. It has files, a diff, facts
// or an action.
type FileCase struct {
	// Rule is the slug or the id of the rule.
	Rule   string         `json:"rule" yaml:"rule" doc:"Slug or id of the rule."`
	Name   string         `json:"name" yaml:"name" doc:"What the case shows, in a few words."`
	Files  []CaseFile     `json:"files,omitempty" yaml:"files,omitempty" doc:"The sample: whole files."`
	Diff   string         `json:"diff,omitempty" yaml:"diff,omitempty" doc:"The sample: a unified diff."`
	Facts  map[string]any `json:"facts,omitempty" yaml:"facts,omitempty" doc:"The sample: facts."`
	Action string         `json:"action,omitempty" yaml:"action,omitempty" doc:"The sample: an action in plain words."`
	// Expect is the verdict after modality and enforcement: a broken SHOULD is NEEDS_CONFIRMATION.
	Expect Verdict `json:"expect" yaml:"expect" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"Verdict of an evaluation, after modality and enforcement."`
	// Lines are the lines at which the verdict's locations must begin, exactly these; empty means that they are not compared,
	// as for facts. Only cases that run from files compare them; stored cases have none.
	Lines []int `json:"lines,omitempty" yaml:"lines,omitempty" doc:"Lines at which violations begin; compared where cases run from files."`
}

// CaseFile is a whole file of a [FileCase].
type CaseFile struct {
	Path    string `json:"path" yaml:"path" doc:"Path of the file."`
	Content string `json:"content" yaml:"content" doc:"Its text."`
}

// CaseChanges counts the changes that an import makes to the test cases of earlier imports. It does not touch cases that people
// or models have written.
type CaseChanges struct {
	Added     int `json:"added" doc:"Cases added."`
	Removed   int `json:"removed" doc:"Cases removed because the file, which has cases of their rule, does not have them any more."`
	Unchanged int `json:"unchanged" doc:"Cases that were there already."`
	// FileOnly counts what cannot be kept with a rule, whose cases expect ALLOW or DENY.
	FileOnly int `json:"file_only" doc:"Cases that are not stored, because they expect NEEDS_CONFIRMATION of a rule whose violations are denied."`
}
