//go:build linux

package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
)

// TestFullDisk fills a small file system of its own, in a private namespace.
func TestFullDisk(t *testing.T) { withDisk(t, "full disk", t.TempDir()) }

// withDisk runs this binary in another role that mounts a file system of its own.
func withDisk(t *testing.T, role, path string) {
	t.Helper()
	cmd := child(t.Context(), role, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	var said strings.Builder
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit), strings.Contains(said.String(), noMount):
		t.Skipf("no private file system here (TestFileLimit does the same by a limit): %v %s", err, said.String())
	default:
		t.Errorf("%v\n%s", err, said.String())
	}
}

// TestFileLimit does the same by a limit on the size of files.
func TestFileLimit(t *testing.T) {
	cmd := child(t.Context(), "file limit", t.TempDir())
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}

const noMount = "cannot mount"

// mountSmall puts a small file system of this process alone at dir.
func mountSmall(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	return nil
}

func fullDiskChild(dir string) error {
	if err := mountSmall(dir); err != nil {
		return err
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	return withoutSpace(dir, syscall.ENOSPC, func() error { return os.Remove(ballast) })
}

func fileLimitChild(dir string) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	small := syscall.Rlimit{Cur: 2 << 20, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		return err
	}
	return withoutSpace(dir, syscall.EFBIG, func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) })
}

// withoutSpace changes a store until the disk takes no more, makes room, and
// goes on. cause is what the system says when there is no room.
func withoutSpace(dir string, cause error, room func() error) error {
	ctx := context.Background()
	path := filepath.Join(dir, "tasks.db")
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	text := strings.Repeat("d", 30_000)
	if _, err := s.Add(ctx, actors.Actor{}, []New{{Subject: "the one to claim", Description: text}}); err != nil {
		return err
	}
	acked, err := fill(ctx, s, cause)
	if err != nil {
		return err
	}
	if err := refusedClaim(ctx, s, cause); err != nil {
		return err
	}
	if err := room(); err != nil {
		return err
	}
	if _, err := s.Release(ctx, actors.Actor{}, "bob", ""); err != nil {
		return err
	}
	if task, err := s.Claim(ctx, as("ann"), "1", Claim{}); err != nil || task.Owner != "ann" {
		return fmt.Errorf("with room again: %.200v, %w", task, err)
	}
	if err := errors.Join(s.Check(ctx), s.Close()); err != nil {
		return err
	}
	if s, err = Open(path, nil); err != nil {
		return err
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != acked+1 {
		return fmt.Errorf("%d tasks, %d were acknowledged: %w", len(list), acked+1, err)
	}
	return errors.Join(s.Check(ctx), s.Close())
}

// fill adds tasks, large ones and then small ones, until the store says several
// times in a row that there is no room. (Once is not enough: a failed commit
// gives pages back that served earlier ones.)
func fill(ctx context.Context, s *Store, cause error) (acked int, err error) {
	for _, size := range []int{20_000, 100} {
		for refused := 0; refused < 4; {
			_, err := s.Add(ctx, actors.Actor{}, []New{{Subject: "s", Description: strings.Repeat("x", size)}})
			switch {
			case err == nil && acked > 10_000:
				return 0, errors.New("the disk was never full")
			case err == nil:
				acked++
				refused = 0
			case isClear(err, cause):
				refused++
			default:
				return 0, fmt.Errorf("not a clear error: %w", err)
			}
		}
	}
	if acked < 10 {
		return 0, fmt.Errorf("no room after %d tasks", acked)
	}
	return acked, nil
}

// refusedClaim claims a large task and gives it back until one of the two is
// refused, and looks that nothing of the refused change is to be seen.
func refusedClaim(ctx context.Context, s *Store, cause error) error {
	for i := range 1000 {
		id := fmt.Sprint(i)
		if _, err := s.Claim(ctx, actors.Actor{Name: "bob", CallID: id}, "1", Claim{}); err != nil {
			return errors.Join(notSeen(ctx, s, "bob", id), wantClear(err, cause), wantOwner(ctx, s, ""))
		}
		if _, err := s.Release(ctx, actors.Actor{Name: "covey", CallID: id}, "bob", ""); err != nil {
			return errors.Join(notSeen(ctx, s, "covey", id), wantClear(err, cause), wantOwner(ctx, s, "bob"))
		}
	}
	return errors.New("claims went on although the disk is full")
}

func notSeen(ctx context.Context, s *Store, member, call string) error {
	if _, found, err := s.Receipt(ctx, member, call); found || err != nil {
		return fmt.Errorf("the refused change of %s left a receipt, %w", member, err)
	}
	return s.Check(ctx)
}

func wantOwner(ctx context.Context, s *Store, owner string) error {
	if task, err := s.Task(ctx, "1"); err != nil || task.Owner != owner {
		return fmt.Errorf("after a refusal: %.200v, %w", task, err)
	}
	return nil
}

func wantClear(err, cause error) error {
	if isClear(err, cause) {
		return nil
	}
	return fmt.Errorf("not a clear error: %w", err)
}

// isClear says whether an error tells what happened, why, and what to do.
func isClear(err, cause error) bool {
	return errors.Is(err, ErrDisk) && strings.Contains(err.Error(), cause.Error()) &&
		strings.Contains(err.Error(), "try again")
}
