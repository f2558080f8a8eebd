# bare.sh, for other scripts to read in: bare Debian systems in folders. The caller is root, in a mount namespace of its own.
# How this machine reaches package registries (apt's sources, certificates, what npm and pip are told) goes along into a
# system, so that nothing of it has to be written here.
bare_cache=/var/cache/callgate-fresh
command -v debootstrap >/dev/null || { echo "callgate: install debootstrap first" >&2; exit 2; }

bare_mirror() { # CODENAME (or security): the address from which apt here takes it
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' | awk -v codename="$1" '
		$1 == "Debian" && (codename == "security") == ($2 ~ /-security$/) { print $3; exit }'
}

bare_settings=$(env | grep -iE '^([a-z_]*_proxy|[A-Z_]*CA_BUNDLE|[A-Z_]*_CERTS?|SSL_CERT_[A-Z]*|PIP_[A-Z_]*|npm_config_[a-z_]*)=' |
	grep -v '^PIP_FIND_LINKS=' || :)

bare_npmrc() { # prints what npm here is told
	command -v npm >/dev/null || return 0
	for key in registry cafile strict-ssl proxy https-proxy; do
		value=$(cd / && npm config get "$key" 2>/dev/null) || continue
		case $value in '' | null | undefined) ;; *) printf '%s=%s\n' "$key" "$value" ;; esac
	done
}

# bare_root SUITE ROOT: a system that has git and make and nothing else, in ROOT, which is there and empty. The first one of
# a suite is kept for the next time.
bare_root() {
	mirror=$(bare_mirror main)
	security=$(bare_mirror security)
	[ -n "$mirror" ] || { echo "callgate: apt here knows no mirror of Debian; run apt-get update first" >&2; exit 2; }
	bare_kept=$bare_cache/$1
	if [ ! -e "$bare_kept/etc/debian_version" ]; then
		rm -rf "$bare_kept" "$bare_kept.part"
		mkdir -p "$bare_kept.part"
		echo "callgate: making a bare $1 in $bare_kept"
		debootstrap --variant=minbase --include=git,make "$1" "$bare_kept.part" "$mirror" >"$bare_kept.log" 2>&1 ||
			{ tail -n 5 "$bare_kept.log" >&2; exit 2; }
		mv "$bare_kept.part" "$bare_kept"
	fi
	cp -a --reflink=auto "$bare_kept/." "$2"
	bare_enter "$1" "$2"
}

# bare_enter SUITE ROOT: mounts what a system needs, and tells it how this machine reaches the registries.
bare_enter() {
	chmod 755 "$2"
	mount -t proc proc "$2/proc"
	mount --rbind /dev "$2/dev"
	{
		echo "deb $mirror $1 main"
		echo "deb $mirror $1-updates main"
		[ -z "$security" ] || echo "deb $security $1-security main"
	} >"$2/etc/apt/sources.list"
	apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-|ForceIPv)' >"$2/etc/apt/apt.conf.d/90machine" || :
	cp -a /etc/apt/auth.conf.d/. "$2/etc/apt/auth.conf.d/" 2>/dev/null || :
	cp /etc/resolv.conf /etc/hosts "$2/etc/"
	for certificates in /usr/local/share/ca-certificates /etc/ssl/certs; do
		mkdir -p "$2$certificates"
		cp -aL "$certificates/." "$2$certificates/" 2>/dev/null || :
	done
	[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$2/etc/pip.conf"
}

# bare_run ROOT USER HOME COMMAND...: in the system, with nothing of this shell's environment.
bare_run() {
	(
		root=$1 user=$2 home=$3
		shift 3
		IFS='
'
		# shellcheck disable=SC2086 # one setting a line
		exec chroot --userspec="$user" "$root" env -i HOME="$home" USER="$user" \
			PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 $bare_settings "$@"
	)
}
