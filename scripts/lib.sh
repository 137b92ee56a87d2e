# shellcheck shell=bash
# What scripts/try, scripts/test, scripts/bench and tests/e2e share: packages, the ordinary user, the copy of the tree, AppArmor.
# Sourced, never run. SBX_TREE is the source tree.

SBX_TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SBX_PRESET=release

say() {
	printf '%s\n' "$*" >&2
}

die() {
	say "${0##*/}: $*"
	exit 1
}

# Packages. A need is looked for by what it brings, not by a package's name, so this costs milliseconds and works everywhere.

package_manager() {
	local manager
	for manager in apt-get:apt dnf:dnf pacman:pacman zypper:zypper apk:apk; do
		if command -v "${manager%%:*}" >/dev/null; then
			echo "${manager##*:}"
			return
		fi
	done
	return 1
}

need_is_met() {
	case $1 in
	pc:*) command -v pkg-config >/dev/null && pkg-config --exists "${1#pc:}" ;;
	py:*) /usr/bin/python3 -c "import ${1#py:}" 2>/dev/null ;;
	cc:*) command -v cc >/dev/null && [[ $(cc -print-file-name="${1#cc:}") == /* ]] ;;
	rt:*) command -v clang >/dev/null && compgen -G "$(clang -print-resource-dir)/lib/*/libclang_rt.${1#rt:}*" >/dev/null ;;
	*) PATH=$PATH:/usr/sbin:/sbin:$(printf '%s:' /usr/lib/postgresql/*/bin) command -v "$1" >/dev/null ;;
	esac
}

# needs_missing STAGE…: the unmet needs, one a line.
needs_missing() {
	local need stage
	while read -r need stage _; do
		[[ $need == '' || $need == '#'* || " $* " != *" $stage "* ]] || need_is_met "$need" || echo "$need"
	done <"$SBX_TREE/scripts/packages"
}

# need_packages MANAGER NEED…: the packages that bring them, in one line.
need_packages() {
	local -A column=([apt]=2 [dnf]=3 [pacman]=4 [zypper]=5 [apk]=6)
	local manager=$1 row cell names=()
	shift
	while read -r -a row; do
		[[ ${#row[@]} == 7 && " $* " == *" ${row[0]} "* ]] || continue
		cell=${row[column[$manager]]}
		[[ $cell == - ]] || names+=("${cell//+/ }")
	done <"$SBX_TREE/scripts/packages"
	echo "${names[*]}"
}

as_root() {
	if [[ $EUID == 0 ]]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		doas "$@"
	fi
}

# One call of the package manager. apt: never remove anything to make room (a vendor's nodejs, say).
package_install() {
	local manager=$1
	shift
	case $manager in
	apt) as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends --no-remove "$@" ;;
	dnf) as_root dnf install -y "$@" ;;
	pacman) as_root pacman -S --needed --noconfirm "$@" ;;
	zypper) as_root zypper --non-interactive install "$@" ;;
	apk) as_root apk add "$@" ;;
	esac
}

# services_known: which of the servers that the tests start for themselves this machine has as services.
services_known() {
	local unit
	for unit in ssh.service ssh.socket sshd.service sshd.socket postgresql.service redis.service redis-server.service; do
		[[ ! -e /usr/lib/systemd/system/$unit && ! -e /lib/systemd/system/$unit ]] || echo "$unit"
	done
}

# with_services_off COMMAND…: packages of servers are installed, but no service is started, now or later, that wasn't there before:
# the tests want the programs alone. (Debian starts what it installs unless policy-rc.d says no.)
# In a shell of its own: the policy goes with it, also when it is interrupted.
with_services_off() (
	known=$(services_known) policy=/usr/sbin/policy-rc.d status=0
	if [[ -d /etc/dpkg && ! -e $policy ]]; then
		trap 'as_root rm -f "$policy"' EXIT
		printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy"
	fi
	"$@" || status=$?
	command -v systemctl >/dev/null || return "$status"
	for unit in $(services_known); do
		[[ " ${known//$'\n'/ } " == *" $unit "* ]] || as_root systemctl disable -q "$unit" >&2 || true
	done
	return "$status"
)

# packages_install STAGE…: install what these stages lack. Nothing is called when nothing is missing. Not quiet about a
# package that fails: the others are still installed, and then it ends here with the needs that are left.
packages_install() {
	local manager packages name left missing failed=()
	missing=$(needs_missing "$@")
	[[ $missing ]] || return 0
	manager=$(package_manager) || die "no package manager that scripts/packages knows; please install: ${missing//$'\n'/ }"
	# shellcheck disable=SC2086 # words
	packages=$(need_packages "$manager" $missing)
	[[ $packages ]] || die "${missing//$'\n'/ }: missing, and no $manager package is known to bring it"
	say "Missing: ${missing//$'\n'/, }"
	say "Installing with $manager: $packages"
	if [[ $EUID != 0 ]]; then
		command -v sudo doas >/dev/null || die "this needs root, and there is neither sudo nor doas: run scripts/test --install-only as root"
		say "(as root, through sudo or doas; stop with ^C if you would rather do that yourself)"
	fi
	if [[ $manager == apt ]]; then
		as_root apt-get update -q >&2 || say "apt-get update failed; going on with the lists that are there"
	fi
	# shellcheck disable=SC2086 # words
	if ! with_services_off package_install "$manager" $packages >&2; then
		say "That did not work in one go; trying the packages one by one."
		for name in $packages; do
			with_services_off package_install "$manager" "$name" >&2 || failed+=("$name")
		done
		[[ ${#failed[@]} == 0 ]] || say "NOT INSTALLED: ${failed[*]}"
	fi
	left=$(needs_missing "$@")
	[[ ! $left ]] || die "still missing after the installation: ${left//$'\n'/ }"
}

# The ordinary user. A sandbox under uid 0 would protect little (docs: threat model), so sbx refuses it.

user_home() {
	getent passwd "$1" | cut -d: -f6
}

# Started as root: who goes on? The user who called sudo, else one called sbx, made here if need be.
ordinary_user() {
	if [[ ${SUDO_USER:-root} != root ]] && getent passwd "$SUDO_USER" >/dev/null; then
		echo "$SUDO_USER"
		return
	fi
	if ! getent passwd sbx >/dev/null; then
		say "Making an ordinary user: sbx"
		if command -v useradd >/dev/null; then
			useradd --create-home --shell /bin/bash sbx >&2
		else
			adduser -D sbx >&2
		fi || die "can't make the user sbx"
	fi
	echo sbx
}

# clean_environment USER [NAME…]: sets the array $environment to that user's own, with these variables where they are set. None that the
# caller happens to have (PYTHONDONTWRITEBYTECODE, LC_ALL, a proxy) changes what a test sees.
clean_environment() {
	local user=$1 uid name
	shift
	uid=$(id -u "$user")
	environment=(HOME="$(user_home "$user")" USER="$user" LOGNAME="$user" SHELL=/bin/bash
		PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin)
	[[ $(stat -c %u "/run/user/$uid" 2>/dev/null) != "$uid" ]] || environment+=(XDG_RUNTIME_DIR="/run/user/$uid")
	for name; do
		[[ ! ${!name+set} || $name == SBX_TREE || $name == SBX_PRESET ]] || environment+=("$name=${!name}")
	done
}

# as_user NAME COMMAND…: in that user's own environment, with the few variables of ours that mean something there.
as_user() {
	local user=$1 environment
	shift
	clean_environment "$user" TERM LANG LC_ALL NO_COLOR CI "${!SBX_@}"
	if command -v runuser >/dev/null; then
		runuser -u "$user" -- env -i "${environment[@]}" "$@"
	else
		su "$user" -s /bin/sh -c 'exec "$@"' -- sh env -i "${environment[@]}" "$@"
	fi
}

# fuse_open USER: as root, let USER open /dev/fuse, which sbx's file doorbell needs (udev gives it to everybody; in a container it
# is often root's alone, or missing). Nothing where the kernel has no FUSE, or when the container forbids it.
fuse_open() {
	grep -qw fuse /proc/filesystems || modprobe fuse 2>/dev/null || return 0
	[[ -c /dev/fuse ]] || mknod -m 600 /dev/fuse c 10 229 2>/dev/null || return 0
	! as_user "$1" bash -c 'exec 3<>/dev/fuse' 2>/dev/null || return 0
	if setfacl -m "u:$1:rw" /dev/fuse 2>/dev/null || chmod 666 /dev/fuse 2>/dev/null; then
		say "Opened /dev/fuse to the user $1."
	fi
}

# What git would take from the tree (tracked and new, not build/), as NUL-separated names; without git, all but build/.
tree_files() {
	(
		cd "$SBX_TREE" || exit
		if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
			git -c safe.directory='*' ls-files -z --cached --others --exclude-standard
		else
			find . -path ./build -prune -o -type f -print0
		fi | while IFS= read -r -d '' name; do
			[[ ! -f $name && ! -L $name ]] || printf '%s\0' "$name"
		done
	)
}

# tree_copy USER: the tree as it stands to ~USER/.cache/sbx/src, whose build/ is kept (times are, too, so a second build is
# quick). The user's own hands write there: root follows no link that the user may have planted.
tree_copy() {
	local user=$1 cache
	cache=$(user_home "$user")/.cache/sbx
	# shellcheck disable=SC2016 # expanded by the inner shell
	tree_files | tar -C "$SBX_TREE" --null -T - -cf - | (cd / && as_user "$user" bash -c '
		set -e
		mkdir -p "$1"
		cd "$1"
		rm -rf src.new
		mkdir src.new
		tar -C src.new -xf -
		[ ! -d src/build ] || mv src/build src.new/build
		rm -rf src
		mv src.new src' bash "$cache") || die "can't copy the tree to $cache/src"
	echo "$cache/src"
}

# build TESTS: configure and build SBX_PRESET with the tests ON or OFF. Quiet unless it fails.
build() {
	local log=$SBX_TREE/build/$SBX_PRESET.log
	mkdir -p "$SBX_TREE/build"
	[[ -d $SBX_TREE/build/$SBX_PRESET ]] || say "Building ($SBX_PRESET, the first time takes a minute or two) …"
	if ! (cd "$SBX_TREE" && cmake --preset "$SBX_PRESET" -DSBX_TESTS="$1" && cmake --build --preset "$SBX_PRESET") >"$log" 2>&1; then
		grep -E -A6 '(error|undefined reference)[: ]|^FAILED|CMake Error' "$log" | head -80 >&2
		die "the build failed; all of it is in $log"
	fi
}

# AppArmor. Ubuntu 24.04 lets only programs with a profile make user namespaces, and ships none for bwrap.

bwrap_works() {
	local test=(bwrap --unshare-user --unshare-net --ro-bind / / true)
	if [[ $EUID == 0 ]]; then
		as_user "$(ordinary_user)" "${test[@]}" 2>/dev/null
	else
		"${test[@]}" 2>/dev/null
	fi
}

# apparmor_check YES: YES is `yes` when the profile may be loaded without asking.
apparmor_check() {
	local restrict=/proc/sys/kernel/apparmor_restrict_unprivileged_userns profile=$SBX_TREE/packaging/apparmor/sbx-bwrap answer=$1
	bwrap_works && return
	if [[ ! -r $restrict || $(<"$restrict") != 1 ]]; then
		say "bwrap can't make a user namespace here; sbx needs that. What it says:"
		bwrap --unshare-user --ro-bind / / true || true
		die "no sandbox possible (in a container: it must be allowed to make user namespaces)"
	fi
	say "AppArmor keeps bwrap from making user namespaces here, as Ubuntu ships it. This profile lets it:"
	say
	sed 's/^/    /' "$profile" >&2
	say
	if [[ $answer != yes && -t 0 && -t 2 ]]; then
		read -r -p "Load it (to /etc/apparmor.d/sbx-bwrap, as root)? [yes/no] " answer
	fi
	if [[ $answer != yes ]]; then
		die "not loaded. To do it: scripts/try --load-apparmor, or
    sudo install -m 644 $profile /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/sbx-bwrap"
	fi
	as_root install -m 644 "$profile" /etc/apparmor.d/sbx-bwrap || die "can't install the profile"
	as_root apparmor_parser -r /etc/apparmor.d/sbx-bwrap || die "can't load the profile"
	bwrap_works || die "the profile is loaded, but bwrap still can't make a user namespace"
}
