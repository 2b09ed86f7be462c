package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// orphansEscape means that orphans of our processes may leave our part of the process
// tree. Here we are their subreaper, so they do not.
const orphansEscape = false

// peer is the process at the other end of a unix socket, when it connected.
type peer struct {
	pid, uid int
	fd       int // a pidfd; -1 if the kernel gives none (before Linux 6.5)
}

// peerAt returns the process at the other end of a socket.
func peerAt(socket int) (peer, error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, fmt.Errorf("ask who is at a socket's other end: %w", err)
	}
	who := peer{pid: int(cred.Pid), uid: int(cred.Uid), fd: -1}
	if pidfd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		who.fd = pidfd
	}
	return who, nil
}

// alive reports whether the process still exists, so that its pid was not reused since
// it connected.
func (p peer) alive() bool {
	if p.fd >= 0 {
		return unix.PidfdSendSignal(p.fd, 0, nil, 0) == nil
	}
	return unix.Kill(p.pid, 0) == nil
}

func (p peer) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd) // closing a pidfd cannot lose data
	}
}

// bootID identifies the boot: start times of processes are relative to it.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
})

// Read is the reader of this system.
func Read(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return Process{}, errNoProcess
	}
	if err != nil {
		return Process{}, err
	}
	return parseStat(pid, stat)
}

// Fields of /proc/PID/stat after the program's name, counted from 0.
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statSession = 3
	statStart   = 19
)

// parseStat parses /proc/PID/stat. The program's name is in parentheses and may contain
// any characters, so parsing starts after the last one.
func parseStat(pid int, stat []byte) (Process, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) <= statStart {
		return Process{}, fmt.Errorf("/proc/%d/stat is cut short", pid)
	}
	p := Process{PID: pid, Zombie: fields[statState] == "Z", Birth: bootID() + "/" + fields[statStart]}
	into := map[int]*int{statParent: &p.Parent, statGroup: &p.Group, statSession: &p.Session}
	for field, number := range into {
		n, err := strconv.Atoi(fields[field])
		if err != nil {
			return Process{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		*number = n
	}
	return p, nil
}

// childrenOf lists the children of a process, zombies included.
func childrenOf(pid int) ([]int, error) {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []int
	for _, t := range tasks {
		list, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + t.Name() + "/children")
		if err != nil {
			continue // the thread has ended; another one has its children
		}
		for field := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all, nil
}

// descendants returns all processes below pid, nearest first.
func descendants(pid int) ([]Process, error) {
	next, err := childrenOf(pid)
	if err != nil {
		return nil, err
	}
	var all []Process
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		info, err := Read(at)
		if err != nil {
			continue // it has ended
		}
		all = append(all, info)
		below, err := childrenOf(at)
		if err != nil {
			return nil, err
		}
		next = append(next, below...)
	}
	return all, nil
}

// sessionsBelow returns the sessions and process groups of all processes below pid.
func sessionsBelow(pid int) (map[int]bool, error) {
	all, err := descendants(pid)
	if err != nil {
		return nil, err
	}
	set := map[int]bool{}
	for _, p := range all {
		set[p.Session], set[p.Group] = true, true
	}
	return set, nil
}
