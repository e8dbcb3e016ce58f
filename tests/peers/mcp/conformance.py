"""The tools, prompts and resources that the official conformance suite wants to see, as an MCP server on
standard streams. usage: conformance.py [modern|legacy]"""

import concurrent.futures
import hashlib
import hmac
import itertools
import json
import sys
import threading
import time

ERA = sys.argv[1] if len(sys.argv) > 1 else "modern"
KEY = b"conformance"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
LOCK = threading.Lock()
WAITING = {}
NUMBERS = itertools.count()
# Longer than toolmux waits for a plain result before it makes a task of a call.
SLOW = 1
STATE = {"tool": False, "prompt": False}
META = "io.modelcontextprotocol/"


class Fault(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.body = {"code": code, "message": message, **({} if data is None else {"data": data})}


class InputRequired(Exception):
    def __init__(self, requests, state=None):
        super().__init__("input required")
        self.result = {"resultType": "input_required", "inputRequests": requests}
        if state is not None:
            self.result["requestState"] = state


def send(message):
    with LOCK:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def form(message, properties, required=()):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(prompt, tokens=100):
    messages = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}


def signed(state):
    return f"{state}.{hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()}"


def opened(sealed):
    state = (sealed or "").rpartition(".")[0]
    if not state or signed(state) != sealed:
        raise Fault(-32602, "requestState failed its integrity check")
    return state


class Request:
    def __init__(self, message):
        self.id, self.method = message["id"], message["method"]
        self.params = message.get("params") or {}
        self.meta = self.params.get("_meta") or {}
        self.can = self.meta.get(META + "clientCapabilities", {})
        responses = self.params.get("inputResponses")
        self.responses = responses if isinstance(responses, dict) else {}

    def told(self, method, **params):
        send({"method": method, "params": params})

    def able(self, request):
        need = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
        return ERA == "legacy" or need[request["method"]] in self.can

    def asked_together(self, requests):
        if ERA == "modern":
            return self.asked(requests)
        with concurrent.futures.ThreadPoolExecutor() as asking:
            return dict(zip(requests, asking.map(ask, requests.values())))

    def asked(self, requests, state=None):
        """The answers to these questions, however this era asks."""
        if ERA == "legacy":
            return {key: ask(request) for key, request in requests.items()}
        good = {key: self.responses[key] for key in requests if isinstance(self.responses.get(key), dict)}
        missing = {key: request for key, request in requests.items() if key not in good}
        unable = [request["method"] for request in missing.values() if not self.able(request)]
        if unable:
            need = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
            data = {"requiredCapabilities": {need[method]: {} for method in unable}}
            raise Fault(-32021, "missing client capability", data)
        if missing:
            raise InputRequired(missing, state)
        return good


def ask(request):
    key = f"q{next(NUMBERS)}"
    WAITING[key] = [threading.Event(), None]
    send({"id": key, **request})
    WAITING[key][0].wait(20)
    answer = WAITING.pop(key)[1] or {"error": {"code": -32603, "message": "no answer"}}
    if "error" in answer:
        raise Fault(-32603, answer["error"]["message"])
    return answer["result"]


def completed(label, answer):
    return text(f"{label}action={answer.get('action')}, content={json.dumps(answer.get('content', {}))}")


def name_of(answer):
    content = answer.get("content") if isinstance(answer, dict) else None
    return content.get("name") if isinstance(content, dict) else None


def elicitation(request):
    question = {"user_name": form("What is your name?", {"name": {"type": "string"}}, ["name"])}
    name = name_of(request.asked(question)["user_name"])
    if not isinstance(name, str):
        raise InputRequired(question)
    return text(f"Hello, {name}!")


def sampled(request):
    answer = request.asked({"capital_question": sampling("What is the capital of France?")})["capital_question"]
    return text(f"Model said: {answer.get('content', {}).get('text')}")


def roots(request):
    answer = request.asked({"client_roots": ROOTS})["client_roots"]
    return text("Roots: " + ", ".join(root["uri"] for root in answer.get("roots", [])))


