//! Typed clients of other servers. Each is made of an address, `Client::new("http://127.0.0.1:9627")`, and takes a key
//! with `.key(&Secret)` and bounds of time and size with `.limits(HttpLimits)`.

/// A client of ATS servers: start a task, follow it, cancel it.
pub mod ats {
    pub use toolmux_protocols::ats::{
        AtsClient as Client, AtsError, AtsTool, Followed, MissingToken, ParameterFault, RefusalDocument,
        TaskDocument, TaskError,
    };
}

/// A client of OpenTool servers, and OpenTool documents.
pub mod opentool {
    pub use toolmux_protocols::opentool::{
        Client, ClientError, DocumentServer, Events, Function, FunctionCall, FunctionSchema, Info, LoadError,
        OpenTool, OpenToolInterface, Parameter, Properties, Reference, Return, StreamEvent, ToolException,
        ToolReturn, ToolSource, Type, Typed, check,
    };
}

/// A client of OXP servers: list, call with retries, wait for a user's decision.
pub mod oxp {
    pub use toolmux_protocols::oxp::{
        Answered, OxpClient as Client, OxpError, OxpTool, Patience, ToolCall, ToolList, Waited,
    };
}
