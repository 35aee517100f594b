"""`python -m syncfinder`."""

from syncfinder.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
