# SPDX-License-Identifier: MIT
#
# What the scripts share that start Debian's servers as loadgen starts ours. They set `me`, `takes` (the options with a value, each a
# variable with its default) and `needs`, and source this; then they start $child, and end with `serves`.
set -u
PATH=$PATH:/usr/sbin
while [ $# -gt 0 ]; do
    case " $takes " in
    *" $1 "*)
        [ $# -gt 1 ] || { echo "$me: $1 needs a value" >&2; exit 2; }
        eval "${1#--}=\$2"
        shift ;;
    *)
        case $1 in
        --json) ;;
        --print-config) ask=1 ;;
        *) echo "$me: no option $1 (there are $takes --json --print-config)" >&2; exit 2 ;;
        esac ;;
    esac
    shift
done
command -v "${needs%% *}" >/dev/null || { echo "$me: ${needs%% *} (package ${needs#* }) is not installed" >&2; exit 77; }

# config VERSION DIFFERS: what --print-config says.
config() {
    printf '{"version": "%s", "runtime": "%s", "scheduler": null, "knobs": {}, "poller": null, "context": null, "observe": null, ' "$1" "${needs%% *}"
    printf '"compiler": null, "id": "%s-%s", "differs": "%s"}\n' "${needs%% *}" "$1" "$2"
    exit 0
}

# The server ends with this, and what it has in $folder with it.
finish() {
    trap '' TERM INT
    [ -z "$child" ] || { kill "$child" && wait "$child"; }
    rm -rf "$folder"
    exit "$1"
}

serves() {
    echo "$me: listening at 127.0.0.1:$port" >&2
    wait "$child"
    code=$?
    child=
    finish "$code"
}

if [ -z "${ask:-}" ]; then
    child= folder=$(mktemp -d)
    trap 'finish 0' TERM INT
fi
