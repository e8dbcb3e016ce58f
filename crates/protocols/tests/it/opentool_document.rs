//! OpenTool documents: every fault with its place, references, and nothing lost on the way through.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolmux_core::tool::{Passthrough, Tool};
use toolmux_protocols::opentool::{
    Function, FunctionSchema, Info, OpenTool, Parameter, Properties, Reference, Return, Type, Typed, check,
};

const CRUD: &str = include_str!("opentool_documents/crud.json");
const FAULTY: &str = include_str!("opentool_documents/faulty.json");

/// What documents are made of.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "1",
    "\"opentool\":",
    "\"info\":{",
    "\"functions\":[{",
    "\"schemas\":{",
    "\"type\":\"object\"",
    "\"$ref\":",
    "\"enum\":[",
    "\"items\":{",
    "\"name\":\"x\"",
    "\"parameters\":[",
    "\"x\"",
];

fn check_input(function: usize, expect: Value) {
    let document: OpenTool = CRUD.parse().expect("a document");
    assert_eq!(*document.tools()[function].input.value(), expect);
}

#[test]
fn every_fault_is_told_with_its_place_and_remedy() {
    let told: Vec<String> =
        check(FAULTY).iter().map(|fault| format!("{fault}\n    {}", fault.remedy)).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_good_document_has_no_faults() {
    assert_eq!(check(CRUD), Vec::new());
}

#[test]
fn a_text_that_is_no_json_says_where() {
    let told = |text: &str| check(text).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(told("{\n  \"opentool\": "), @"2:14: the text is not JSON: EOF while parsing a value at line 2 column 14 at `$`");
    insta::assert_snapshot!(told(r#"{"a": 1, "a": 2}"#), @"1:12: the text is not JSON: duplicate key `a` at line 1 column 12 at `$`");
    insta::assert_snapshot!(told("[]"), @"1:1: must be an object, not array at `$`");
}

#[test]
fn references_are_followed_in_any_order_through_aliases_and_cut_at_cycles() {
    let document: OpenTool = CRUD.parse().expect("a document");
    let resolved = serde_json::to_value(document.resolved()).expect("JSON");
    let create = &resolved["functions"][1];
    assert_eq!(create["return"]["schema"], json!({ "type": "integer" }));
    let note = json!({ "type": "object", "description": "The note, as a whole", "required": ["text"],
        "properties": { "text": { "type": "string" },
            "answers": { "type": "array", "items": { "type": "object", "properties": {} } } } });
    assert_eq!(create["parameters"][0]["schema"], note);
    assert!(!resolved.to_string().contains("$ref"));
}

#[test]
fn functions_become_tools_with_one_schema_of_all_parameters() {
    check_input(0, json!({ "type": "object", "properties": {} }));
    check_input(
        1,
        json!({ "type": "object", "required": ["note"], "properties": {
            "note": { "type": "object", "description": "What to write\nThe note, as a whole", "required": ["text"],
                "properties": { "text": { "type": "string" },
                    "answers": { "type": "array", "items": { "type": "object", "properties": {} } } } },
            "color": { "type": ["string", "null"], "enum": ["red", "blue", null] },
            "weight": { "type": "number", "enum": [1, 1.5] } } }),
    );
    let document: OpenTool = CRUD.parse().expect("a document");
    assert_eq!(document.tools()[0].version.to_string(), "2.1.0");
}

#[test]
fn a_document_is_written_as_it_was_read() {
    let read: Value = serde_json::from_str(CRUD).expect("JSON");
    let document: OpenTool = CRUD.parse().expect("a document");
    let mut written: Value = serde_json::from_str(&document.to_json()).expect("JSON");
    written["functions"][2]["return"] = Value::Null;
    assert_eq!(written, read);
}

#[test]
fn members_nobody_specified_are_kept() {
    let text = r#"{"opentool":"1.0.0","info":{"title":"T","version":"1","x":1},"functions":[{"name":"f","description":"d","parameters":[{"name":"p","schema":{"type":"string","format":"date"},"required":true,"y":2}],"z":3}],"w":4}"#;
    let document: OpenTool = text.parse().expect("a document");
    let (read, written): (Value, Value) =
        (serde_json::from_str(text).expect("JSON"), serde_json::to_value(document).expect("JSON"));
    assert_eq!(read, written);
}

#[test]
fn documents_come_from_files_and_say_which_cannot_be_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/opentool_documents/");
    let load = |name: &str| OpenTool::from_file(format!("{folder}{name}").as_ref());
    assert_eq!(load("crud.json").expect("a document").functions.len(), 3);
    assert!(load("none.json").expect_err("no file").to_string().contains("none.json"));
    assert!(load("faulty.json").expect_err("faults").to_string().starts_with("the document has 2"));
}

#[test]
fn references_that_grow_without_end_are_cut() {
    let schema = |next: usize| {
        let twice = json!({ "$ref": format!("#/schemas/S{next}") });
        json!({ "type": "object", "properties": { "a": twice, "b": twice } })
    };
    let mut schemas: Map<String, Value> = (0..40).map(|n| (format!("S{n}"), schema(n + 1))).collect();
    schemas.insert("S40".into(), json!({ "type": "string" }));
    let deep = (0..2_000).map(|n| {
        let next = json!({ "$ref": format!("#/schemas/D{}", (n + 1) % 2_000) });
        (format!("D{n}"), json!({ "type": "array", "items": next }))
    });
    schemas.extend(deep);
    let parameter = |name: &str, start: &str| json!({ "name": name, "schema": { "$ref": format!("#/schemas/{start}") }, "required": true });
    let document = json!({ "opentool": "1.1.0", "info": { "title": "T", "version": "1" }, "schemas": schemas,
        "functions": [{ "name": "f", "description": "d", "parameters": [parameter("wide", "S0"), parameter("deep", "D0")] }] });
    let document: OpenTool = document.to_string().parse().expect("a document");
    assert!(serde_json::to_string(&document.tools()[0].input.value()).expect("JSON").len() < 1 << 20);
}

fn words() -> impl Strategy<Value = String> {
    "[a-zA-Z é~/\"\\\\.]{0,12}"
}

fn schemas() -> impl Strategy<Value = FunctionSchema> {
    let leaf = prop_oneof![
        (0usize..5, proptest::option::of(words())).prop_map(|(n, description)| {
            FunctionSchema::Reference(Reference { name: format!("S{n}"), description, extra: Map::new() })
        }),
        (proptest::option::of(words()), proptest::option::of(proptest::collection::vec(words(), 1..4)))
            .prop_map(|(description, choices)| {
                let choices = choices.map(|choices| choices.into_iter().map(Value::from).collect());
                Typed { description, choices, ..Typed::of(Type::String) }.into()
            }),
        proptest::option::of(proptest::collection::vec(proptest::option::of(any::<i64>()), 1..4)).prop_map(
            |choices| {
                let choices = choices.map(|choices| choices.into_iter().map(Value::from).collect());
                Typed { choices, ..Typed::of(Type::Integer) }.into()
            }
        ),
        prop_oneof![Just(Type::Boolean), Just(Type::Number)].prop_map(|kind| Typed::of(kind).into()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| Typed { items: Some(items), ..Typed::of(Type::Array) }.into()),
            (proptest::collection::vec(inner, 0..3), any::<bool>()).prop_map(|(members, all)| {
                let members: Vec<(String, FunctionSchema)> =
                    members.into_iter().enumerate().map(|(n, schema)| (format!("m {n}"), schema)).collect();
                let required = all.then(|| members.iter().map(|(name, _)| name.clone()).collect());
                Typed { properties: Some(Properties(members)), required, ..Typed::of(Type::Object) }.into()
            }),
        ]
    })
}

