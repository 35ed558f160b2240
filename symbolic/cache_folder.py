"""Where compiled kernels are kept: a folder that nobody else can change, or a temporary one for this process."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

SHELF = re.compile(r"[0-9a-f]{2}")
LIBRARY = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.so")
BUILDING = "building-"
SWEPT = "swept"
"""What a folder of kernels holds: shelves of libraries, folders of compilers at work, and when it was last swept."""

_made: list[Path] = []
_owner = type("TemporaryOwner", (), {})()


def lasting_folder() -> Path | str:
    """The folder that serves from run to run, made if need be; or why there is none, as a clause.

    It is ERUGIN_CACHE_DIR, else ``erugin`` in XDG_CACHE_HOME or ~/.cache. A library is code that will be run, so nobody
    else may be able to put one there: the folder belongs to this user and is closed to all others (0700), and nobody
    but this user and root can exchange it or a folder that it lies in. It is looked at each time, because what was so
    once need not stay so. Where libraries cannot be run (``noexec``) there is no use in keeping any.
    """
    chosen, home = os.path.expanduser(os.environ.get("ERUGIN_CACHE_DIR", "")), os.environ.get("XDG_CACHE_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.cache")
    named = chosen or os.path.join(home, "erugin")
    if named.startswith("~") or not (chosen or os.path.isabs(home)):
        return f"{named} needs a home directory that is not known; name a folder by ERUGIN_CACHE_DIR"
    try:
        folder = Path(os.path.abspath(named))
        # Links on the way are followed once; what is there is then checked, whatever way has led to it.
        folder = folder.parent.resolve() / folder.name
        str(folder).encode()  # CasADi takes no other paths
        return _refusal(folder) or folder
    except (OSError, RuntimeError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        return f"{named} cannot be used: {said}"


def temporary_folder() -> Path:
    """A folder of this process, for its owner alone, made if need be and removed when the process ends.

    Raises:
        OSError: if nowhere a file can be written and then be run.
    """
    if _made and _made[-1].is_dir():
        return _made[-1]
    places = [tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/var/tmp", "/dev/shm"]
    for place in filter(os.path.isabs, places):
        try:
            if not _is_noexec(Path(place)) and has_room(Path(place)):
                _made.append(Path(tempfile.mkdtemp(prefix="erugin-", dir=place)).resolve())
                weakref.finalize(_owner, remove_folder, _made[-1], os.getpid())
                return _made[-1]
        except OSError:
            continue
    raise OSError(f"in none of {', '.join(filter(None, places))} can a library be written and run; set TMPDIR")


def has_room(folder: Path, size: int = 4 * 2**20) -> bool:
    """Whether a file of this size can be written: the disk is not full, nor read-only, nor a quota used up.

    Args:
        folder: where to try.
        size: of the file [bytes].
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(size))
    except OSError:
        return False
    return True


def _refusal(folder: Path) -> str | None:
    """Why this folder is not used; makes it if it is not there."""
    missing: list[Path] = []
    for above in folder.parents:
        try:
            status = above.lstat()
        except FileNotFoundError:
            missing.append(above)
            continue
        if status.st_uid not in {0, os.geteuid(), os.lstat("/").st_uid}:
            return f"{above} belongs to somebody else"
        if _others_can_rename(status):
            return f"others can write to {above}"
    for path in (*reversed(missing), folder):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is a link" if stat.S_ISLNK(status.st_mode) else f"{folder} is not a folder"
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to somebody else"
    if status.st_mode & 0o022:
        return f"others can write to {folder}"
    if _is_noexec(folder):
        return f"{folder} lies where files cannot be run (noexec)"
    if status.st_mode & 0o055:
        # Such as a home that was named by mistake: closing it would shut out who has business there.
        if not all(map(_is_ours, os.listdir(folder))):
            return f"others can read {folder}, which holds other files; name a folder of its own"
        folder.chmod(0o700)
    return None


def _others_can_rename(status: os.stat_result) -> bool:
    """Whether somebody but root and this user can exchange what lies in a folder."""
    if status.st_mode & stat.S_ISVTX:
        return False
    return bool(status.st_mode & 0o002) or bool(status.st_mode & 0o020 and not is_private_group(status.st_gid))


def is_private_group(group: int) -> bool:
    """Whether it is root's, or one that many systems give each user: of his name and without other members."""
    if group == 0:
        return True
    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return (user.pw_gid, user.pw_name) == (group, entry.gr_name) and set(entry.gr_mem) <= {user.pw_name}


def _is_ours(name: str) -> bool:
    return name == SWEPT or name.startswith(BUILDING) or bool(SHELF.fullmatch(name) or LIBRARY.fullmatch(name))


def _is_noexec(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


def remove_folder(folder: Path, process: int) -> None:
    """Remove the folder, but not from a fork of the process that made it and may still use it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
