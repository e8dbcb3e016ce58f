"""The official conformance suite against toolmux in front of a fixture of either era: both requirement sets."""

import json
import os
import pathlib
import re
import subprocess
import sys

from known import KNOWN
from serving import HERE, SCRATCH, toolmux

REQUIREMENTS = ("2026-07-28", "2025-11-25")


def failures(folder):
    """Failed checks by scenario."""
    for checks in sorted(folder.glob("*/checks.json")):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", checks.parent.name)
        for check in json.loads(checks.read_text()):
            if check["status"] == "FAILURE":
                yield scenario, check["id"], check.get("errorMessage")


def run(era, requirements):
    table = ['names = "bare"', f'command = ["python3", {json.dumps(str(HERE / "conformance.py"))}, "{era}"]']
    folder = SCRATCH / f"{era}-{requirements}"
    with toolmux({"Fixture": table}, name=f"{era}-{requirements}") as base:
        command = ["conformance", "server", "--url", f"{base}/mcp", "--requirements", requirements, "-o", str(folder)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    total = re.search(r"Total: (\d+) passed", ended.stdout)
    if not total or int(total.group(1)) < 70:
        raise SystemExit(f"the suite did not run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    seen, bad = set(), []
    for scenario, check, message in failures(folder):
        known = next((key for key in ((era, requirements, check), (era, requirements, scenario)) if key in KNOWN), None)
        seen.add(known)
        if known is None:
            bad.append(f"{era} {requirements}: {scenario} {check}: {message}")
    stale = [key for key in KNOWN if key[:2] == (era, requirements) and key not in seen]
    bad += [f"{key} is known to fail, but does not" for key in stale]
    print(f"{era} behind, {requirements}: {total.group(1)} checks passed, {len(bad)} unexpected")
    return bad


def main():
    found = [line for era in ("modern", "legacy") for requirements in REQUIREMENTS for line in run(era, requirements)]
    print("\n".join(found))
    sys.exit(bool(found))


main()
