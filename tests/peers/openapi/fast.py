"""A FastAPI application (3.1), called by the document that it makes of itself: every call must be answered with what the
application read of it."""

import os
import pathlib
import sys

from toolmux import call, expect, running, serving

APPLICATION = '''
from enum import Enum
from typing import Annotated, Literal, Union

from fastapi import Body, Cookie, FastAPI, File, Form, Header, Query, Response, Security, UploadFile
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, Field

app = FastAPI(title="Shop", version="2.1")
key = APIKeyHeader(name="X-Key")


class Colour(str, Enum):
    red = "red"
    blue = "blue"


class Part(BaseModel):
    name: str
    parts: list["Part"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool | None = None


class Order(BaseModel):
    parts: dict[str, Part]
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]


@app.get("/items/{number}/{path:path}")
def get_item(number: int, path: str, colours: Annotated[list[Colour], Query()] = [], limit: float | None = None,
             x_trace: Annotated[str | None, Header()] = None, session: Annotated[str | None, Cookie()] = None):
    return {"number": number, "path": path, "colours": colours, "limit": limit, "trace": x_trace, "session": session}


@app.post("/orders", status_code=201)
def add_order(order: Order) -> Order:
    return order


@app.put("/orders/{number}")
def replace_order(number: int, order: Order, note: Annotated[str, Body()] = "none"):
    return {"number": number, "order": order, "note": note}


@app.post("/login")
def login(name: Annotated[str, Form()], tags: Annotated[list[str], Form()] = []):
    return {"name": name, "tags": tags}


@app.post("/files")
async def send(one: UploadFile, note: Annotated[str, Form()], many: Annotated[list[UploadFile], File()] = []):
    return {"one": [one.filename, one.content_type, (await one.read()).hex()], "note": note,
            "many": [(await file.read()).decode() for file in many]}


@app.get("/secret")
def secret(given: Annotated[str, Security(key)]):
    return given


@app.delete("/orders/{number}", status_code=204)
def remove(number: int):
    return Response(status_code=204)


@app.get("/plain")
def plain():
    return Response("just text", media_type="text/plain")


@app.get("/busy")
def busy():
    return Response("later", status_code=503, headers={"Retry-After": "7"})


@app.get("/pages")
def pages(response: Response, page: int = 1):
    response.headers["Link"] = f'</pages?page={page + 1}>; rel="next"'
    return {"page": page}
'''

ORDER = {"parts": {"ä b": {"name": "axle", "parts": [{"name": "nut", "parts": []}]}}, "pet": {"kind": "cat", "lives": 9}}
DOG = {"parts": {}, "pet": {"kind": "dog", "good": None}}

# The tool, its arguments, and the status and value that it gives.
CALLS = [
    ("get_item_items__number___path__get",
     {"number": 7, "path": "a", "colours": ["red", "blue"], "limit": 1.5, "x-trace": "t 1", "session": "s;=ü"},
     (200, {"number": 7, "path": "a", "colours": ["red", "blue"], "limit": 1.5, "trace": "t 1", "session": "s%3B%3D%C3%BC"})),
    ("add_order_orders_post", ORDER, (200, ORDER)),
    ("add_order_orders_post", DOG, (200, DOG)),
    ("replace_order_orders__number__put", {"number": 1, "order": DOG, "note": "n"}, (200, {"number": 1, "order": DOG, "note": "n"})),
    ("login_login_post", {"name": "a&b=c d", "tags": ["x", "y z"]}, (200, {"name": "a&b=c d", "tags": ["x", "y z"]})),
    ("send_files_post",
     {"one": {"base64": "AP8=", "filename": "ü.bin", "content_type": "image/png"}, "note": "n",
      "many": [{"text": "first", "filename": "1"}, {"text": "second", "filename": "2"}]},
     (200, {"one": ["ü.bin", "image/png", "00ff"], "note": "n", "many": ["first", "second"]})),
    ("secret_secret_get", {}, (200, "from the configuration")),
    ("remove_orders__number__delete", {"number": 1}, (200, None)),
    ("plain_plain_get", {}, (200, "just text")),
]
# What the application would refuse never reaches it.
REFUSED = [
    ("get_item_items__number___path__get", {"number": "seven", "path": "a"}, "number"),
    ("get_item_items__number___path__get", {"number": 7, "path": "../secret"}, "path"),
    ("get_item_items__number___path__get", {"number": 7, "path": "a", "colours": ["green"]}, "colours"),
    ("add_order_orders_post", {**ORDER, "pet": {"kind": "cat", "lives": 10}}, "pet"),
    ("add_order_orders_post", {"parts": {}}, "pet"),
]


def check(base):
    for tool, arguments, wanted in CALLS:
        expect(f"{tool} {arguments}", call(base, f"Shop_{tool}", arguments), wanted)
    for tool, arguments, name in REFUSED:
        status, value = call(base, f"Shop_{tool}", arguments)
        expect(f"{tool} {arguments}: {value}", (status, name in str(value)), (422, True))
    status, value = call(base, "Shop_busy_busy_get", {})
    expect(f"busy: {value}", (status, "later" in str(value)), (502, True))


if __name__ == "__main__":
    folder = pathlib.Path(os.environ["TOOLMUX_SCRATCH"])
    (folder / "shop.py").write_text(APPLICATION)
    command = [sys.executable, "-m", "uvicorn", "shop:app", "--app-dir", str(folder), "--port", "0"]
    with running(command, r"running on (http://\S+)") as api:
        config = (
            f'[sources.Shop]\nkind = "openapi"\ndocument = "{api}/openapi.json"\noutput = "strict"\n'
            'headers = { X-Key = "from the configuration" }\n'
        )
        with serving("shop", config) as base:
            check(base)
    print(f"{len(CALLS)} calls were read by the application as they were meant, {len(REFUSED)} did not reach it")
