# shellcheck shell=bash
# What `sbx run --print-plan` shows, as a bwrap line. Sourced; wants $bin.
# shellcheck disable=SC2154

# view_options [OPTION…]: the mounts of `sbx run OPTION…` here as options of bwrap, one mount a line, in the order in which they
# are made. What is only asked about is not there.
view_options() {
	"$bin/sbx" run --print-plan "$@" -- true | awk '
		{ source = $2 }
		$3 == "from" { source = $4 }
		$1 == "read" { print "--ro-bind", source, $2 }
		$1 == "write" || $1 == "pin" || $1 == "own" { print "--bind", source, $2 }
		$1 == "fresh" { print "--tmpfs", $2 }
		$1 == "hide-folder" { print "--perms", "0000", "--tmpfs", $2, "--remount-ro", $2 }
		$1 == "hide-file" { print "--ro-bind", "/dev/null", $2 }
		$1 == "link" { print "--symlink", $4, $2 }
		$1 == "proc" { print "--proc", $2 }
		$1 == "dev" { print "--dev", $2 }'
}

# view_bwrap [OPTION…]: a bwrap line with that view and the namespaces that sbx makes; the command is to follow.
view_bwrap() {
	local namespaces="--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net"
	echo "bwrap $namespaces --die-with-parent --new-session --clearenv --setenv PATH $PATH --setenv HOME $HOME" \
		"$(view_options "$@" | tr '\n' ' ')--chdir $PWD"
}
