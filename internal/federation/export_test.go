package federation

// LossesOfAll is [Change.Losses] by a comparison of all rules at each node that the change touches.
func (c *Change) LossesOfAll() *Losses { return c.losses(true) }
