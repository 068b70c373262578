package evaluate

import (
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/subject"
)

// part is a subject without the files that a rule's applies_to leaves out. Rules with the same applies_to share it, since
// preparing it is most of the work.
type part struct {
	subject *subject.Subject
	checked *check.Input
	units   *subject.Units
	numbers []int // of its units in the whole subject
}

func wholePart(s *subject.Subject) part {
	checked := check.Prepare(s)
	p := part{subject: s, checked: checked, units: checked.Units()}
	p.numbers = make([]int, p.units.Len())
	for i := range p.numbers {
		p.numbers[i] = i
	}
	return p
}

// part returns the part of the subject that a rule concerns.
func (r *run) part(e *corpus.Entry) *part {
	covers := e.Covers()
	if covers == nil || len(r.subject.Files) == 0 {
		return &r.whole
	}
	p, ok := r.parts[covers.Key]
	if !ok {
		p = newPart(&r.whole, covers)
		if r.parts == nil {
			r.parts = map[string]*part{}
		}
		r.parts[covers.Key] = p
	}
	return p
}

// newPart returns the part with the files that are covered. Of a file that leaves the covered paths, a rule is about the change
// and not about the content at its new path. The units of the part are those of the whole subject in the same order, without
// those that are left out.
func newPart(all *part, covers *corpus.Coverage) *part {
	only := *all.subject
	only.Files = nil
	var from []int // numbers of the files in the whole subject
	leaves := false
	for i, f := range all.subject.Files {
		covered := f.AnyPath(covers.Path) || f.NamesFolder() && f.AnyPath(covers.Folder)
		if !covered && (f.OldPath == "" || !covers.Path(f.OldPath)) {
			continue
		}
		if f.Unseen != "" && !covered {
			f.Unseen, leaves = "", true
		}
		only.Files, from = append(only.Files, f), append(from, i)
	}
	if len(from) == len(all.subject.Files) && !leaves {
		return all
	}
	checked := check.Prepare(&only)
	p := &part{subject: &only, checked: checked, units: checked.Units()}
	whole := all.units
	for unit := range whole.Name(0) { // before those of files
		p.numbers = append(p.numbers, unit)
	}
	for i, file := range from {
		first := whole.Name(file)
		for n := range p.units.After(i) - p.units.Name(i) {
			p.numbers = append(p.numbers, first+n)
		}
	}
	return p
}
