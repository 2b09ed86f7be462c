package orchestrator

import "os"

// killSelf ends this process at once, as a crash does.
func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