def confirmed(request):
    question = {"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}
    request.asked(question, signed("confirm"))
    if ERA == "modern":
        opened(request.params.get("requestState"))
    return text("state-ok")


def several(request):
    questions = {"user_name": form("What is your name?", {"name": {"type": "string"}}, ["name"]),
                 "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    answers = request.asked(questions, signed("several"))
    return text(f"Hello {name_of(answers['user_name'])}")


def rounds(request):
    first = {"step1": form("Step 1: What is your name?", {"name": {"type": "string"}}, ["name"])}
    second = {"step2": form("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])}
    if "step2" in request.responses:
        return text(f"Done: {opened(request.params.get('requestState'))}")
    name = name_of(request.asked(first, signed("round-1"))["step1"])
    request.responses = {}
    request.asked(second, signed(f"round-2-{name}"))
    return text("Done")


def tampered(request):
    if "requestState" in request.params:
        opened(request.params["requestState"])
    return confirmed(request)


def capable(request):
    able = {key: question for key, question in {
        "user_name": form("What is your name?", {"name": {"type": "string"}}, ["name"]),
        "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}.items() if request.able(question)}
    request.asked(able)
    return text("asked only what can be answered")


def greeting(request):
    return text(f"Hello, {request.params['arguments']['name']}!")


def computed(request):
    arguments = request.params["arguments"]
    time.sleep(arguments["seconds"])
    return text(f"computed {arguments.get('label')}")


def failing(_):
    time.sleep(SLOW)
    return {**text("the job failed"), "isError": True}


def breaking(_):
    time.sleep(SLOW)
    raise Fault(-32603, "the job broke")


def confirming(*names):
    """Asks once it is too late for a plain result: everything at a time."""
    questions = {name: form(f"Confirm {name}?", {"confirm": {"type": "boolean"}}, ["confirm"]) for name in names}

    def confirm(request):
        if not request.responses:
            time.sleep(SLOW)
        return text(f"confirmed: {sorted(request.asked_together(questions))}")
    return confirm


def asking_first(request):
    question = {"user_name": form("What is your name?", {"name": {"type": "string"}}, ["name"])}
    name = name_of(request.asked(question)["user_name"])
    time.sleep(SLOW)
    return text(f"Hello, {name}!")


def logging(request):
    level = request.meta.get(META + "logLevel") if ERA == "modern" else "info"
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        if level:
            request.told("notifications/message", level="info", data=words)
        time.sleep(0.05)
    return text("logged")


def progress(request):
    for step in (0, 50, 100):
        if "progressToken" in request.meta:
            request.told("notifications/progress", progressToken=request.meta["progressToken"], progress=step, total=100)
        time.sleep(0.05)
    return text("progressed")


def changed(kind):
    def change(_):
        STATE[kind] = not STATE[kind]
        send({"method": f"notifications/{kind}s/list_changed"})
        return text("changed")
    return change


EMBEDDED = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}
MIXED = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": '{"test":"data","value":123}'}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": True},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}}
OPTIONS = [f"option{n}" for n in (1, 2, 3)]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"), (3, "Third"))]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS}, "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                   "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}}}
USER = {"username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"}}

TOOLS = {
    "test_simple_text": lambda _: text("This is a simple text response for testing."),
    "test_image_content": lambda _: {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]},
    "test_audio_content": lambda _: {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    "test_embedded_resource": lambda _: {"content": [{"type": "resource", "resource": EMBEDDED}]},
    "test_multiple_content_types": lambda _: {"content": [
        {"type": "text", "text": "Multiple content types test:"},
        {"type": "image", "data": PNG, "mimeType": "image/png"}, {"type": "resource", "resource": MIXED}]},
    "test_tool_with_logging": logging,
    "test_logging_tool": logging,
    "test_tool_with_progress": progress,
    "test_error_handling": lambda _: {**text("This tool intentionally returns an error for testing"), "isError": True},
    "test_sampling": lambda request: text("LLM response: " + str(request.asked(
        {"s": sampling(request.params["arguments"]["prompt"])})["s"].get("content", {}).get("text"))),
    "test_elicitation": lambda request: completed("User response: ", request.asked(
        {"e": form(request.params["arguments"]["message"], USER, USER)})["e"]),
    "test_streaming_elicitation": elicitation,
    "test_missing_capability": sampled,
    "test_elicitation_sep1034_defaults": lambda request: completed(
        "Elicitation completed: ", request.asked({"e": form("Check the defaults", DEFAULTS)})["e"]),
    "test_elicitation_sep1330_enums": lambda request: completed(
        "Elicitation completed: ", request.asked({"e": form("Choose", ENUMS)})["e"]),
    "test_reconnection": lambda _: text("reconnected"),
    "test_trigger_tool_change": changed("tool"),
    "test_trigger_prompt_change": changed("prompt"),
    "test_input_required_result_elicitation": elicitation,
    "test_input_required_result_sampling": sampled,
    "test_input_required_result_list_roots": roots,
    "test_input_required_result_request_state": confirmed,
    "test_input_required_result_multiple_inputs": several,
    "test_input_required_result_multi_round": rounds,
    "test_input_required_result_tampered_state": tampered,
    "test_input_required_result_capabilities": capable,
    "json_schema_2020_12_tool": lambda _: text("valid"),
    "test_mirrored_parameter": lambda request: text(request.params["arguments"]["region"]),
    "greet": greeting,
    "slow_compute": computed,
    "failing_job": failing,
    "protocol_error_job": breaking,
    "confirm_delete": confirming("deletion"),
    "multi_input": confirming("first", "second"),
    "test_tool_with_task": asking_first,
}

# What tools say of tasks; of the others it is not known.
TASKS = {"greet": "forbidden", "slow_compute": "optional", "failing_job": "required", "protocol_error_job": "optional",
         "confirm_delete": "optional", "multi_input": "optional", "test_tool_with_task": "required"}

SCHEMAS = {
    "greet": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "slow_compute": {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}},
                     "required": ["seconds"]},
    "confirm_delete": {"type": "object", "properties": {"filename": {"type": "string"}}, "required": ["filename"]},
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_mirrored_parameter": {"type": "object", "required": ["region"],
                                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                       "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                       "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False},
}

