"""python -m hopbound: the program."""
import os
import sys


def program():
    """Where the program is: as HOPBOUND_PROGRAM says, or where the wheel has put it; None: nowhere."""
    named = os.environ.get("HOPBOUND_PROGRAM")
    if named:
        return named
    from importlib import metadata
    try:
        files = metadata.files("hopbound") or []
    except metadata.PackageNotFoundError:
        return None
    return next((str(f.locate()) for f in files if f.name == "hopbound" and f.parent.name in ("bin", "Scripts")), None)


def main():
    path = program()
    if not path or not os.access(path, os.X_OK):
        sys.exit(f"hopbound: {path or 'the program'}: not there; `pip install .` brings it, HOPBOUND_PROGRAM names another")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
