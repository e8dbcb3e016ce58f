"""The 2.0 document of a Jupyter server, served in front of the server itself: a notebook is made, read, renamed and removed."""

import json
import os
import pathlib
import secrets

import jupyter_server

from toolmux import call, expect, running, serving

FOLDER = pathlib.Path(os.environ["TOOLMUX_SCRATCH"]) / "notebooks"
DOCUMENT = pathlib.Path(jupyter_server.__file__).parent / "services/api/api.yaml"


def check(base):
    def received(tool, arguments, wanted=200):
        status, value = call(base, f"Jupyter_{tool}", arguments)
        expect(f"{tool} {arguments}: {value}", status, wanted)
        return value

    expect("get_api", list(received("get_api", {})), ["version"])
    (FOLDER / "a b").mkdir()
    made = received("post_api_contents_path", {"path": "a b", "type": "notebook"})
    expect("a new notebook", (made["type"], made["path"]), ("notebook", "a b/Untitled.ipynb"))
    listed = received("get_api_contents_path", {"path": "a b", "content": 1})
    expect("the folder", [item["name"] for item in listed["content"]], ["Untitled.ipynb"])
    text = {"type": "file", "format": "text", "content": "5 %"}
    saved = received("put_api_contents_path", {"path": "ü.txt", "body": text})
    expect("a text", (saved["path"], (FOLDER / "ü.txt").read_text()), ("ü.txt", "5 %"))
    read = received("get_api_contents_path", {"path": "ü.txt", "type": "file", "content": 1})
    expect("the same text", read["content"], "5 %")
    renamed = received("patch_api_contents_path", {"path": "ü.txt", "body": {"path": "a b/v.txt"}})
    expect("its new place", (renamed["path"], (FOLDER / "a b/v.txt").read_text()), ("a b/v.txt", "5 %"))
    received("delete_api_contents_path", {"path": "a b/v.txt"})
    expect("nothing is left", (FOLDER / "a b/v.txt").exists(), False)
    gone = received("get_api_contents_path", {"path": "a b/v.txt", "content": 1}, 502)
    expect("its failure", "404" in str(gone), True)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    token = secrets.token_hex(16)
    command = ["jupyter-server", "--allow-root", "--no-browser", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={token}",
               f"--ServerApp.root_dir={FOLDER}"]
    with running(command, r"(http://127\.0\.0\.1:\d+)/") as api:
        config = (
            f'[sources.Jupyter]\nkind = "openapi"\ndocument = {json.dumps(str(DOCUMENT))}\nurl = "{api}"\n'
            f'headers = {{ Authorization = "token {token}" }}\n'
        )
        with serving("jupyter", config) as base:
            check(base)
    print("the Jupyter server did what its document says")
