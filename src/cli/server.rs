//! Calls, what they wait for, and what becomes of those that wait too long.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};

use crate::options::Options;
use crate::socket::{Answer, Call, Progress, Request, State, usual_places};
use crate::texts::{Texts, Waiting};
use crate::tools;

/// Time after which a client that wants to know of progress hears of it although there is none,
/// so that it knows that somebody is there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The server, as the MCP library calls it.
pub struct Server {
    places: Vec<PathBuf>,
    timeout: Option<Duration>,
    client_gone: watch::Receiver<bool>,
    waiting: Arc<Waiting>,
    held: Mutex<Held>,
}

/// Calls that were answered "pending". They stay, since a client may have missed the answer.
#[derive(Default)]
struct Held {
    calls: HashMap<String, Call>,
}

impl Held {
    /// Keeps `call` and returns its id.
    fn keep(&mut self, call: Call) -> String {
        let id = format!("review-{}", self.calls.len() + 1);
        self.calls.insert(id.clone(), call);
        id
    }
}

/// What waiting for a call came to.
enum Waited {
    /// It was answered.
    Answered(Answer),
    /// It was not answered in time; so far the review stands there.
    Pending(Option<Progress>),
    /// The client no longer wants to know.
    Cancelled,
}

impl Server {
    /// Returns a server to which no call has come yet. Large texts of calls are among `waiting`.
    /// Nobody waits any more once `client_gone`.
    pub fn new(
        options: Options,
        waiting: Arc<Waiting>,
        client_gone: watch::Receiver<bool>,
    ) -> Self {
        Self {
            places: options
                .socket
                .map_or_else(usual_places, |socket| vec![socket]),
            timeout: options.timeout,
            client_gone,
            waiting,
            held: Mutex::default(),
        }
    }

    /// Has Emacs answer a call of `tool` with `arguments` and those that are `texts`.
    async fn ask(
        &self,
        tool: String,
        arguments: JsonObject,
        texts: Texts,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let agent = context
            .client_info()
            .map(|client| client.title.unwrap_or(client.name));
        let request = Request {
            tool,
            arguments: Value::Object(arguments),
            texts,
            agent,
        };
        let call = Call::begin(self.places.clone(), request);
        match self.wait(call.states(), context).await {
            Waited::Answered(answer) => answer,
            Waited::Pending(progress) => {
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                done(tools::pending(&held.keep(call), progress))
            }
            // The call is dropped, and its connection with it; nobody reads this.
            Waited::Cancelled => done(String::new()),
        }
    }

    /// Waits again for a call that was answered "pending".
    async fn ask_again(
        &self,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let id = arguments
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(states) = self.held_states(id) else {
            return Answer {
                text: tools::unknown_review(id),
                is_error: true,
            };
        };
        match self.wait(states, context).await {
            Waited::Answered(answer) => answer,
            Waited::Pending(progress) => done(tools::pending(id, progress)),
            Waited::Cancelled => done(String::new()),
        }
    }

    fn held_states(&self, id: &str) -> Option<watch::Receiver<State>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.calls.get(id).map(Call::states)
    }

    /// Waits until the call of which `states` tell is answered, it is time to answer "pending",
    /// or the client cancels. Tells the client of progress if it asked for that.
    async fn wait(
        &self,
        mut states: watch::Receiver<State>,
        context: &RequestContext<RoleServer>,
    ) -> Waited {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let mut reporter = Reporter {
            token: context.meta.get_progress_token(),
            n_sent: 0,
        };
        let mut client_gone = self.client_gone.clone();
        let mut is_news = false;
        loop {
            let State { progress, answer } = states.borrow_and_update().clone();
            if let Some(answer) = answer {
                return Waited::Answered(answer);
            }
            if is_news || progress.is_some() {
                reporter.report(progress, context).await;
            }
            is_news = true;
            tokio::select! {
                // The sender is dropped only after it has answered, or with the call.
                changed = states.changed() => if changed.is_err() { return Waited::Cancelled },
                _ = heartbeat.tick() => {}
                () = until(deadline) => return Waited::Pending(progress),
                () = context.ct.cancelled() => return Waited::Cancelled,
                _ = client_gone.wait_for(|gone| *gone) => return Waited::Cancelled,
            }
        }
    }
}

/// Returns the answer `text`, which is no error.
fn done(text: String) -> Answer {
    Answer {
        text,
        is_error: false,
    }
}

/// Waits until `deadline`, or without end.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Tells a client how its call stands, if it wants to know.
struct Reporter {
    token: Option<ProgressToken>,
    n_sent: u32,
}

impl Reporter {
    /// Says where the review stands. The number of a notification must grow each time, while
    /// hunks can become undecided again; so it counts the notifications, and the words tell.
    async fn report(&mut self, progress: Option<Progress>, context: &RequestContext<RoleServer>) {
        let Some(token) = self.token.clone() else {
            return;
        };
        self.n_sent += 1;
        let notification = ProgressNotificationParam::new(token, f64::from(self.n_sent))
            .with_message(tools::progress(progress));
        // A client that has gone is noticed where its input ends.
        let _ = context.peer.notify_progress(notification).await;
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(
                "agent-q-diff",
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let texts = self.waiting.take(&context.id);
        let answer = match request.name.as_ref() {
            tools::REVIEW_RESULT => self.ask_again(&arguments, &context).await,
            tool if tools::TOOLS_OF_EMACS.contains(&tool) => {
                self.ask(tool.to_owned(), arguments, texts, &context).await
            }
            tool => {
                let text = format!("there is no tool {tool}");
                return Err(ErrorData::invalid_params(text, None));
            }
        };
        let content = vec![ContentBlock::text(answer.text)];
        Ok(if answer.is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        }
        .into())
    }
}
