"""The public Python SDK of OXP, which speaks the enveloped form, against toolmux."""

import unittest

import oxp
from server import serving

KEY = "0123456789abcdef0123456789abcdef"
CONFIG = f"""
[keys.alice]
key = "{KEY}"

[sources.Calc]
kind = "command"

[sources.Calc.tools.add]
description = "Adds two numbers"
command = ["sh", "-c", "echo $(($0 + $1))", "{{a}}", "{{b}}"]
parameters = {{ a = {{ type = "integer" }}, b = {{ type = "integer" }} }}
output = "json"

[sources.Calc.tools.fail]
description = "Fails"
command = ["sh", "-c", "echo 'no such door' >&2; exit 1"]

[sources.Calc.tools.order]
description = "Needs a token of the user"
command = ["sh", "-c", "printf %s $TOKEN | wc -c"]
output = "json"

[tools."Calc.order"]
requires = {{ authorization = [{{ id = "shop", scopes = ["buy"] }}], user_id = true }}
deliver = [{{ token = "shop", env = "TOKEN" }}]
"""


class Sdk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = cls.enterClassContext(serving(CONFIG))
        cls.client = oxp.Oxp(base_url=cls.base, bearer_token=KEY, max_retries=0)

    def call(self, **request):
        return self.client.tools.call(request=request, schema="urn:oxp:1.0").result

    def test_health(self):
        self.client.health.check()

    def test_list(self):
        items = {item.id: item for item in self.client.tools.list().items}
        self.assertEqual(set(items), {"Calc.add@1.0.0", "Calc.fail@1.0.0", "Calc.order@1.0.0"})
        self.assertEqual(items["Calc.add@1.0.0"].name, "Calc_add")
        requirements = items["Calc.order@1.0.0"].requirements
        self.assertEqual(requirements.authorization[0].id, "shop")
        self.assertEqual(requirements.authorization[0].oauth2.scopes, ["buy"])
        self.assertTrue(requirements.user_id)

    def test_call(self):
        for tool_id in ["Calc.add", "Calc.add@1", "Calc.add@1.0.0"]:
            result = self.call(tool_id=tool_id, call_id="call-1", input={"a": 10, "b": 5})
            self.assertEqual((result.success, result.value, result.call_id), (True, 15, "call-1"))
            self.assertGreaterEqual(result.duration, 0)

    def test_tool_failure_is_an_answer(self):
        result = self.call(tool_id="Calc.fail")
        self.assertIs(result.success, False)
        self.assertIn("no such door", result.error.message)
        self.assertIs(result.error.can_retry, False)

    def test_unknown_tool_is_a_bad_request(self):
        for tool_id in ["Calc.subtract", "Calc.add@2.0.0", "nonsense"]:
            with self.assertRaises(oxp.BadRequestError):
                self.call(tool_id=tool_id)

    def test_invalid_input_is_unprocessable(self):
        with self.assertRaises(oxp.UnprocessableEntityError) as raised:
            self.call(tool_id="Calc.add", input={"a": 10, "b": "infinity"})
        self.assertEqual(list(raised.exception.body["parameter_errors"]), ["b"])

    def test_wrong_key_is_an_authentication_error(self):
        stranger = oxp.Oxp(base_url=self.base, bearer_token="wrong", max_retries=0)
        with self.assertRaises(oxp.AuthenticationError):
            stranger.tools.list()

    def test_missing_requirements_are_named_and_met(self):
        with self.assertRaises(oxp.BadRequestError) as raised:
            self.call(tool_id="Calc.order")
        missing = raised.exception.body["missing_requirements"]
        self.assertEqual((missing["authorization"][0]["id"], missing["user_id"]), ("shop", True))
        context = {"authorization": [{"id": "shop", "token": "12345"}], "user_id": "ann"}
        self.assertEqual(self.call(tool_id="Calc.order", context=context).value, 5)

    def test_version_of_the_server_is_in_every_answer(self):
        for answer in [
            self.client.health.with_raw_response.check(),
            self.client.tools.with_raw_response.list(),
        ]:
            self.assertEqual(answer.headers["OXP-Version"], "1.0")


if __name__ == "__main__":
    unittest.main()
