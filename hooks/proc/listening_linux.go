package proc

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// Listening returns the TCP ports on which a program listens that runs in the session of pid or
// carries an entry that begins with marker, by the inodes of the sockets.
func Listening(pid int, marker string) map[string]int {
	open := listeners()
	found := map[string]int{}
	if len(open) == 0 {
		return found
	}
	for _, s := range Table() {
		if s.Session != pid && !CarriesPrefix(s.PID, marker) {
			continue
		}
		folder := "/proc/" + strconv.Itoa(s.PID) + "/fd"
		files, err := os.ReadDir(folder)
		if err != nil { // it has ended, or it is another user's
			continue
		}
		for _, f := range files {
			link, _ := os.Readlink(folder + "/" + f.Name()) // the file may be closed by now
			inode := strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")
			if port, ok := open[inode]; ok {
				found[inode] = port
			}
		}
	}
	return found
}

// listeners returns the ports of all TCP sockets that listen, by their inodes.
func listeners() map[string]int {
	const local, state, inode, listens = 1, 3, 9, "0A" // fields of a line, counted from 0
	found := map[string]int{}
	for _, list := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(list)
		if err != nil { // the machine may have no IPv6
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) <= inode || fields[state] != listens {
				continue
			}
			_, digits, _ := strings.Cut(fields[local], ":")
			if port, err := strconv.ParseUint(digits, 16, 16); err == nil {
				found[fields[inode]] = int(port)
			}
		}
		_ = f.Close()
	}
	return found
}
