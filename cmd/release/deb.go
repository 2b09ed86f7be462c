package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// control is the description of a Debian package. git is only recommended, because a team
// without working copies runs without it.
const control = `Package: covey
Version: %s
Architecture: %s
Maintainer: coveyteam (https://github.com/coveyteam/covey)
Installed-Size: %d
Section: devel
Priority: optional
Recommends: git
Homepage: https://github.com/coveyteam/covey
Description: run a team of AI agents as one program
 A lead and its teammates work in one workspace, send each other messages and
 share a task list. A turn ends only when the team's gates agree: tests,
 scripts, policies.
`

// deb returns the Debian package of a program: an ar archive of a version, a description
// and the files. The description's folder has no entry for "./", which dpkg does not need.
func deb(p *program, files []file) ([]byte, error) {
	size := 0
	for _, f := range files {
		size += len(f.data)
	}
	text := fmt.Sprintf(control, strings.TrimPrefix(p.version, "v"), p.Arch, (size+1023)/1024)
	about, err := tarball([]file{{"control", isText, []byte(text)}}, p.time)
	if err != nil {
		return nil, err
	}
	content, err := tarball(files, p.time)
	if err != nil {
		return nil, err
	}
	return ar([]file{
		{"debian-binary", isText, []byte("2.0\n")},
		{"control.tar.gz", isText, about},
		{"data.tar.gz", isText, content},
	}, p.time), nil
}

// ar returns an archive in the format of ar, with the files in this order. Go's library
// has none.
func ar(files []file, at time.Time) []byte {
	out := bytes.NewBufferString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.name, at.Unix(), 0, 0, 0o100000|f.mode, len(f.data))
		out.Write(f.data)
		if len(f.data)%2 == 1 {
			out.WriteByte('\n') // members begin at even places
		}
	}
	return out.Bytes()
}
