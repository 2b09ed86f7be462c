package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// file is a file in an archive.
type file struct {
	name string // with slashes
	mode int64
	data []byte
}

// The modes of files in archives.
const (
	isProgram = 0o755
	isText    = 0o644
)

// sorted returns the files in the order of their names, so that the order in which they
// were collected does not change an archive.
func sorted(files []file) []file {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files
}

// foldersOf returns the folders that files are in, each after the one it is in. dpkg needs
// an entry for each.
func foldersOf(files []file) []string {
	var folders []string
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// tarball returns a compressed tar archive. All files belong to root and have the same
// time, whoever builds it and whenever.
func tarball(files []file, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("write an archive: %w", err)
	}
	w := tar.NewWriter(zipped)
	add := func(h tar.Header, data []byte) {
		if err != nil {
			return
		}
		h.ModTime, h.Uname, h.Gname, h.Format = at, "root", "root", tar.FormatGNU
		if err = w.WriteHeader(&h); err == nil {
			_, err = w.Write(data)
		}
	}
	for _, dir := range foldersOf(files) {
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: isProgram}, nil)
	}
	for _, f := range sorted(files) {
		add(tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data))}, f.data)
	}
	for _, closer := range []io.Closer{w, zipped} {
		if closing := closer.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write an archive: %w", err)
	}
	return buf.Bytes(), nil
}

// zipFile returns a zip archive, which Windows opens without other programs.
func zipFile(files []file, at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range sorted(files) {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err == nil {
			_, err = entry.Write(f.data)
		}
		if err != nil {
			return nil, fmt.Errorf("write an archive: %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write an archive: %w", err)
	}
	return buf.Bytes(), nil
}
