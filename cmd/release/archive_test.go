package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestTarball: an archive lists folders before what is in them, has the time of the commit
// and no owner, and does not depend on the order in which its files were collected.
func TestTarball(t *testing.T) {
	files := []file{{"covey/doc/b", isText, []byte("bb")}, {"covey/a", isProgram, []byte("a")}}
	data, err := tarball(files, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	again, err := tarball(files, commitTime)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the same files in another order make another archive, %v", err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !zipped.ModTime.IsZero() || zipped.Name != "" {
		t.Errorf("the compressed stream says %v %q", zipped.ModTime, zipped.Name)
	}
	var got []string
	r := tar.NewReader(zipped)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(commitTime) || h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || h.Gname != "root" {
			t.Errorf("%s: %+v", h.Name, h)
		}
		got = append(got, fmt.Sprintf("%s %o %d", h.Name, h.Mode, h.Size))
	}
	want := "covey/ 755 0|covey/doc/ 755 0|covey/a 755 1|covey/doc/b 644 2"
	if strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
}

func TestZipFile(t *testing.T) {
	files := []file{{"covey/b", isText, []byte("bb")}, {"covey/a", isProgram, []byte("a")}}
	data, err := zipFile(files, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	if again, err := zipFile(files, commitTime); err != nil || !bytes.Equal(data, again) {
		t.Errorf("the same files in another order make another archive, %v", err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		if !f.Modified.Equal(commitTime) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if !slices.Equal(names, []string{"covey/a", "covey/b"}) {
		t.Errorf("got %q", names)
	}
}
