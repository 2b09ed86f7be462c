package sandbox

import (
	"errors"
	"os/exec"
)

// Init must be called first in main, and in TestMain.
func Init() {}

func probeNamespaces() error { return errors.New("not built yet") }

func namespaceCure(error) string { return "" }

func (b *Box) startInside(cmd *exec.Cmd) (*Session, error) { return nil, cmd.Start() }