PROMPTS = {
    "test_simple_prompt": ([], lambda _: said("This is a simple prompt for testing.")),
    "test_prompt_with_arguments": (["arg1", "arg2"], lambda a: said(
        f"Prompt with arguments: arg1='{a['arg1']}', arg2='{a['arg2']}'")),
    "test_prompt_with_embedded_resource": (["resourceUri"], lambda a: [
        message({"type": "resource", "resource": {"uri": a["resourceUri"], "mimeType": "text/plain",
                                                  "text": "Embedded resource content for testing."}}),
        *said("Please process the embedded resource above.")]),
    "test_prompt_with_image": ([], lambda _: [
        message({"type": "image", "data": PNG, "mimeType": "image/png"}), *said("Please analyze the image above.")]),
    "test_input_required_result_prompt": ([], None),
}

RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}


def message(content):
    return {"role": "user", "content": content}


def said(words):
    return [message({"type": "text", "text": words})]


def prompt(request):
    name, arguments = request.params["name"], request.params.get("arguments", {})
    if name not in PROMPTS:
        raise Fault(-32602, f"unknown prompt {name}")
    if name == "test_input_required_result_prompt":
        question = form("What context should the prompt use?", {"context": {"type": "string"}}, ["context"])
        answer = request.asked({"user_context": question})["user_context"]
        return {"messages": said(f"Context: {answer.get('content', {}).get('context')}")}
    return {"messages": PROMPTS[name][1](arguments)}


def resource(request):
    uri = request.params["uri"]
    if uri.startswith("test://template/") and uri.endswith("/data"):
        key = uri.split("/")[3]
        body = json.dumps({"id": key, "templateTest": True, "data": f"Data for ID: {key}"}, separators=(",", ":"))
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": body}]}
    if uri not in RESOURCES:
        raise Fault(-32602 if ERA == "modern" else -32002, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, **RESOURCES[uri]}]}


def listed_tools():
    names = [*TOOLS, *(["test_extra_tool"] if STATE["tool"] else [])]
    return [{"name": name, "description": name.replace("_", " "),
             "inputSchema": SCHEMAS.get(name, {"type": "object", "properties": {}}),
             **({"execution": {"taskSupport": TASKS[name]}} if name in TASKS else {})} for name in names]


def listed_prompts():
    more = [{"name": "test_extra_prompt", "description": "extra"}] if STATE["prompt"] else []
    return [{"name": name, "description": name.replace("_", " "), "arguments": [
        {"name": argument, "description": argument, "required": True} for argument in arguments]}
        for name, (arguments, _) in PROMPTS.items()] + more


CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "logging": {}, "completions": {},
                "resources": {"subscribe": True, "listChanged": True}}


def answer(request):
    method, params = request.method, request.params
    if method == "initialize" and ERA == "legacy":
        return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES,
                "serverInfo": {"name": "conformance", "version": "1"}}
    if method == "server/discover" and ERA == "modern":
        return {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, "ttlMs": 0, "cacheScope": "public"}
    if method == "tools/list":
        return {"tools": listed_tools()}
    if method == "tools/call":
        return TOOLS[params["name"]](request)
    if method == "prompts/list":
        return {"prompts": listed_prompts()}
    if method == "prompts/get":
        return prompt(request)
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": uri.rpartition("/")[2], "mimeType": body["mimeType"]}
                              for uri, body in RESOURCES.items()]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template"}]}
    if method == "resources/read":
        return resource(request)
    if method in ("resources/subscribe", "resources/unsubscribe", "ping", "logging/setLevel") and ERA == "legacy":
        return {}
    if method == "completion/complete":
        return {"completion": {"values": ["paris", "park", "party"], "total": 150, "hasMore": False}}
    raise Fault(-32601, f"{method} is not available")


def handle(incoming):
    request = Request(incoming)
    if request.method == "subscriptions/listen" and ERA == "modern":
        send({"method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": {META + "subscriptionId": request.id}, "notifications": request.params["notifications"]}})
        return
    try:
        result = answer(request)
        if ERA == "modern":
            result.setdefault("resultType", "complete")
        send({"id": request.id, "result": result})
    except InputRequired as required:
        send({"id": request.id, "result": required.result})
    except Fault as fault:
        send({"id": request.id, "error": fault.body})
    except Exception as error:
        send({"id": request.id, "error": {"code": -32603, "message": repr(error)}})


def main():
    for line in sys.stdin:
        incoming = json.loads(line)
        if "method" not in incoming:
            waiting = WAITING.get(incoming["id"])
            if waiting:
                waiting[1] = incoming
                waiting[0].set()
        elif "id" in incoming:
            threading.Thread(target=handle, args=(incoming,), daemon=True).start()


main()