prop_compose! {
    fn returns()(name in words(), description in proptest::option::of(words()), schema in schemas()) -> Return {
        Return { name, description, schema, extra: Map::new() }
    }
}

prop_compose! {
    fn functions()(
        description in words(),
        parameters in proptest::collection::vec((proptest::option::of(words()), schemas(), any::<bool>()), 0..4),
        returned in proptest::option::of(returns()),
        stream in proptest::option::of(returns()),
    ) -> Function {
        let parameter = |(n, (description, schema, required)): (usize, (Option<String>, FunctionSchema, bool))| Parameter {
            name: format!("p{n}"), description, schema, required, extra: Map::new(),
        };
        Function {
            name: String::new(),
            description,
            parameters: parameters.into_iter().enumerate().map(parameter).collect(),
            returns: returned,
            stream: stream.into_iter().map(|returns| ("data".to_owned(), returns)).collect(),
            extra: Map::new(),
        }
    }
}

prop_compose! {
    fn documents()(
        functions in proptest::collection::vec(functions(), 0..3),
        schemas in proptest::collection::vec(schemas(), 5..6),
        title in words(),
        version in "[0-9]{1,2}\\.[0-9]\\.[0-9]",
    ) -> OpenTool {
        let named = |(n, function): (usize, Function)| Function { name: format!("f-{n}_"), ..function };
        OpenTool {
            opentool: "1.1.0".into(),
            info: Info { title, description: None, version, extra: Map::new() },
            server: None,
            functions: functions.into_iter().enumerate().map(named).collect(),
            schemas: schemas.into_iter().enumerate().map(|(n, schema)| (format!("S{n}"), schema)).collect(),
            extra: Map::new(),
        }
    }
}

fn bare(tool: &Tool) -> Tool {
    Tool { extra: Passthrough::default(), ..tool.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn arbitrary_bytes_never_break_the_loader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_json_never_breaks_the_loader(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..40)) {
        let text: String = words.concat();
        check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a_document_with_any_member_damaged_never_breaks_the_loader(place in 0usize..2_000, with in "[ -~]{0,6}") {
        let mut text = CRUD.to_owned();
        let place = place.min(text.len() - 1);
        text.replace_range(place..=place, &with);
        for fault in check(&text) {
            prop_assert!(fault.line <= text.lines().count() + 1 && !fault.what.is_empty());
        }
    }

    #[test]
    fn a_document_survives_the_way_through_text(document in documents()) {
        let read: OpenTool = document.to_json().parse().expect("what we write has no faults");
        prop_assert_eq!(&read, &document);
    }

    #[test]
    fn a_document_survives_the_way_through_the_catalogue(document in documents()) {
        let resolved = document.resolved();
        for (tool, function) in document.tools().iter().zip(&resolved.functions) {
            // By what goes along beside it, to the letter; by what every protocol knows, in meaning.
            let said = tool.extra.of_protocol("opentool").expect("it came by OpenTool").get();
            prop_assert_eq!(said, serde_json::to_string(function).expect("JSON"));
            let told = OpenTool { functions: vec![Function::of_tool(&bare(tool))], schemas: Vec::new(), ..document.clone() };
            let again: OpenTool = told.to_json().parse().expect("what we tell has no faults");
            let again = &again.tools()[0];
            prop_assert_eq!(again.input.value(), tool.input.value());
            prop_assert_eq!((&again.name, &again.description), (&tool.name, &tool.description));
        }
    }
}

#[test]
fn a_mark_at_the_beginning_of_a_file_is_not_part_of_it() {
    assert_eq!(check(&format!("\u{feff}{CRUD}")), check(CRUD));
    assert!(format!("\u{feff}{CRUD}").parse::<OpenTool>().is_ok());
}
