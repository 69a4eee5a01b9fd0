# SPDX-License-Identifier: MIT
"""A file to compress, made of what every Debian machine has: corpus.py FILE MEGABYTES

Text, headers, programs and libraries in turn, a file of each, in the order of their names, up to 1 MB of each; what is
compressed already is left out, and links are not followed. Two machines with the same packages make the same file.
"""
import os
import sys

FOLDERS = ("/usr/include", "/usr/share/doc", "/usr/bin", "/usr/lib/python3", "/usr/share/perl", "/usr/share/perl5",
           "/usr/lib", "/usr/share")
PACKED = (".gz", ".xz", ".bz2", ".zst", ".png", ".jpg", ".zip", ".jar", ".whl")
PIECE = 1_000_000


def files(folder):
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(path, name)
            if not name.endswith(PACKED) and os.path.isfile(full) and not os.path.islink(full):
                yield full


def pieces():
    """The beginnings of files, one of each folder in turn, until there are none."""
    walks = [files(folder) for folder in FOLDERS]
    while walks:
        for walk in list(walks):
            path = next(walk, None)
            if path is None:
                walks.remove(walk)
                continue
            try:
                with open(path, "rb") as f:
                    yield f.read(PIECE)
            except OSError:
                continue


def main(target, size):
    left = size
    with open(f"{target}.new", "wb") as out:
        while left > 0:  # a small machine's files are taken again
            before = left
            for piece in pieces():
                left -= out.write(piece[:left])
                if left == 0:
                    break
            if left == before:
                sys.exit("corpus.py: there are no files to be read")
    os.rename(f"{target}.new", target)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) * 1_000_000)
