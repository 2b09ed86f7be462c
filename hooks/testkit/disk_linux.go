package testkit

import (
	"errors"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is a file system of its own, in a file. What its kernel has not written to that file is what a
// power cut would lose.
type Disk struct {
	t     *testing.T
	image string
	Dir   string // where it is mounted
}

const diskSize = 384 << 20

// NewDisk makes a file system and mounts it.
func NewDisk(t *testing.T, dir, name string) *Disk {
	t.Helper()
	d := &Disk{t: t, image: filepath.Join(dir, name+".img"), Dir: filepath.Join(dir, name)}
	if err := os.Mkdir(d.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, diskSize)); err != nil {
		t.Fatal(err)
	}
	Run(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.image)
	if out, err := exec.Command("mount", "-o", mountOptions, d.image, d.Dir).CombinedOutput(); err != nil {
		t.Skipf("file systems cannot be mounted here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", d.Dir).Run() })
	return d
}

// mountOptions keep what nobody syncs in memory for as long as possible.
const mountOptions = "loop,commit=600"

// Fill writes until nothing fits any more, and returns how to make room again.
func (d *Disk) Fill() (room func()) {
	path := filepath.Join(d.Dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err = f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		d.t.Errorf("a disk is full with %v", err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			d.t.Error(err)
		}
	}
}

// Free returns how many bytes there is room for.
func (d *Disk) Free() uint64 {
	var s unix.Statfs_t
	if err := unix.Statfs(d.Dir, &s); err != nil {
		d.t.Error(err)
	}
	return s.Bavail * uint64(s.Bsize)
}

// PowerCut replaces the file system by what is on its disk at the moment. Nothing may write to it
// meanwhile; after, what had it open must be gone: gone makes sure of that. A file that was written
// and not synced shows that the image is one of a power cut.
func (d *Disk) PowerCut(gone func()) {
	d.t.Helper()
	lost, kept := filepath.Join(d.Dir, "unsynced"), filepath.Join(d.Dir, "synced")
	write := func(path string, sync bool) {
		f, err := os.Create(path)
		if err == nil {
			_, err = f.WriteString("it is here")
		}
		if err == nil && sync {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			d.t.Fatal(err)
		}
	}
	write(kept, true)
	write(lost, false)
	cut := d.image + ".cut"
	d.copyStill(cut)
	gone()
	Run(d.t, "umount", d.Dir)
	if err := os.Rename(cut, d.image); err != nil {
		d.t.Fatal(err)
	}
	Run(d.t, "mount", "-o", mountOptions, d.image, d.Dir)
	if text, err := os.ReadFile(kept); string(text) != "it is here" {
		d.t.Errorf("what was synced is lost: %q, %v", text, err)
	}
	if text, _ := os.ReadFile(lost); len(text) > 0 {
		d.t.Errorf("what nobody synced survived: this was no power cut")
	}
	_, _ = os.Remove(kept), os.Remove(lost)
}

// copyStill copies the image while nothing is written to it.
func (d *Disk) copyStill(to string) {
	d.t.Helper()
	sum := func(w io.Writer) uint32 {
		f, err := os.Open(d.image)
		if err != nil {
			d.t.Fatal(err)
		}
		defer f.Close()
		h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if _, err := io.Copy(io.MultiWriter(h, w), f); err != nil {
			d.t.Fatal(err)
		}
		return h.Sum32()
	}
	for range 10 {
		f, err := os.Create(to)
		if err != nil {
			d.t.Fatal(err)
		}
		copied := sum(f)
		if err := f.Close(); err != nil {
			d.t.Fatal(err)
		}
		if sum(io.Discard) == copied {
			return
		}
	}
	d.t.Fatal("the kernel writes to a disk on and on")
}
