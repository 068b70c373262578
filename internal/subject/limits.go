package subject

// Limits on what [Build] takes. They bound memory and time per subject whatever the caller's own limits are; a subject
// beyond one of them is refused, never cut.
const (
	MaxFiles      = 5_000     // files of a diff plus files given beside it
	MaxLines      = 1_000_000 // lines of the diff text plus lines of whole files
	MaxBytes      = 64 << 20  // bytes of the diff text plus contents of whole files
	MaxPath       = 4_096     // bytes of one path
	MaxFactsDepth = 32        // objects and lists inside one another
	MaxFactsNodes = 200_000   // values in facts, objects and lists counted too
	MaxAction     = 1 << 20   // bytes of the action
	MaxIntent     = 64 << 10  // bytes of the intent
	MaxLabel      = 1_024     // bytes of the repository and of the scope
)
