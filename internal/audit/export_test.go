package audit

// Waiting returns how many records have callers that wait.
func (w *Writer) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending
}
