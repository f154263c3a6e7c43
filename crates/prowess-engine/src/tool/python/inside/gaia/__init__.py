import os
import sys

# Other parts of the package come from wherever they are installed.
__path__ += [
    folder
    for folder in (os.path.join(entry, *__name__.split(".")) for entry in sys.path)
    if folder not in __path__ and os.path.isdir(folder)
]
