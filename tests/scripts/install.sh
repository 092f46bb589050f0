#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installed, Tenter is a library like any other: meson install into an empty place, an example by pkg-config, shared and
# static; a plug-in compiled against the installed headers; and a project that has Tenter as a subproject.
#
#     install.sh SOURCE_ROOT
set -eu
root=$1
cc=${CC:-cc}
for program in meson ninja pkg-config "$cc"; do
    command -v "$program" >/dev/null || { echo "install: no $program: skipped"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cd "$tmp"
unset MAKEFLAGS DESTDIR || true

cat >example.c <<'C'
#include <stdio.h>
#include <tenter.h>

static void *child(void *arg)
{
    tn_yield();
    return arg;
}

static void *parent(void *arg)
{
    tn_fibre *f;
    void *value = NULL;
    if (tn_spawn(&f, NULL, child, arg) != 0 || tn_join(f, &value) != 0)
        return NULL;
    return value;
}

int main(void)
{
    int x;
    void *value = NULL;
    int rc = tn_run(NULL, parent, &x, &value);
    puts(rc == 0 && value == &x ? "works" : "does not work");
    return !(rc == 0 && value == &x);
}
C
# A C++ program takes the header too.
printf '#include <tenter.h>\nint main() { return tn_now() == 0; }\n' >example.cpp

step() { echo "install: $*"; }
quiet() { "$@" >log 2>&1 || { cat log; exit 1; }; }

step "build and install"
quiet meson setup build "$root" -Dtests=false -Dworkloads=false --prefix=/usr --libdir=lib
DESTDIR=$tmp/place quiet meson install -C build
prefix=$tmp/place/usr
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$tmp/place"
[ "$(pkg-config --modversion tenter)" = "$(cat "$root/VERSION")" ]

step "dscheck.h"
printf '#include <dscheck.h>\nstatic void a(void) {}\nDSCHECK_MAIN(.threads = {a, a})\n' >checked.c
"$cc" -std=c11 -I"$prefix/include" checked.c -o checked -pthread
./checked
if command -v c++ >/dev/null; then
    printf '#include <dscheck.h>\nint main() { return dscheck_choose(1); }\n' >checked.cpp
    c++ -std=c++11 -I"$prefix/include" checked.cpp -o checked-cpp
    ./checked-cpp
fi

step "shared"
# shellcheck disable=SC2046
"$cc" -std=c17 -Wall -Wextra -Wpedantic -Werror example.c -o shared $(pkg-config --cflags --libs tenter)
LD_LIBRARY_PATH=$prefix/lib ./shared | grep -qx works
ldd shared | grep -q libtenter

step "static"
# shellcheck disable=SC2046
"$cc" -std=c17 example.c -o static $(pkg-config --cflags tenter) "$prefix/lib/libtenter.a" \
    $(pkg-config --static --libs tenter | sed 's/-ltenter//g')
./static | grep -qx works
if ldd static | grep -q libtenter; then exit 1; fi

step "only what the headers declare is visible"
hidden=$(nm -D --defined-only "$prefix/lib/libtenter.so" | awk '{ print $3 }' | grep -v '^tn_' || true)
[ -z "$hidden" ] || { echo "$hidden"; exit 1; }
for name in $(sed -n 's/^TN_API.*[ *]\(tn_[a-z_]*\)(.*/\1/p' "$prefix/include/tenter.h" "$prefix/include/tenter_sync.h" \
    "$prefix/include/tenter_channel.h"); do
    nm -D --defined-only "$prefix/lib/libtenter.so" | grep -q " $name\$" || { echo "$name is not visible"; exit 1; }
done

step "modules against the installed headers; gdb's script"
for module in "$root/tests/modules/plainlifo/plainlifo.c" "$root/schedulers/fifo/fifo.c"; do
    "$cc" -std=c17 -shared -fPIC -DTN_PLUGIN -DTN_PLATFORM_LINUX -I"$prefix/include/tenter" "$module" -o module.so
done
[ -f "$prefix/share/tenter/tenter-gdb.py" ]

step "subproject"
mkdir -p outer/subprojects
ln -s "$root" outer/subprojects/tenter
cp example.c outer
cat >outer/meson.build <<'M'
project('outer', 'c', default_options: ['c_std=c17'])
tenter = dependency('tenter', fallback: ['tenter', 'tenter_dep'])
executable('example', 'example.c', dependencies: tenter)
M
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
quiet meson setup outer-build outer --wrap-mode=forcefallback
quiet ninja -C outer-build
./outer-build/example | grep -qx works
if command -v c++ >/dev/null; then
    step "C++"
    c++ -Wall -Werror example.cpp -o cpp -I"$prefix/include" -L"$prefix/lib" -ltenter
    LD_LIBRARY_PATH=$prefix/lib ./cpp
fi

echo 'install: ok'
