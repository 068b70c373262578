package change

// Waiting returns the number of changes of a project that wait while another one is being stored.
func (c *Changes) Waiting(projectID string) int {
	c.groups.mu.Lock()
	defer c.groups.mu.Unlock()
	if l := c.groups.lanes[projectID]; l != nil {
		return len(l.waiting)
	}
	return 0
}
