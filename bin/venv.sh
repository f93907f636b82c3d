# Functions that install requirements files into .venv. bin/serve, bin/test and .ci/run source this file in the project's
# directory. A copy of each installed file is stored in .venv, so that later starts need no network.

# Container images often set PYTHONDONTWRITEBYTECODE. Each start would then recompile every module, a fifth of its time.
unset PYTHONDONTWRITEBYTECODE
# With PYTHONSAFEPATH, Python would not find the project's modules.
unset PYTHONSAFEPATH

# Prints the kind of a Python: nothing if it is too old, `bare` without the venv module, else `quick` or `slow`. A
# distribution's Python, or one built with --enable-optimizations, is `quick`.
KIND='
import sys, sysconfig
sys.version_info >= (3, 11) or sys.exit()
try:
    import ensurepip, venv
except ImportError:
    sys.exit(print("bare"))
built = str(sysconfig.get_config_var("CONFIG_ARGS"))
print("quick" if sys.base_prefix == "/usr" or "--enable-optimizations" in built else "slow")
'

# Print the first quick Python, else the first slow one, else the first bare one. PYTHON lists other candidates.
find_python() {
    slow="" bare=""
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python /usr/bin/python3}; do
        case $("$candidate" -c "$KIND" 2>/dev/null) in
        quick)
            echo "$candidate"
            return
            ;;
        slow) slow=${slow:-$candidate} ;;
        bare) bare=${bare:-$candidate} ;;
        esac
    done
    python=${slow:-$bare}
    if [ -z "$python" ]; then
        echo "walkthrough: Python 3.11 or later is needed, but was not found" >&2
        return 1
    fi
    echo "$python"
}

# Test whether the environment is complete: pip, its last part, exists, and no installation was interrupted. pip would
# accept an incomplete package.
is_complete() {
    [ ! -e .venv/installing ] && .venv/bin/python -c 'import pip' 2>/dev/null
}

is_made() { # REQUIREMENTS
    cmp -s "$1" ".venv/installed-${1##*/}" && is_complete
}

# Take the installation lock, which is on file descriptor 9. Child processes inherit it: after a kill, a pip may still be
# running.
WAIT='
import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("walkthrough: waiting for another start that is installing into .venv", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
'

make_venv() { # REQUIREMENTS
    if is_made "$1"; then
        return
    fi
    python=$(find_python) || return
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "walkthrough: $python has no venv module (on Debian and Ubuntu: apt install python3-venv)" >&2
        return 1
    fi
    (
        "$python" -c "$WAIT" || exit
        if is_made "$1"; then exit; fi
        echo "walkthrough: installing $1 into .venv (once)" >&2
        is_complete || "$python" -m venv --clear .venv || exit
        : >.venv/installing
        installed=0
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r "$1" || installed=$?
        # After an error pip removes what it installed, unless it was killed. Without sync, a power cut may leave empty files.
        [ "$installed" -ge 128 ] || { sync && rm .venv/installing; }
        [ "$installed" -eq 0 ] || exit "$installed"
        cp "$1" ".venv/installed-${1##*/}"
    ) 9>.venv.lock
}

make_test_venv() {
    make_venv requirements/dev.txt
    make_venv requirements/postgres.txt
    # Client libraries. Their tests are skipped if a library has no wheel for this platform.
    make_venv requirements/clients.txt || echo "walkthrough: not installed: requirements/clients.txt" >&2
}
