# SPDX-License-Identifier: MIT
#
# What the scripts share that start Debian's servers as loadgen starts ours. They set `me`, `about`, `takes` (the options with a value, each
# a variable with its default) and `needs`, and source this; then they start $child, and end with `serves`.
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
        --help)
            printf '%s: %s; until SIGTERM or SIGINT\n\nOptions: %s --json --print-config --help\n' "$me" "$about" "$takes"
            exit 0 ;;
        *) echo "$me: no option $1 (there are $takes --json --print-config --help)" >&2; exit 2 ;;
        esac ;;
    esac
    shift
done

# number OPTION VALUE HIGHEST: what is no such number is a matter of usage, as with our own servers.
number() {
    case $2 in '' | *[!0-9]* | ????????*) ;; *) [ "$2" -gt "$3" ] || return 0 ;; esac
    echo "$me: $1 $2: a number from 0 to $3 is needed" >&2
    exit 2
}
number --workers "$workers" 4096
number --port "$port" 65535
[ "$workers" != 0 ] || workers=$(nproc) # as with ours
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
