package teammate

// Transcript is one member's conversation on disk.
type Transcript struct{}
