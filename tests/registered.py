"""registered.py BUILD: each test file of the tree is run by a test of ctest, or by .ci/run where only root can.

A file that is registered nowhere is never run, and nobody sees it.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent
# Without the library there is no program to test (cmake/sbx.cmake).
OPTIONAL = {"sbx-notify": ("notify/", "e2e/desktop", "e2e/attack_r16"), "sbx-sleep": ("broker/test_sleep",)}


def commands(build):
    # from a folder of its own: ctest has one log a folder, which is that of the run that this is a part of
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n')
        shown = subprocess.check_output(["ctest", "--test-dir", folder, "--show-only=json-v1"], text=True)
    return [word for test in json.loads(shown)["tests"] for word in test.get("command", [])]


def is_run(file, words, programs, by_root):
    room, noun = file.relative_to(TESTS).parts[0], file.stem.removeprefix("test_")
    if file.suffix == ".c":
        return bool(programs & {file.stem, f"test_{noun}", f"test_{room}_{noun}"})
    return str(file) in words or f"tests/e2e/{file.name} " in by_root


def files():
    yield from TESTS.rglob("*.bats")
    yield from TESTS.rglob("test_*.c")
    yield from TESTS.rglob("fuzz_*.c")
    yield from TESTS.glob("*.py")
    for file in TESTS.glob("e2e/*"):
        if file.is_file() and not file.suffix and file.name != "run-bats":
            yield file


def main():
    build = pathlib.Path(sys.argv[1])
    words = set(commands(build))
    programs = {pathlib.Path(word).name for word in words}
    by_root = (TESTS.parent / ".ci/run").read_text()
    absent = tuple(name for program, names in OPTIONAL.items() if not (build / "bin" / program).exists() for name in names)
    missing = [name for file in files() if not is_run(file, words, programs, by_root)
               and not (name := str(file.relative_to(TESTS))).startswith(absent)]
    for name in sorted(missing):
        print(f"tests/{name}: no test runs it")
    sys.exit(bool(missing))


main()
