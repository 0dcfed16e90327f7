"""A binary that the system does not start: the reason, the path, and the platform only where it is the reason."""

import platform
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from petstore_server import Petstore, PetstoreNotAvailable, PetstoreStopped, _binary, _process

OTHER_WAYS = r"Other ways.*app/package/image.*cargo install"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the package's binary, where no file is yet."""
    path = tmp_path / "petstore"
    monkeypatch.setattr(_binary, "OWN", path)
    return path


def refusal(binary: Path | None = None) -> str:
    """The message of a start that the system refuses."""
    with pytest.raises(PetstoreNotAvailable) as refused:
        Petstore(binary=binary)
    return str(refused.value)


def elf(processor: int) -> bytes:
    """The beginning of a program of Linux for this processor."""
    return b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + (2).to_bytes(2, "little") + processor.to_bytes(2, "little") + bytes(44)


def mach_o(processor: int) -> bytes:
    """The beginning of a program of macOS for this processor."""
    return b"\xcf\xfa\xed\xfe" + processor.to_bytes(4, "little") + bytes(56)


def windows(processor: int) -> bytes:
    """The beginning of a program of Windows for this processor."""
    return b"MZ".ljust(60, b"\0") + (64).to_bytes(4, "little") + b"PE\0\0" + processor.to_bytes(2, "little") + bytes(60)


def write(path: Path, content: bytes, mode: int = 0o755) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no program", "Exec format error; it is no program of Linux"),
        (elf(243), "Exec format error; it is no program of Linux"),
        (elf({"x86_64": 183}.get(platform.machine(), 62)), "Exec format error; it is made for Linux on (x86_64|aarch64)"),
        (mach_o(0x0100_000C), "Exec format error; it is made for macOS on arm64"),
        (windows(0x8664), "Exec format error; it is made for Windows on x86_64"),
        (b"#!/no/loader\n", "No such file or directory; its loader or interpreter is missing"),
    ],
)
def test_a_wrong_format_names_the_platform(own: Path, tmp_path: Path, content: bytes, reason: str) -> None:
    write(own, content)
    here = f"{platform.system()} on {platform.machine()}"
    with pytest.raises(PetstoreNotAvailable, match=rf"has no server for {here} \({own}: {reason}\)\. {OTHER_WAYS}"):
        Petstore()
    other = write(tmp_path / "other", content)
    with pytest.raises(PetstoreNotAvailable, match=rf"^{other} cannot be started: {reason}; this is {here}$"):
        Petstore(binary=other)


def test_another_platform_is_no_way_out_of_a_damaged_file_or_a_folder(own: Path, tmp_path: Path) -> None:
    write(own, elf({"x86_64": 62}.get(platform.machine(), 183)))
    damaged = "cannot be started: Exec format error; the file is damaged or incomplete: install it again"
    assert refusal() == f"{own} {damaged}" and refusal(own) == f"{own} {damaged}"
    assert refusal(tmp_path) == f"{tmp_path} cannot be started: Permission denied; it is a folder"


def test_a_lost_permission_is_named(own: Path) -> None:
    shutil.copy(sys.executable, own)
    own.chmod(0o644)
    expected = f"{own} cannot be started: Permission denied; it has no permission to be executed: chmod +x {own}, or install the wheel"
    assert refusal().startswith(expected)
    assert refusal(own).startswith(expected)


def test_a_binary_has_a_relative_path_or_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").symlink_to(_binary.OWN)
    monkeypatch.chdir(tmp_path)
    Petstore(binary="./shop").stop()
    assert refusal(Path("shop")) == "shop cannot be started: No such file or directory"
    monkeypatch.setenv("PATH", str(tmp_path))
    Petstore(binary="shop").stop()


def test_a_large_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with Petstore() as shop:
        for number in range(40):
            monkeypatch.setenv(f"LARGE_{number}", "x" * 120_000)
        with pytest.raises(PetstoreNotAvailable, match=r"cannot be started: Argument list too long; the environment has 4\d{6} bytes"):
            shop.new_key()
        assert "no server for" not in refusal()


def test_a_lack_of_files_is_named() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, limits[1]))
    files = []
    try:
        while True:
            files.append(open("/dev/null", "rb"))
    except OSError:
        files.pop().close()
    try:
        assert "cannot be started: Too many open files; close files" in refusal()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for file in files:
            file.close()


def test_another_file_than_the_binary_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(folder))
    assert refusal().endswith(f"cannot be started: No such file or directory ({folder}/log)")


def test_an_incomplete_installation_is_named(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal().startswith(f"{own} is missing: this installation of petstore-server is not complete; install its wheel")
    monkeypatch.setattr("platform.machine", lambda: "sparc")
    with pytest.raises(PetstoreNotAvailable, match=rf"no server for Linux on sparc \(.* has no binary\)\. {OTHER_WAYS}"):
        Petstore()


def test_the_command_names_the_reason(own: Path) -> None:
    write(own, b"no program", 0o644)
    code = f"from pathlib import Path; from petstore_server import _binary, __main__; _binary.OWN = Path({str(own)!r}); __main__.main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"petstore: {own} cannot be started: Permission denied; it has no permission"), ended.stderr


def test_a_program_that_ends_at_once_is_started(tmp_path: Path) -> None:
    program = write(tmp_path / "petstore", b"#!/bin/sh\necho wrong library >&2\nexit 3\n")
    with pytest.raises(PetstoreStopped, match=r"did not start \(exit code 3\); its log, .*, ends with:\nwrong library$") as failed:
        Petstore(binary=program)
    shutil.rmtree(Path(str(failed.value).split("its log, ")[1].split(", ")[0]).parent)


def test_the_command_of_windows_waits_for_the_binary() -> None:
    code = "from petstore_server import _binary, __main__; __main__.run_below(_binary.OWN)"
    for arguments, expected in (["--version"], 0), (["--no-such-flag"], 2):
        ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert ended.returncode == expected, ended.stderr


def test_the_first_line_is_read_on_a_thread_where_a_pipe_cannot_be_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_process, "_read_line", _process._line_by_thread)
    with Petstore() as shop:
        assert shop.new_key()
    silent = write(tmp_path / "petstore", b"#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(PetstoreStopped, match="did not start within 0.2 seconds") as failed:
        Petstore(binary=silent, start_seconds=0.2)
    shutil.rmtree(Path(str(failed.value).split("its log, ")[1].split(", ")[0]).parent)
    ended = write(tmp_path / "ended", b"#!/bin/sh\nexit 3\n")
    with pytest.raises(PetstoreStopped, match=r"did not start \(exit code 3\)") as failed:
        Petstore(binary=ended)
    shutil.rmtree(Path(str(failed.value).split("its log, ")[1].split(", ")[0]).parent)
