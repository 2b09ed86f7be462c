// Package sandbox starts programs in boxes: what a program and its descendants may read, write and
// connect to is held by the kernel, whatever the program does. It makes no promise of
// compatibility to programs outside covey.
//
// There are two levels. At level 1 (Files) landlock, seccomp, no-new-privs and dropped
// capabilities restrict the program. At level 2 (Mounts) it also has a file system that holds
// only what its policy grants, and unless its network is on, a network of its own. Linux alone
// has them.
//
// A caller asks with Probe what the kernel can hold, makes a Box from that and from a Policy, and
// starts commands with Box.Start instead of exec.Cmd.Start. The process must have hidden its
// memory (PR_SET_DUMPABLE 0) before, or nothing starts: at level 1 a program has the landlock
// domain of the thread that forked it, and could trace this thread otherwise. For level 2
// this program starts itself (see helper).
//
// Not held are bugs of the kernel, side channels, and the use of processors, memory and disks, and
// that the command lines of processes outside can be read; at level 1 also the names and attributes of
// files elsewhere (stat, chmod, utime, xattr, inotify, where links lead), connections to unix sockets
// that have a path, System V memory and queues, and terminals of the same user. A filter of system calls
// cannot tell those of others from a program's own, which databases and tests of terminals need.
//
// Each program of a box is held by itself: from landlock version 6 on it cannot signal what another
// program of the box has started, and at level 2 without NetworkOn it has a loopback of its own.
package sandbox
