package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// TestFaultsAreDocumented: docs/errors.md has exactly the codes that a run can end with.
func TestFaultsAreDocumented(t *testing.T) {
	t.Parallel()
	have := []string{string(FaultUnexpected)}
	for _, f := range []Fault{FaultStuck, FaultAttention, FaultLimit, FaultNoResult, FaultStopped} {
		have = append(have, string(f))
	}
	for _, kind := range faultKinds() {
		have = append(have, string(kind.fault))
	}
	doc, err := os.ReadFile(filepath.Join("..", "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^### `(.*)`$").FindAllSubmatch(doc, -1) {
		documented = append(documented, string(m[1]))
	}
	slices.Sort(have)
	slices.Sort(documented)
	if !slices.Equal(have, documented) {
		t.Errorf("docs/errors.md explains\n%v, and there are\n%v", documented, have)
	}
}

// TestFaultOf: an error has the fault of its cause, however it is wrapped.
func TestFaultOf(t *testing.T) {
	t.Parallel()
	full := &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
	for _, tc := range []struct {
		err  error
		want Fault
	}{
		{fmt.Errorf("open the store: %w: %w", tasks.ErrDisk, full), FaultDiskFull},
		{fmt.Errorf("%w: %w", tasks.ErrDisk, syscall.EIO), faultDisk},
		{fmt.Errorf("team: %w", state.ErrRunning), faultRunning},
		{api.ErrOtherVersion, faultOtherVersion},
		{errors.Join(errors.New("first"), tasks.ErrFormat), faultNewerFiles},
		{fmt.Errorf("%w: %w", state.ErrFolder, fs.ErrPermission), faultState},
		{state.FolderError(syscall.ENAMETOOLONG), faultState},
		{state.FolderError(syscall.ENOSPC), FaultDiskFull},
		{fmt.Errorf("control socket: %w", bus.ErrSocketDir), faultState},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, faultPermission},
		{fmt.Errorf("up: %w", context.Canceled), FaultInterrupted},
		{errors.New("no idea"), FaultUnexpected},
	} {
		if got := FaultOf(tc.err); got != tc.want {
			t.Errorf("%v has the fault %s, want %s", tc.err, got, tc.want)
		}
	}
}

// TestFaultOfAnEnding: the exit code and a full disk say more than why the crew came to
// rest.
func TestFaultOfAnEnding(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		e    Ending
		want Fault
	}{
		{Ending{Code: CodeDone, fault: FaultStuck}, ""},
		{Ending{Code: CodeUnfinished, fault: FaultStuck}, FaultStuck},
		{Ending{Code: CodeUnfinished, fault: FaultStopped}, FaultStopped},
		{Ending{Code: CodeUnfinished, fault: FaultStuck, Full: syscall.ENOSPC}, FaultDiskFull},
		{Ending{Code: CodeLimit, fault: FaultStuck}, FaultLimit},
		{Ending{Code: CodeInterrupted}, FaultInterrupted},
	} {
		if got := tc.e.Fault(); got != tc.want {
			t.Errorf("%+v has the fault %q, want %q", tc.e, got, tc.want)
		}
	}
}
