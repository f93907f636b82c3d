# Sourced by bin/serve, bin/test and .ci/run, in the project's directory: makes .venv hold what a requirements file asks for.
# What is installed is remembered as a copy of the file, so that the second time nothing is done and no network needed.

# Images for containers often set this; a start would then compile every module anew, which is a fifth of its time.
unset PYTHONDONTWRITEBYTECODE
# With it the project's own modules would not be found.
unset PYTHONSAFEPATH

# What a Python is to us: nothing, `bare` without what makes environments, `slow` or `quick`. Distributions profile what they
# build, and so does who says --enable-optimizations; by hand it is left out easily.
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

# The first that is quick; else the first that makes environments; else the first there is. PYTHON names another.
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
    found=${slow:-$bare}
    if [ -z "$found" ]; then
        echo "walkthrough: Python 3.11 or later is needed, and none was found" >&2
        return 1
    fi
    echo "$found"
}

# An environment that was made to its end, pip being its last part, and in which no installation was cut short: what that
# left of a package may pass for the whole of it.
is_whole() {
    [ ! -e .venv/installing ] && .venv/bin/python -c 'import pip' 2>/dev/null
}

is_made() { # REQUIREMENTS
    cmp -s "$1" ".venv/installed-${1##*/}" && is_whole
}

# Whoever starts it twice at once would have one clear away what the other installs. The lock is that of the file which is
# open as 9, and goes with whatever has inherited it: what was killed may have left a pip that still installs.
WAIT='
import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("walkthrough: another start is installing into .venv: waiting for it", file=sys.stderr)
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
        echo "walkthrough: installing what $1 asks for into .venv (once)" >&2
        is_whole || "$python" -m venv --clear .venv || exit
        : >.venv/installing
        installed=0
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r "$1" || installed=$?
        # What it cannot install pip takes back by itself, unless it is killed. A power cut may leave files empty that are not synced.
        [ "$installed" -ge 128 ] || { sync && rm .venv/installing; }
        [ "$installed" -eq 0 ] || exit "$installed"
        cp "$1" ".venv/installed-${1##*/}"
    ) 9>.venv.lock
}

make_test_venv() {
    make_venv requirements/dev.txt
    make_venv requirements/postgres.txt
    # The real consumers; where there is no wheel for one, their suites are skipped, and say so.
    make_venv requirements/clients.txt || echo "walkthrough: not installed: requirements/clients.txt" >&2
}
