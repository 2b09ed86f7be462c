package trees

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// diskEvery is how often the size of working copies is looked at; more rarely where
// looking takes long.
const diskEvery = 30 * time.Second

// room fails if another working copy would go beyond worktree.max_disk.
func (t *Trees) room(ctx context.Context) error {
	limit := t.opts.Team().Worktree.MaxDisk
	if limit == 0 {
		return nil
	}
	more, err := t.ground.repo.Size(ctx, t.ground.base)
	if err != nil {
		return fmt.Errorf("worktree.max_disk: %w", err)
	}
	if used := diskUse(ctx, t.dir); used+more > limit {
		return fmt.Errorf("the working copies take %s and one more %s, which is beyond worktree.max_disk, %s; "+
			"remove some that nobody needs (`git worktree list`), or raise it",
			bytesText(used), bytesText(more), bytesText(limit))
	}
	return nil
}

// diskUse is how many bytes the files below a folder have. What cannot be looked at
// does not count: members work there meanwhile.
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

// bytesText is a size for people.
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

// Watch looks after worktree.max_disk until ctx ends. It goes on where there is no limit:
// the spec may get one while the team runs.
func (t *Trees) Watch(ctx context.Context) error {
	over := false
	for pause := diskEvery; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.opts.Clock.After(pause): // a clock that rings early costs one look
		}
		began := time.Now()
		over = t.measure(ctx, over)
		pause = max(diskEvery, 20*time.Since(began))
	}
}

// measure looks once, and has the member with the largest working copy need
// attention when the limit is crossed. Nothing is deleted: what is work and what is
// waste, nobody but a person knows.
func (t *Trees) measure(ctx context.Context, was bool) (over bool) {
	limit := t.opts.Team().Worktree.MaxDisk
	if limit == 0 {
		return false // to walk large trees for nothing costs the members' disk
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
	t.opts.Attention(ctx, who, fmt.Sprintf(
		"the members' working copies take %s, beyond worktree.max_disk, %s; its own takes %s: %s",
		bytesText(sum), bytesText(limit), bytesText(most), where))
	return over
}
