#!/usr/bin/env bash
# Publish a site by rsync, whole or not at all: publish.sh SITE [USER@HOST:]FOLDER
#
# The site goes into a new folder, FOLDER/releases/TIME; only what changed travels, all else is
# linked to what is there. When all of it is there, FOLDER/current is led to it by one rename: a
# web server whose root is FOLDER/current never shows half of a site. The last releases are kept,
# KEEP of them, so that `ln -sfn releases/OLDER current` takes a site back.
set -euo pipefail

keep=${KEEP:-5}
if [ $# -ne 2 ]; then
  echo "usage: $0 SITE [USER@HOST:]FOLDER" >&2
  exit 2
fi
case $keep in
  *[!0-9]* | 0*)
    echo "KEEP=$keep: expected how many releases to keep, at least 1" >&2
    exit 2
    ;;
esac
site=${1%/}
if [ ! -f "$site/index.html" ]; then
  echo "$site: no index.html in it; expected a site, as \`kbsite build\` makes it" >&2
  exit 2
fi
case $2 in
  *:*) host=${2%%:*} folder=${2#*:} place=$host:$folder ;;
  *) host="" folder=$2 place=$2 ;;
esac
case $folder in
  -* | "" | *[!A-Za-z0-9._/@+-]*)
    echo "$folder: expected a folder of letters, digits and ._/@+-" >&2
    exit 2
    ;;
esac
if [ -z "$host" ]; then
  # Where the folder is made, as far as there are folders.
  above=$folder
  while [ ! -d "$above" ]; do above=$(dirname "$above"); done
  case $(cd "$above" && pwd -P)/ in
    "$(cd "$site" && pwd -P)"/*)
      echo "$folder: within the site itself; choose a folder outside it" >&2
      exit 2
      ;;
  esac
fi

# Runs a script over there, with sh: the folder and what else it is given are its arguments.
there() {
  if [ -n "$host" ]; then
    # shellcheck disable=SC2029 # the arguments are checked above, and hold nothing to expand
    ${RSYNC_RSH:-ssh} "$host" sh -s -- "$@"
  else
    sh -s -- "$@"
  fi
}

# What a release is called: of other things in releases/ none is touched.
called='[0-9]{8}T[0-9]{6}Z-[0-9]+'
release=$(date -u +%Y%m%dT%H%M%SZ)-$$
here=$(command -v rsync || true)
last=$(there "$folder" "$called" "$here" <<'SH'
if [ -e "$1/current" ] && [ ! -L "$1/current" ]; then
  echo "$1/current: a file or a folder; expected nothing, or the link of an earlier release" >&2
  exit 2
fi
led=$(readlink "$1/current")
if [ -n "$led" ] && ! basename "$led" | grep -qxE "$2"; then
  echo "$1/current: leads to $led, which is no release of this script; choose another folder" >&2
  exit 2
fi
[ -n "$3" ] || exit 0
if ! command -v rsync >/dev/null; then
  echo "rsync is not installed there; it is needed on both sides" >&2
  exit 3
fi
mkdir -p "$1/releases" || exit
# Of what is not there, rsync would complain.
if [ -d "$1/current" ]; then echo --link-dest=../../current/; fi
SH
)
if [ -z "$here" ]; then
  echo "rsync is not installed here; it is needed on both sides" >&2
  exit 3
fi

# A site that was not sent whole takes no room there.
withdraw() {
  there "$folder" "$release" <<'SH'
rm -rf "$1/releases/$2.partial"
SH
}

# Each build makes a marker of its own. This one is held open: another file would have its number
# once it is gone, and that would be of the next build but one.
marker() { ls -i "$site/.kbsite" 2>&1 || true; }
if [ -f "$site/.kbsite" ]; then exec 8<"$site/.kbsite"; fi
before=$(marker)

# Neither links nor owners nor modes travel; files of a site need none of them. Times are held
# against each other by nanoseconds: two builds may write a file within a second. Versions of a site
# are nobody's to read there.
rsync --recursive --times --modify-window=-1 --chmod=D755,F644 \
  --exclude=/.kbsite --exclude=/.git --exclude=/.hg --exclude=/.svn \
  ${last:+"$last"} "$site/" "$place/releases/$release.partial/" || {
  status=$?
  withdraw || true
  exit "$status"
}
if [ "$(marker)" != "$before" ]; then
  withdraw
  echo "$site: built anew while it was sent; not published, run this again" >&2
  exit 1
fi

there "$folder" "$release" "$keep" "$called" <<'SH'
set -eu
cd "$1"
# Nobody else cleans up in between.
if command -v flock >/dev/null; then exec 9>.publish.lock && flock 9; fi
mv "releases/$2.partial" "releases/$2"
ln -s "releases/$2" "current.$2"
# Onto the link, not into the folder that it leads to; one rename, so that there is always one: -T
# says so to the mv of GNU and BusyBox, -h to that of FreeBSD and macOS.
said=$(mv -T "current.$2" current 2>&1) || mv -fh "current.$2" current 2>/dev/null || {
  rm -rf "current.$2" "releases/$2"
  echo "$1/current: cannot be led to the new release; the release before stays: $said" >&2
  exit 3
}
# Releases that were cut short, then all but the last; whatever clocks say, never this one.
find . -mindepth 1 -maxdepth 1 -name 'current.[0-9]*T[0-9]*Z-*' -cmin +1440 -exec rm -f {} +
find releases -mindepth 1 -maxdepth 1 -name '[0-9]*T[0-9]*Z-*.partial' -cmin +1440 -exec rm -rf {} +
ls -1 releases | grep -xE "$4" | grep -vx "$2" | sort -r | tail -n "+$3" |
  while read -r old; do rm -rf "releases/$old"; done
SH
echo "$place/current -> releases/$release" >&2
