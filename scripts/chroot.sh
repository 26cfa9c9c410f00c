# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# For scripts/package, scripts/matrix and scripts/bare: Debian of another release in a folder, and commands in it. Needs root and
# mmdebstrap. A command has mounts and processes of its own, which end with it; the folder goes at the end of the script.

# shellcheck disable=SC2034 # that of the scripts
chroots=
chroot_job=
chroot_foreign= # "arm64": chroots can have its packages too
chroot_tarball= # of the source; without one it is what is here

chroot_begin()
{
	[ "$(id -u)" -eq 0 ] || { echo "${0##*/}: needs root (chroots)" >&2 && exit 3; }
	command -v mmdebstrap >/dev/null ||
		{ echo "${0##*/}: mmdebstrap is not installed: sudo ./scripts/deps install package" >&2 && exit 3; }
	chroots=$(mktemp -d "${TMPDIR:-/tmp}/ddiperf-chroot.XXXXXX")
	trap chroot_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

chroot_end()
{
	[ -z "$chroot_job" ] || { kill -KILL "$chroot_job" && wait "$chroot_job"; } 2>/dev/null || true
	rm -rf --one-file-system "$chroots"
}

# chroot_limit SECONDS COMMAND...: with mounts and processes of its own, all of which end with this script, however it ends.
# In the background, because bash runs a trap only after a command in the foreground has ended.
chroot_limit()
{
	local code=0
	setpriv --pdeathsig KILL timeout --foreground --kill-after=10 "$1" \
		setpriv --pdeathsig KILL unshare --mount-proc --pid --fork --kill-child "${@:2}" &
	chroot_job=$!
	wait "$chroot_job" || code=$?
	chroot_job=
	return "$code"
}

# The mirror of Debian that apt of this machine uses.
chroot_mirror()
{
	# shellcheck disable=SC2016 # a format of apt
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -1
}

# chroot_make NAME SUITE [PACKAGE...]: a new one, $chroots/NAME, with these packages.
chroot_make()
{
	local name=$1 suite=$2 mirror
	shift 2
	mirror=$(chroot_mirror)
	if [ -z "$mirror" ]; then
		echo "${0##*/}: apt knows no mirror of Debian (sudo apt-get update)" >&2
		exit 3
	fi
	# A chroot that a crash of this machine spoils is made again: dpkg need not wait for the disk.
	chroot_limit 1800 mmdebstrap --quiet --mode=root --variant=apt --dpkgopt=force-unsafe-io ${1:+"--include=$(IFS=, && echo "$*")"} \
		--architectures="$(dpkg --print-architecture)${chroot_foreign:+,$chroot_foreign}" \
		"$suite" "$chroots/$name" "deb $mirror $suite main"
	apt-config dump | grep -i '^Acquire::https\?::Proxy' >"$chroots/$name/etc/apt/apt.conf.d/99proxy" || true
}

# chroot_run NAME SECONDS COMMAND...: as root in the chroot.
chroot_run()
{
	local root=$chroots/$1 seconds=$2
	shift 2
	# shellcheck disable=SC2016 # those are variables of the inner shell
	chroot_limit "$seconds" bash -c '
		root=$1 && shift
		mount --bind "$root" "$root"
		for tree in dev sys; do mount --rbind "/$tree" "$root/$tree"; done
		mount -t proc proc "$root/proc"
		for folder in tmp run dev/shm; do mount -t tmpfs -o mode=1777 tmpfs "$root/$folder"; done
		for file in resolv.conf hosts; do
			[ -e "$root/etc/$file" ] || : >"$root/etc/$file"
			mount --bind "/etc/$file" "$root/etc/$file"
		done
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/tmp \
			DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
			${SOURCE_DATE_EPOCH:+SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH"} "$@"
	' _ "$root" "$@"
}

# chroot_source NAME [FOLDER]: the files of the repository as they are here, or those of the tarball, in its /src or FOLDER.
chroot_source()
{
	local folder=$chroots/$1/${2:-src}
	mkdir -p "$folder"
	if [ -n "$chroot_tarball" ]; then
		tar --extract --file "$chroot_tarball" --strip-components=1 --directory "$folder"
		return
	fi
	git -c safe.directory="$PWD" ls-files -coz --exclude-standard |
		tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory "$folder"
}
