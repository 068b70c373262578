package subject

// NewLines calls yield for every line that the new version of the file has and the subject shows (added and context
// lines), in order, with its hunk. It stops when yield returns false. Use it as for h, l := range f.NewLines.
func (f *File) NewLines(yield func(h *Hunk, l Line) bool) {
	for i := range f.Hunks {
		h := &f.Hunks[i]
		for _, l := range h.Lines {
			if l.Op != OpDelete && !yield(h, l) {
				return
			}
		}
	}
}
