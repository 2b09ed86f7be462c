package workcopies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
)

// diskEvery is how often the size of working copies is measured; less often where
// measuring takes long.
const diskEvery = 30 * time.Second

// ErrMaxDisk is wrapped where a working copy would exceed worktree.max_disk.
var ErrMaxDisk = errors.New("the working copies take too much room")

// room fails with ErrMaxDisk if another working copy would exceed worktree.max_disk.
func (t *Trees) room(ctx context.Context) error {
	limit := t.deps.Team().Worktree.MaxDisk
	if limit == 0 {
		return nil
	}
	more, err := t.ground.repo.Size(ctx, t.ground.base)
	if err != nil {
		return fmt.Errorf("worktree.max_disk: %w", err)
	}
	if used := diskUse(ctx, t.dir); used+more > limit {
		return texts.Errorf(ErrMaxDisk, "the working copies take %s and one more %s, which exceeds worktree.max_disk, %s; "+
			"delete unneeded ones below %s, or raise it",
			bytesText(used), bytesText(more), bytesText(limit), t.dir)
	}
	return nil
}

// diskUse returns the size in bytes of the files below a folder. Unreadable files do
// not count, because members work there meanwhile.
func diskUse(ctx context.Context, dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// bytesText formats a size for people.
func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Watch checks worktree.max_disk until ctx ends. It runs even without a limit, because
// the spec may get one while the team runs. It requests a person's attention for a member,
// with a reason, by attention.
func (t *Trees) Watch(ctx context.Context, attention func(ctx context.Context, member, why string)) error {
	over := false
	for pause := diskEvery; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.deps.Clock.After(pause): // an early wake-up costs one measurement
		}
		began := time.Now()
		over = t.measure(ctx, over, attention)
		// Measuring takes at most a twentieth of the time, however large the copies are.
		pause = max(diskEvery, 20*time.Since(began))
	}
}

// measure measures once, and requests attention for the member with the largest working
// copy when the limit is crossed. It deletes nothing: only a person knows what is work
// and what is waste.
func (t *Trees) measure(ctx context.Context, was bool, attention func(ctx context.Context, member, why string)) (over bool) {
	limit := t.deps.Team().Worktree.MaxDisk
	if limit == 0 {
		return false // do not load the members' disk without a limit
	}
	var sum, most int64
	var who, where string
	for name, own := range t.record.each() {
		n := diskUse(ctx, own.Top)
		if sum += n; n > most {
			most, who, where = n, name, own.Root
		}
	}
	if over = sum > limit; !over || was || ctx.Err() != nil {
		return over
	}
	attention(ctx, who, fmt.Sprintf(
		"the members' working copies take %s, more than worktree.max_disk, %s; that of this member takes %s: %s",
		bytesText(sum), bytesText(limit), bytesText(most), where))
	return over
}
