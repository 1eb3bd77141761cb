#!/bin/sh
# Makes sure that the system packages are there: installs what is missing where it may (as root, or with sudo that asks for no
# password), else says what to install and stops. usage: setup.sh PYTHON
set -eu
python=$1
here=$(dirname "$0")

[ -r /etc/os-release ] && . /etc/os-release
system="${ID:-unknown}-${VERSION_ID:-}"
packages=$(sed -n "s/^$system  *//p" "$here/system-packages.txt")
if [ -z "$packages" ]; then
    echo "  $system is not listed in tools/system-packages.txt: nothing is installed, and the build will say what it misses" >&2
    exit 0
fi

# Python's venv module and headers come with every Python but the distribution's own.
case $(command -v "$python" || true) in
    "") packages="$packages python3 python3-venv python3-dev" ;;
    /usr/bin/*)
        name=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
        packages="$packages $name-venv $name-dev" ;;
esac

installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $packages 2>/dev/null | sed -n 's/^ii *//p' || true)
missing=""
for package in $packages; do
    echo "$installed" | grep -qx "$package" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "  These system packages are missing. Install them, then run make again:" >&2
    echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "  installing:$missing"
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing </dev/null
