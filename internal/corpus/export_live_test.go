package corpus

import "context"

// BeginRefresh begins a [Live.Refresh], and returns the rest of it.
func (l *Live) BeginRefresh(projectID string) func(context.Context) (*View, error) {
	f := l.follow(projectID)
	started := f.started.Load()
	return func(ctx context.Context) (*View, error) { return l.readAfter(ctx, projectID, f, started) }
}
