//! The least a loop can do.

use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::{Value, json};
use sse_stream::SseStream;

/// One agent: a client and its history, each message as encoded bytes.
pub(crate) struct Raw {
    client: reqwest::Client,
    url: String,
    head: Bytes,
    messages: Vec<Bytes>,
}

impl Raw {
    pub(crate) fn new(base_url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tools = json!([{ "type": "function", "function": {
            "name": "square",
            "description": "The square of a number.",
            "parameters": {
                "type": "object",
                "properties": { "number": { "type": "integer", "minimum": 0 } },
                "required": ["number"],
                "additionalProperties": false
            }
        }}]);
        let head = format!(r#"{{"model":"small","tools":{tools},"messages":["#);
        let system = json!({ "role": "system", "content": "You are an assistant. ".repeat(70) });
        Self {
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            url: format!("{base_url}/chat/completions"),
            head: head.into(),
            messages: vec![system.to_string().into()],
        }
    }

    /// Another agent with a history of its own, over the same connections.
    pub(crate) fn sharing_its_connections(&self) -> Self {
        Self {
            client: self.client.clone(),
            url: self.url.clone(),
            head: self.head.clone(),
            messages: self.messages.clone(),
        }
    }

    pub(crate) async fn turn(&mut self, task: &str) {
        self.push(json!({ "role": "user", "content": task }));
        loop {
            let reply = self.call().await;
            let calls = reply.calls.clone();
            self.push(reply.into_message());
            if calls.is_empty() {
                return;
            }
            for (id, arguments) in calls {
                let arguments: Value = serde_json::from_str(&arguments).unwrap();
                let number = arguments["number"].as_u64().unwrap();
                let result = (number * number).to_string();
                self.push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
            }
        }
    }

    fn push(&mut self, message: Value) {
        self.messages.push(message.to_string().into());
    }

    fn body(&self) -> Vec<u8> {
        let size = self.head.len()
            + self
                .messages
                .iter()
                .map(|message| message.len() + 1)
                .sum::<usize>()
            + 64;
        let mut body = Vec::with_capacity(size);
        body.extend_from_slice(&self.head);
        for (index, message) in self.messages.iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(message);
        }
        body.extend_from_slice(br#"],"stream":true,"stream_options":{"include_usage":true}}"#);
        body
    }

    async fn call(&self) -> RawReply {
        let response = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .body(self.body())
            .send()
            .await
            .unwrap();
        assert!(
            response.status().is_success(),
            "{}",
            response.text().await.unwrap()
        );
        let mut events = SseStream::from_bytes_stream(response.bytes_stream());
        let mut reply = RawReply::default();
        while let Some(event) = events.next().await {
            let data = event.unwrap().data.unwrap_or_default();
            if data != "[DONE]" {
                reply.take(&serde_json::from_str(&data).unwrap());
            }
        }
        reply
    }
}

#[derive(Default)]
struct RawReply {
    text: String,
    names: Vec<String>,
    calls: Vec<(String, String)>,
}

impl RawReply {
    fn take(&mut self, chunk: &Value) {
        let Some(delta) = chunk["choices"].get(0).map(|choice| &choice["delta"]) else {
            return;
        };
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if self.calls.len() <= index {
                self.calls
                    .push((call["id"].as_str().unwrap().into(), String::new()));
                self.names.push(call["function"]["name"].as_str().unwrap().into());
            }
            self.calls[index]
                .1
                .push_str(call["function"]["arguments"].as_str().unwrap_or_default());
        }
    }

    fn into_message(self) -> Value {
        if self.calls.is_empty() {
            return json!({ "role": "assistant", "content": self.text });
        }
        let calls: Vec<Value> = self
            .calls
            .iter()
            .zip(&self.names)
            .map(|((id, arguments), name)| {
                json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
            })
            .collect();
        json!({ "role": "assistant", "content": Value::Null, "tool_calls": calls })
    }
}
