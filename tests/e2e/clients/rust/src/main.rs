//! A client on the Rust SDK: takes the steps of a file with a server and prints a line of JSON for each.
//!
//!     client STEPS COMMAND...
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::{Peer, RoleClient, ServiceError};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

async fn take(peer: &Peer<RoleClient>, step: &[Value]) -> Result<Value, ServiceError> {
    let word = |at: usize| step[at].as_str().unwrap_or_default().to_string();
    let shown = |value: Result<Value, serde_json::Error>| value.unwrap_or(Value::Null);
    Ok(match word(0).as_str() {
        "list_tools" => shown(serde_json::to_value(peer.list_tools(None).await?)),
        "call" => {
            let arguments = step[2].as_object().cloned().unwrap_or_default();
            let params = CallToolRequestParams::new(word(1)).with_arguments(arguments);
            shown(serde_json::to_value(peer.call_tool(params).await?))
        }
        "list_prompts" => shown(serde_json::to_value(peer.list_prompts(None).await?)),
        "get_prompt" => shown(serde_json::to_value(peer.get_prompt(GetPromptRequestParams::new(word(1))).await?)),
        "list_resources" => shown(serde_json::to_value(peer.list_resources(None).await?)),
        _ => shown(serde_json::to_value(peer.read_resource(ReadResourceRequestParams::new(word(1))).await?)),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let steps: Vec<Vec<Value>> = serde_json::from_str(&std::fs::read_to_string(&words[1])?)?;
    let mut command = tokio::process::Command::new(&words[2]);
    command.args(&words[3..]);
    let service = ().serve(TokioChildProcess::new(command)?).await?;
    for step in steps {
        let got = match take(&service, &step).await {
            Ok(value) => value,
            Err(ServiceError::McpError(error)) => json!({"error": {"code": error.code, "message": error.message}}),
            Err(error) => return Err(error.into()),
        };
        println!("{}", json!({"step": step, "got": got}));
    }
    service.cancel().await?;
    Ok(())
}
