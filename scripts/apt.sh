# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Debian packages of a suite that the machine's own set-up of apt need not list.
# Sourced, after lib.sh: . "$SRNIC_TOP/scripts/apt.sh"

# The machine's mirror of Debian, from apt's configuration.
debian_mirror() {
	local uri
	uri=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
	[ -n "$uri" ] || { say "apt knows no Debian archive; run scripts/setup"; return 1; }
	echo "$uri"
}

# suite_apt DIR SUITE TYPE [ARCH]: set apt_options, with which apt-get and apt-cache see SUITE and
# nothing else, of ARCH if that is not the machine's own processor; TYPE is deb or deb-src. Their
# files are all below DIR.
suite_apt() {
	local dir=$1 suite=$2 type=$3 uri
	uri=$(debian_mirror) || return
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/empty"
	echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" \
		> "$dir/sources.list"
	apt_options=(-qq -o "Dir::Etc::sourcelist=$dir/sources.list"
		-o "Dir::Etc::sourceparts=$dir/empty" -o Dir::State::status=/dev/null
		-o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache"
		-o APT::Sandbox::User=root -o Acquire::Retries=2 -o Debug::NoLocking=1)
	[ -z "${4:-}" ] || apt_options+=(-o "APT::Architecture=$4" -o "APT::Architectures=$4")
}
