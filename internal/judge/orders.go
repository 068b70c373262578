package judge

import "tenet/internal/subject"

func orders(s *subject.Subject) string { return "" }
