package discover

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"tenet/internal/discover/source"
	"tenet/internal/wire"
)

// readers returns those of the configured readers that read some kinds of sources, in the order of the kinds.
func (d *Discovery) readers(kinds []wire.SourceKind) []source.Reader {
	var chosen []source.Reader
	for _, k := range wire.SourceKinds {
		for _, r := range d.cfg.Readers {
			if r.Kind() == k && slices.Contains(kinds, k) {
				chosen = append(chosen, r)
			}
		}
	}
	return chosen
}

const (
	// readAtOnce is how many texts are given to a reader at once, so that the progress shows.
	readAtOnce = 10
	// maxFound bounds what one reader finds in a scan. It is a multiple of the candidates that are kept.
	maxFound = 3 * maxCandidates
)

// reading is one walk of readers over files.
type reading struct {
	log      *slog.Logger
	files    []source.File
	progress func(done, total int)
	// whole is set where a person named the file: its path does not matter then.
	whole bool

	found      []source.Found
	problems   []source.Problem
	read       int // files that some reader reads
	done, todo int
}

// run reads all files with all readers that are for them. When the time is over it ends with what it has, and says so.
func (r *reading) run(ctx context.Context, readers []source.Reader) {
	timed, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	lists, wanted := make([][]source.File, len(readers)), map[string]bool{}
	for i, reader := range readers {
		for _, f := range r.files {
			if r.whole || reader.Reads(f.Path) {
				lists[i] = append(lists[i], f)
				wanted[f.Path] = true
			}
		}
		r.todo += len(lists[i])
	}
	r.read = len(wanted)
	r.progress(0, r.todo)
	found := 0 // before the reader whose turn it is
	for i, reader := range readers {
		// Settings and code are read all together, as one file changes the meaning of another.
		batch := readAtOnce
		if k := reader.Kind(); k == wire.LinterConfig || k == wire.CodePatterns {
			batch = max(len(lists[i]), 1)
		}
		for some := range slices.Chunk(lists[i], batch) {
			if timed.Err() == nil && len(r.found)-found <= maxFound {
				r.readSome(timed, reader, some)
			}
			r.done += len(some)
			r.progress(r.done, r.todo)
		}
		if len(r.found)-found > maxFound {
			r.found = slices.Clone(r.found[:found+maxFound])
			r.problems = append(r.problems, source.Problem{Reason: fmt.Sprintf("more than %d statements of the kind %s were found, and what was not read by then is left out; scan fewer files at once", maxFound, reader.Kind())})
		}
		found = len(r.found)
	}
	if timed.Err() != nil && ctx.Err() == nil {
		r.problems = append(r.problems, source.Problem{Reason: fmt.Sprintf("the scan took longer than %s, and what it had not read by then is left out; scan fewer files at once", scanTime)})
	}
}

// readSome has a reader read files. Where it panics over several it reads them one by one, so that one file loses no other.
func (r *reading) readSome(ctx context.Context, reader source.Reader, files []source.File) {
	if r.try(ctx, reader, files) {
		return
	}
	if len(files) == 1 {
		r.problems = append(r.problems, source.Problem{File: clean(files[0].Path, MaxPath), Reason: "the reader of " + string(reader.Kind()) + " cannot read it: an internal error, which the server's log has"})
		return
	}
	for i := range files {
		r.readSome(ctx, reader, files[i:i+1])
	}
}

// try reports whether a reader has read files without a panic.
func (r *reading) try(ctx context.Context, reader source.Reader, files []source.File) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			r.log.ErrorContext(ctx, "a reader of sources has panicked", slog.String("kind", string(reader.Kind())), slog.String("file", files[0].Path),
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			ok = false
		}
	}()
	found, problems := reader.Read(ctx, files)
	for i := range problems {
		problems[i].File, problems[i].Reason = clean(problems[i].File, MaxPath), clean(problems[i].Reason, 500)
	}
	r.found, r.problems = append(r.found, found...), append(r.problems, problems...)
	return true
}
