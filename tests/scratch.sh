# What the end-to-end tests share: `. tests/scratch.sh`, from the tree's root. $program, and $tmp, an empty folder that
# goes away at the end and that the program takes for the user's home, so that a test neither sees nor leaves anything.
set -u
program=$(realpath "${TANDEM:-build/tandem}")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tandem-$(basename "$0" .sh)-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp XDG_CONFIG_HOME=$tmp/config XDG_STATE_HOME=$tmp/state XDG_CACHE_HOME=$tmp/cache
tiny=$(realpath tests/goldens/tiny-a)

check() { # name, then a condition's command
    local name=$1
    shift
    if "$@"; then echo "ok $name"; else echo "not ok $name"; fi
}
holds() { # name, text, words
    if [[ $2 == *"$3"* ]]; then echo "ok $1"; else printf '# expected "%s" in "%s"\n' "$3" "$2"; echo "not ok $1"; fi
}
