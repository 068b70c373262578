package subject

import "tenet/internal/diff"

// Limits of [Build]. They bound memory and time per subject, in addition to any limits of the caller. Build refuses a subject
// beyond one of them and never cuts it.
const (
	MaxFiles      = diff.MaxFiles // files of a diff plus files given beside it
	MaxLines      = diff.MaxLines // lines of the diff text plus lines of whole files
	MaxBytes      = diff.MaxBytes // bytes of the diff text plus contents of whole files
	MaxFactsDepth = 32            // objects and lists inside one another
	MaxFactsNodes = 200_000       // values in facts, objects and lists counted too
	MaxAction     = 1 << 20       // bytes of the action
	MaxIntent     = 64 << 10      // bytes of the intent
	MaxLabel      = 1_024         // bytes of the repository and of the scope
)
