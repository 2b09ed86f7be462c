package orchestrator

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/replica"
)

// Fault is the code of a reason for which a run ends without its work done. Codes do not
// change; docs/errors.md explains each with its way out.
type Fault string

// The faults of a run that ends in order, with an Ending.
const (
	FaultStuck     Fault = "stuck"     // no member can go on
	FaultAttention Fault = "attention" // the tasks are done, but a member needs attention
	FaultLimit     Fault = "limit"     // a limit or the budget
	FaultNoResult  Fault = "no-result" // nothing was changed and no task completed
	FaultStopped   Fault = "stopped"   // covey down
)

// The faults of a run that fails with an error. An interrupt and a full disk may also end a
// run in order. Each names what a person has to look at, not the place in the code: several
// errors with one way out have one fault.
const (
	FaultInterrupted Fault = "interrupted"
	FaultDiskFull    Fault = "disk-full"
	// FaultUnexpected is that of all errors without a row in faultKinds. An error that
	// turns up there more than once deserves a row and a paragraph.
	FaultUnexpected   Fault = "unexpected"
	faultRunning      Fault = "running"
	faultOtherVersion Fault = "other-version"
	faultNewerFiles   Fault = "newer-files"
	faultInUse        Fault = "store-in-use"
	faultForeign      Fault = "store-foreign"
	faultDamaged      Fault = "store-damaged"
	faultReplaced     Fault = "store-replaced"
	faultDisk         Fault = "disk"
	faultState        Fault = "state-folder"
	faultProgram      Fault = "program"
	faultModel        Fault = "model"
	faultGit          Fault = "git"
	faultRecording    Fault = "recording"
	faultManaged      Fault = "managed-settings"
	faultDenied       Fault = "denied"
	faultPermission   Fault = "permission"
	faultBus          Fault = "bus"       // the servers of the team's bus
	faultElsewhere    Fault = "elsewhere" // another host runs the team
)

// faultKind is a kind of errors with one fault.
type faultKind struct {
	fault Fault
	errs  []error // any of them
}

// faultKinds returns the kinds of errors. The order matters, because an error may wrap
// several: the cause comes first, as a full disk may make a store fail, and what is most
// general, such as a missing permission, comes last.
func faultKinds() []faultKind {
	return []faultKind{
		{FaultDiskFull, []error{syscall.ENOSPC, syscall.EDQUOT, workcopies.ErrMaxDisk}},
		{faultRunning, []error{state.ErrRunning}},
		{faultOtherVersion, []error{api.ErrOtherVersion}},
		{faultNewerFiles, []error{tasks.ErrFormat, state.ErrNewer, launch.ErrNewerTranscript}},
		{faultInUse, []error{tasks.ErrLocked}},
		{faultForeign, []error{tasks.ErrForeign}},
		{faultElsewhere, []error{replica.ErrElsewhere, replica.ErrFenced}},
		{faultBus, []error{replica.ErrServers, replica.ErrUnsafe, replica.ErrUnknown, replica.ErrGap, tasks.ErrReplica}},
		{faultReplaced, []error{tasks.ErrReplaced}},
		{faultDamaged, []error{tasks.ErrCorrupt}},
		{faultDisk, []error{tasks.ErrDisk, syscall.EIO, syscall.EROFS}},
		{faultProgram, []error{launch.ErrNoProgram}},
		{faultModel, []error{launch.ErrModelServer, launch.ErrNoKey, launch.ErrNoAgentKey}},
		{faultGit, []error{worktree.ErrNoGit, worktree.ErrNoRepo, worktree.ErrNoCommit, worktree.ErrNoRef,
			worktree.ErrMoved, worktree.ErrTaken, worktree.ErrNoRemote}},
		{faultRecording, []error{recordings.ErrRecording}},
		{faultManaged, []error{settings.ErrManaged}},
		{faultDenied, []error{api.ErrDenied}},
		{faultState, []error{state.ErrFolder, bus.ErrSocketDir}},
		{faultPermission, []error{fs.ErrPermission}},
		{FaultInterrupted, []error{context.Canceled}},
	}
}

// FaultOf returns the fault of an error that ends a run.
//
// It looks at the whole chain of wrapped errors. nil has the fault FaultUnexpected, so ask
// only after a failure.
func FaultOf(err error) Fault {
	for _, kind := range faultKinds() {
		for _, one := range kind.errs {
			if errors.Is(err, one) {
				return kind.fault
			}
		}
	}
	return FaultUnexpected
}

// Fault returns why the run has not done its work; empty: it has. A full disk is named before
// what it led to, such as members that failed.
func (e Ending) Fault() Fault {
	switch {
	case e.Code == CodeDone:
		return ""
	case e.Full != nil:
		return FaultDiskFull
	case e.Code == CodeLimit:
		return FaultLimit
	case e.Code == CodeInterrupted:
		return FaultInterrupted
	}
	return e.fault
}
