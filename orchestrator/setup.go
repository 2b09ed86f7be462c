package orchestrator

// Setup says what the Setup hooks of a run are to do before any session begins
// (Options.Setup).
type Setup string

// The triggers of Setup hooks.
const (
	SetupNone        Setup = ""            // they do not run
	SetupInit        Setup = "init"        // prepare the workspace
	SetupMaintenance Setup = "maintenance" // put it in order again
)
