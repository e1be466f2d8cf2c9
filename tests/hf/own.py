"""The project's own PyTorch and transformers, for tests beside them: build-hf, which `tools/setup.sh hf` makes, or the directory
that HOPBOUND_HF names. own.python() goes on in its Python, or says what is lacking and leaves with 77, which Meson counts as
skipped."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = pathlib.Path(os.environ.get("HOPBOUND_HF", ROOT / "build-hf"))
WHOLE = bool(os.environ.get("HOPBOUND_LONG"))  # all that a test can try, as `make check-hf` has it


def python(test):
    """Behind it torch, transformers and numpy can be imported, and nothing is asked of the network."""
    sys.dont_write_bytecode = True
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", PYTHONDONTWRITEBYTECODE="1", TOKENIZERS_PARALLELISM="false")
    own = PLACE / "bin" / "python"
    if os.path.realpath(sys.prefix) != os.path.realpath(PLACE):
        if not own.exists():
            skip(test, f"no {PLACE}; tools/setup.sh hf makes it")
        sys.stdout.flush()
        os.execv(own, [str(own), *sys.argv])
    try:
        import numpy, torch, transformers  # noqa: E401, F401
    except ImportError as missing:
        skip(test, f"{PLACE}: {missing}; tools/setup.sh hf makes it anew")


def skip(test, why):
    print(f"{test}: skipped: {why}", flush=True)
    sys.exit(77)
