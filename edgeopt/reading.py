"""Files of others: what is in them, if they are files, and no more than they may unpack to."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

_SMALL: Final = 2**26
_DENSEST: Final = 64
"""A file unpacks to at most 64 MiB, or 64 times its size."""


def room_of(size: int) -> int:
    """Return the bytes that a packed file of a size may hold once it is unpacked."""
    return max(_SMALL, _DENSEST * size)


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return what is in a regular file; a pipe may never say anything, a device never end."""
    try:
        kind = os.stat(path).st_mode
    except ValueError as error:  # a character that no name has
        raise OSError(errno.EINVAL, str(error)) from None
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # opening a folder says that it is one
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", os.fspath(path))
    return Path(path).read_bytes()


def unpacked(packed: bytes) -> bytes:
    """Return what is in bytes packed by gzip."""
    most = room_of(len(packed))
    whole = zlib.decompressobj(wbits=31)
    with suppress(zlib.error):  # which `gzip` explains
        content = whole.decompress(packed, most)
        if whole.eof and not whole.unused_data:
            return content
    with gzip.open(io.BytesIO(packed)) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most} bytes; unpack it, and name the file")
    return content
