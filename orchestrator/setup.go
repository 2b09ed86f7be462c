package orchestrator

// Setup says what the Setup hooks of a run do before any session begins (Options.Setup).
type Setup string

// The triggers of Setup hooks.
const (
	SetupNone        Setup = ""            // they do not run
	SetupInit        Setup = "init"        // prepare the workspace
	SetupMaintenance Setup = "maintenance" // maintain the workspace
)
