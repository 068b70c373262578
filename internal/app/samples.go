package app

import (
	"context"
	"sync"

	"tenet/internal/corpus"
	"tenet/internal/judge/probe"
	"tenet/internal/rule"
)

// maxSamples bounds the rules of a project that control rules are made of.
const maxSamples = 200

// samples finds the rules of a project that have examples of both kinds, and remembers them for as long as the corpus stays as it is.
type samples struct {
	live *corpus.Live

	mu       sync.Mutex
	projects map[string]*projectSamples
}

// projectSamples are those of one project at one version of its corpus.
type projectSamples struct {
	version int64
	list    []probe.Sample
}

// of returns the samples of a project; none if its corpus cannot be read, since the judge has other control rules too.
func (s *samples) of(projectID string) []probe.Sample {
	view, err := s.live.View(context.Background(), projectID)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.projects[projectID]; p != nil && p.version == view.Version() {
		return p.list
	}
	var list []probe.Sample
	for e := range view.All() {
		if len(list) == maxSamples {
			break
		}
		if sample, ok := sampleOf(e.Rule); ok {
			list = append(list, sample)
		}
	}
	if s.projects == nil {
		s.projects = map[string]*projectSamples{}
	}
	s.projects[projectID] = &projectSamples{view.Version(), list}
	return list
}

// sampleOf returns the sample that a rule makes, if it has examples of both kinds and is in force.
func sampleOf(r *rule.Rule) (s probe.Sample, ok bool) {
	if r.Status != rule.Effective && r.Status != rule.Approved || r.Modality != rule.Must && r.Modality != rule.MustNot {
		return s, false
	}
	s.Modality, s.Statement = r.Modality, r.Statement
	for _, e := range r.Examples {
		switch {
		case e.Verdict == rule.Deny && s.Breaks == "":
			s.Breaks = e.Input
		case e.Verdict == rule.Allow && s.Keep == "":
			s.Keep = e.Input
		}
	}
	return s, s.Breaks != "" && s.Keep != ""
}
