package process

import (
	"time"
)

// testPatience bounds what a test waits for: it is for what hangs.
const testPatience = time.Minute
