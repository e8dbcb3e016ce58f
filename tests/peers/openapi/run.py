"""Everything in this folder, one program after the other; says how long each took."""

import pathlib
import subprocess
import sys
import time

PROGRAMS = ["documents.py", "styles.py", "fast.py", "jupyter.py", "prism.py"]


def main():
    failed = []
    for program in PROGRAMS:
        begun = time.monotonic()
        ended = subprocess.run([sys.executable, pathlib.Path(__file__).parent / program], check=False)
        print(f"    {program}: {time.monotonic() - begun:.0f} s", flush=True)
        if ended.returncode:
            failed.append(program)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
