#!/bin/sh
# Fills a folder with what Weft for AArch64 is built and tested with: packages of Debian 12, unpacked and not installed, and
# Python packages in FOLDER/python. Needs the architecture known to apt (CONTRIBUTING.md). usage: arm_sysroot.sh FOLDER PYTHON
set -eu
folder=$1
python=$2
here=$(dirname "$0")
[ -e "$folder/complete" ] && exit 0

# To compile and link with; then Python and what it loads.
packages="libc6 libc6-dev linux-libc-dev libgcc-s1 libgcc-12-dev libstdc++6 libstdc++-12-dev libcrypt1 libcrypt-dev
    zlib1g zlib1g-dev libzstd1 libzstd-dev libgtest-dev llvm-19-dev libclang-19-dev
    python3.11 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libpython3.11-dev
    libexpat1 libffi8 libssl3 libsqlite3-0 libbz2-1.0 liblzma5 libuuid1 libreadline8 libncursesw6 libtinfo6"
mkdir -p "$folder/packages"
for package in $packages; do
    (cd "$folder/packages" && apt-get download -q=2 "$package:arm64" 2>/dev/null) || { echo "no package $package:arm64" >&2; exit 1; }
done
for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder"; done
rm -r "$folder/packages"

grep -E "^(numpy|pytest|pytest-xdist|hypothesis)==" "$here/requirements.txt" >"$folder/requirements.txt"
"$python" -m pip install --disable-pip-version-check -q --target "$folder/python" --only-binary=:all: --python-version 3.11 \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 -r "$folder/requirements.txt"
touch "$folder/complete"
