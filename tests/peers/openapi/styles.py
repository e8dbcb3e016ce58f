"""Every style of parameter in `@readme/oas-examples`, byte for byte: a server that shows what it received as it came, and
the examples of the OpenAPI specification as what is expected."""

import http.server
import json
import os
import pathlib
import threading

from toolmux import call, expect, serving

DOCUMENT = pathlib.Path(os.environ["NODE_PATH"]) / "@readme/oas-examples"
TEXT = "a b/ü&c"
VALUES = {"primitive": TEXT, "array": ["x y", "z"], "object": {"name": "n 1", "description": "d"}}
# Headers are sent as they are, so that theirs must be ASCII.
PLAIN = {**VALUES, "primitive": "a b/c"}
LISTS = {name: VALUES[name] for name in ("array", "object")}
IN_PATH = {**VALUES, "primitive": "a b~ü&c"}
SEGMENT = "a%20b~%C3%BC%26c"
ENCODED = "a%20b%2F%C3%BC%26c"


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        shown = {"target": self.path, "headers": {name.lower(): value for name, value in self.headers.items()},
                 "body": self.rfile.read(length).decode()}
        body = json.dumps(shown).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def in_path(style, primitive, array, members):
    return f"/anything/path{style}/{primitive}/{array}/{members}"


# The target that each operation asks for, and the arguments that make it.
TARGETS = {
    "paths_standard": (IN_PATH, in_path("", SEGMENT, "x%20y,z", "name,n%201,description,d")),
    "paths_simple_nonExploded": (IN_PATH, in_path("/simple", SEGMENT, "x%20y,z", "name,n%201,description,d")),
    "paths_simple_exploded": (IN_PATH, in_path("/simple", SEGMENT, "x%20y,z", "name=n%201,description=d")),
    "paths_label_nonExploded": (IN_PATH, in_path("/label", f".{SEGMENT}", ".x%20y,z", ".name,n%201,description,d")),
    "paths_label_exploded": (IN_PATH, in_path("/label", f".{SEGMENT}", ".x%20y.z", ".name=n%201.description=d")),
    "paths_matrix_nonExploded": (
        IN_PATH, in_path("/matrix", f";primitive={SEGMENT}", ";array=x%20y,z", ";object=name,n%201,description,d")),
    "paths_matrix_exploded": (
        IN_PATH, in_path("/matrix", f";primitive={SEGMENT}", ";array=x%20y;array=z", ";name=n%201;description=d")),
    "query_standard": (VALUES, f"/anything/query?primitive={ENCODED}&array=x%20y&array=z&name=n%201&description=d"),
    "query_form_nonExploded": (
        VALUES, f"/anything/query/form?primitive={ENCODED}&array=x%20y,z&object=name,n%201,description,d"),
    "query_form_exploded": (
        VALUES, f"/anything/query/form?primitive={ENCODED}&array=x%20y&array=z&name=n%201&description=d"),
    "query_pipeDelimited_nonExploded": (
        LISTS, "/anything/query/pipeDelimited?array=x%20y%7Cz&object=name%7Cn%201%7Cdescription%7Cd"),
    "query_spaceDelimited_nonExploded": (
        {"array": ["x", "z"], "object": {"name": "n", "description": "d"}},
        "/anything/query/spaceDelimited?array=x%20z&object=name%20n%20description%20d"),
    "query_deepObject_nonExploded": (
        {"object": VALUES["object"]}, "/anything/query/deepObject?object%5Bname%5D=n%201&object%5Bdescription%5D=d"),
}
# The values of the headers `primitive`, `array` and `object`.
HEADERS = {
    "headers_standard": ["a b/c", "x y,z", "name,n 1,description,d"],
    "headers_simple_nonExploded": ["a b/c", "x y,z", "name,n 1,description,d"],
    "headers_simple_exploded": ["a b/c", "x y,z", "name=n 1,description=d"],
}
EXPLODED = f"primitive={ENCODED}; array=x%20y; array=z; name=n%201; description=d"
COOKIES = {
    "cookies_standard": EXPLODED,
    "cookies_form_exploded": EXPLODED,
    "cookies_form_nonExploded": f"primitive={ENCODED}; array=x%20y,z; object=name,n%201,description,d",
}


def check(base, edition):
    def received(operation, arguments):
        status, value = call(base, f"{edition}_{operation}", arguments)
        expect(f"{edition} {operation}: {value}", status, 200)
        return value

    for operation, (arguments, target) in TARGETS.items():
        expect(f"{edition} {operation}", received(operation, arguments)["target"], target)
    for operation, values in HEADERS.items():
        headers = received(operation, PLAIN)["headers"]
        expect(f"{edition} {operation}", [headers[name] for name in ("primitive", "array", "object")], values)
    for operation, cookie in COOKIES.items():
        expect(f"{edition} {operation}", received(operation, VALUES)["headers"]["cookie"], cookie)


if __name__ == "__main__":
    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    editions = {"V30": "3.0", "V31": "3.1"}
    config = "".join(
        f'[sources.{name}]\nkind = "openapi"\ndocument = {json.dumps(str(DOCUMENT / edition / "json/parameters-style.json"))}\n'
        f'url = "http://127.0.0.1:{api.server_port}"\n'
        for name, edition in editions.items()
    )
    with serving("styles", config) as base:
        for name in editions:
            check(base, name)
    print(f"{len(editions) * (len(TARGETS) + len(HEADERS) + len(COOKIES))} requests are those of the specification")
