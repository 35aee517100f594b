"""The command; see `api`."""

from syncfinder.torchmodel.generate.api import main

main()
