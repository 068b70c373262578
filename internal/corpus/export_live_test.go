package corpus

import "context"

// BeginRefresh begins a [Live.Refresh], and returns the rest of it.
func (l *Live) BeginRefresh(projectID string) func(context.Context) (*View, error) {
	return l.begin(projectID, l.follow(projectID))
}

// Fitted waits until the views fit into the memory limit.
func (l *Live) Fitted() {
	l.mu.Lock()
	ends := l.fitting
	l.mu.Unlock()
	if ends != nil {
		<-ends
	}
}
