#!/usr/bin/env bash
# The steps of action.yml. Inputs come as SYNCFINDER_… variables, everything else as GitHub's runner sets it.
#
#   describe  say where pip keeps its cache, and the key to store it under
#   install   put syncfinder into an environment of its own
#   check     run it; the exit code becomes an output, so that the report can be uploaded before the job fails
#   judge     fail if the run asks for it
set -euo pipefail

environment="$RUNNER_TEMP/syncfinder"

fail() {
    printf '::error title=syncfinder::%s\n' "$1" >&2
    exit 2
}

output() {
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

python() {
    local name
    for name in python3 python; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
            "$name" "$@"
            return
        fi
    done
    fail 'needs Python 3.10 or newer: add a step with actions/setup-python'
}

# Windows keeps an environment's programs elsewhere.
program() {
    if [ -d "$environment/Scripts" ]; then
        echo "$environment/Scripts/$1"
    else
        echo "$environment/bin/$1"
    fi
}

describe() {
    local version cache dependencies
    version=$(python -c 'import platform; print(platform.python_version())')
    cache=$(python -m pip cache dir)
    dependencies=$(cksum <"$GITHUB_ACTION_PATH/pyproject.toml" | tr ' ' -)
    output cache "$cache"
    output key "syncfinder-$RUNNER_OS-$RUNNER_ARCH-$version-$dependencies-$SYNCFINDER_VERSION"
}

install() {
    local package=$GITHUB_ACTION_PATH
    if [ -n "$SYNCFINDER_VERSION" ]; then
        package="syncfinder==$SYNCFINDER_VERSION"
    fi
    python -m venv "$environment"
    "$(program python)" -m pip install --quiet --disable-pip-version-check "$package"
    "$(program syncfinder)" --version
}

check() {
    local report=$SYNCFINDER_OUTPUT_FILE code=0 words line
    local arguments=() paths=()
    if [ -n "$SYNCFINDER_ARGS" ]; then
        # xargs knows quotes, and runs nothing that the input says
        words=$(xargs printf '%s\n' <<<"$SYNCFINDER_ARGS") || fail "args: cannot be read: $SYNCFINDER_ARGS"
        while IFS= read -r line; do
            arguments+=("$line")
        done <<<"$words"
    fi
    while IFS= read -r line; do
        if [ -n "$line" ]; then
            paths+=("$line")
        fi
    done <<<"$SYNCFINDER_PATHS"
    if [ "$SYNCFINDER_OUTPUT_FORMAT" = sarif ] && [ -z "$report" ]; then
        report="$RUNNER_TEMP/syncfinder.sarif"
    fi
    if [ -n "$report" ]; then
        rm -f -- "$report"
        arguments+=(--output-file "$report")
    fi
    # bash before 4.4 takes an empty array for an unset one
    "$(program syncfinder)" check --output-format "$SYNCFINDER_OUTPUT_FORMAT" \
        ${arguments[@]+"${arguments[@]}"} -- ${paths[@]+"${paths[@]}"} || code=$?
    if [ -n "$report" ] && [ ! -f "$report" ]; then
        fail "wrote no report (exit code $code)"
    fi
    output report "$report"
    output exit-code "$code"
}

judge() {
    case $SYNCFINDER_EXIT_CODE in
    0) ;;
    1)
        if [ "$SYNCFINDER_FAIL_ON_FINDINGS" = true ]; then
            exit 1
        fi
        ;;
    *)
        fail "could not do its whole work (exit code $SYNCFINDER_EXIT_CODE); the log of the step before says why"
        ;;
    esac
}

case ${1-} in
describe | install | check | judge) "$1" ;;
*) fail "unknown step '${1-}'" ;;
esac
