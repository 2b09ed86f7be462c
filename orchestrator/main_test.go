package orchestrator

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(listenVariable) != "" {
		os.Exit(listen())
	}
	if dir := os.Getenv(fakeVariable); dir != "" {
		os.Exit(fakeAgent(dir))
	}
	if dir := os.Getenv(workerVariable); dir != "" {
		os.Exit(workerAgent(dir))
	}
	if dir := os.Getenv(commandFakeVariable); dir != "" {
		os.Exit(fakeCommand(dir))
	}
	if spec := os.Getenv(crashVariable); spec != "" {
		os.Exit(runForCrash(spec))
	}
	os.Exit(alone(m))
}
