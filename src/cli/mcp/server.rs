//! The MCP server: passes calls on to Emacs, and answers "pending" those that take too long.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};

use crate::options::Mcp;
use crate::socket::{
    Answer, Call, Progress, Request, Source, State, TextStore, Texts, current_directory, sockets,
};

use super::roots::{self, Place, Roots};
use super::tools;

/// Time after which progress is reported to a client that asked for it even if there is none, to
/// show that the server is alive.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The server, whose methods the MCP library calls.
pub struct Server {
    sockets: Vec<PathBuf>,
    timeout: Option<Duration>,
    client_gone: watch::Receiver<bool>,
    texts: Arc<TextStore>,
    roots: Roots,
    pending: Mutex<PendingCalls>,
}

/// Calls that were answered "pending", by their ids. They are kept even when they are answered,
/// since the client may have missed the answer.
type PendingCalls = HashMap<String, Call>;

/// The result of waiting for a call.
enum Outcome {
    /// It was answered.
    Answered(Answer),
    /// It was not answered in time; how much is decided, if Emacs has begun the review.
    Pending(Option<Progress>),
    /// The client has cancelled the call or ended.
    Cancelled,
}

impl Server {
    /// Makes a server. `texts` has the large texts of calls. All calls are cancelled when
    /// `client_gone` becomes true.
    pub fn new(options: Mcp, texts: Arc<TextStore>, client_gone: watch::Receiver<bool>) -> Self {
        Self {
            sockets: sockets(options.socket),
            timeout: options.timeout,
            client_gone,
            texts,
            roots: Roots::default(),
            pending: Mutex::default(),
        }
    }

    /// Has Emacs answer a call of `tool` with `arguments` and the large arguments `texts`, which is
    /// about files in one of `roots`.
    async fn ask(
        &self,
        tool: String,
        arguments: JsonObject,
        texts: Texts,
        roots: &[PathBuf],
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let agent = context
            .client_info()
            .map(|client| client.title.unwrap_or(client.name));
        let Place { directory, root } = roots::place(roots, current_directory(), &arguments);
        let request = Request {
            tool,
            arguments: Value::Object(arguments),
            texts,
            agent,
            directory,
            root,
            // After it, the review goes on.
            timeout: None,
        };
        let call = Call::begin(self.sockets.clone(), request);
        match self.wait(call.states(), context).await {
            Outcome::Answered(answer) => answer,
            Outcome::Pending(progress) => {
                let mut calls = self.pending_calls();
                let id = format!("review-{}", calls.len() + 1);
                calls.insert(id.clone(), call);
                pending(&id, progress)
            }
            // Dropping the call closes its connection. Nobody reads this answer.
            Outcome::Cancelled => Answer::default(),
        }
    }

    /// Waits again for a call that was answered "pending", and whose id is in `arguments`.
    async fn ask_again(
        &self,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let id = arguments
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(states) = self.pending_calls().get(id).map(Call::states) else {
            return Answer::failure(tools::unknown_review(id), Source::Program);
        };
        match self.wait(states, context).await {
            Outcome::Answered(answer) => answer,
            Outcome::Pending(progress) => pending(id, progress),
            Outcome::Cancelled => Answer::default(),
        }
    }

    fn pending_calls(&self) -> MutexGuard<'_, PendingCalls> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the call with these `states` is answered, it is time to answer "pending", or
    /// the client cancels. Reports progress to the client if it asked for that.
    async fn wait(
        &self,
        mut states: watch::Receiver<State>,
        context: &RequestContext<RoleServer>,
    ) -> Outcome {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let mut reporter = Reporter {
            token: context.meta.get_progress_token(),
            series: Series::default(),
        };
        let mut client_gone = self.client_gone.clone();
        let mut is_news = false;
        loop {
            let State {
                progress, answer, ..
            } = states.borrow_and_update().clone();
            if let Some(answer) = answer {
                return Outcome::Answered(answer);
            }
            if is_news || progress.is_some() {
                reporter.report(progress, context).await;
            }
            is_news = true;
            tokio::select! {
                // The sender is dropped only after it has sent an answer, or with the call.
                changed = states.changed() => if changed.is_err() { return Outcome::Cancelled },
                _ = heartbeat.tick() => {}
                () = until(deadline) => return Outcome::Pending(progress),
                () = context.ct.cancelled() => return Outcome::Cancelled,
                _ = client_gone.wait_for(|gone| *gone) => return Outcome::Cancelled,
            }
        }
    }
}

/// Returns the answer that the review `id` is not decided yet.
fn pending(id: &str, progress: Option<Progress>) -> Answer {
    Answer {
        text: tools::pending(id, progress),
        result: Some(tools::pending_result(id)),
        ..Answer::default()
    }
}

/// Waits until `deadline`, or if there is none, without end.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Reports a call's progress to the client, if it asked for that.
struct Reporter {
    token: Option<ProgressToken>,
    series: Series,
}

impl Reporter {
    /// Sends a notification that says how much is decided.
    async fn report(&mut self, progress: Option<Progress>, context: &RequestContext<RoleServer>) {
        let Some(token) = self.token.clone() else {
            return;
        };
        let (number, total) = self.series.next(progress);
        let mut notification =
            ProgressNotificationParam::new(token, number).with_message(tools::progress(progress));
        notification.total = total;
        // If the client is gone, the end of standard input shows it.
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

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.roots.forget();
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let texts = match self.texts.take(&context.id) {
            Ok(texts) => texts,
            Err(flaw) => return Ok(CallToolResult::error(vec![ContentBlock::text(flaw)]).into()),
        };
        let answer = match request.name.as_ref() {
            tools::REVIEW_RESULT => self.ask_again(&arguments, &context).await,
            tool if tools::TOOLS_OF_EMACS.contains(&tool) => {
                let responses = request.input_responses.as_ref();
                let roots = match self.roots.of_call(responses, &context).await {
                    roots::Answer::Known(roots) => roots,
                    roots::Answer::Required(required) => return Ok(required.into()),
                };
                self.ask(tool.to_owned(), arguments, texts, &roots, &context)
                    .await
            }
            tool => {
                let text = format!("there is no tool {tool}");
                return Err(ErrorData::invalid_params(text, None));
            }
        };
        let structured = tools::structured(&request.name, &answer);
        let content = vec![ContentBlock::text(answer.text)];
        let mut result = if answer.is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        result.structured_content = structured;
        Ok(result.into())
    }
}

// The numbers of progress notifications.
//
// MCP requires that they grow with each notification, but hunks can become undecided again, and a
// notification can be sent only to show that the server is alive. So they follow the greatest
// number of decided hunks seen, and approach it from below: at 2 hunks they are 1.5, 1.75, 1.83…,
// and at none 0, 0.25, 0.33…, below 0.5. They never reach the number of all hunks. The message that
// goes with them has the exact numbers.

/// The numbers of the notifications for one call.
#[derive(Default)]
pub struct Series {
    /// The greatest number of decided hunks seen.
    n_decided: u32,
    /// The greatest number of all hunks seen: the number shrinks if the user undoes a split.
    n_hunks: u32,
    /// The number of notifications at `n_decided`.
    n_sent: u32,
}

impl Series {
    /// Returns the numbers of the next notification: progress and, once Emacs has begun the review,
    /// the total. `progress` is none before that.
    pub fn next(&mut self, progress: Option<Progress>) -> (f64, Option<f64>) {
        if let Some(Progress { decided, total }) = progress {
            self.n_hunks = self.n_hunks.max(to_u32(total));
            if to_u32(decided) > self.n_decided {
                self.n_decided = to_u32(decided);
                self.n_sent = 0;
            }
        }
        self.n_sent = self.n_sent.saturating_add(1);
        let distance = 0.5 / f64::from(self.n_sent);
        let limit = match self.n_decided {
            0 => 0.5,
            n => f64::from(n),
        };
        let total = (self.n_hunks > 0).then(|| f64::from(self.n_hunks));
        (limit - distance, total)
    }
}

fn to_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod progress_tests {
    use super::*;

    /// Returns the numbers of notifications about these numbers of decided hunks, each with the
    /// number of all hunks. None stands for a review that Emacs has not begun.
    fn numbers(seen: &[Option<(u64, u64)>]) -> Vec<(f64, Option<f64>)> {
        let mut series = Series::default();
        seen.iter()
            .map(|seen| series.next(seen.map(|(decided, total)| Progress { decided, total })))
            .collect()
    }

    /// Checks that the numbers for `seen` grow and do not exceed the total.
    fn assert_grows(seen: &[Option<(u64, u64)>]) {
        let numbers = numbers(seen);
        for pair in numbers.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{pair:?}");
        }
        for (progress, total) in numbers {
            assert!(progress >= 0.0);
            assert!(total.is_none_or(|total| progress <= total));
        }
    }

    #[test]
    fn a_decision_counts_at_once_but_never_as_the_last() {
        assert_eq!(
            numbers(&[Some((0, 3)), Some((1, 3)), Some((2, 3)), Some((3, 3))]),
            [0.0, 0.5, 1.5, 2.5].map(|progress| (progress, Some(3.0)))
        );
    }

    #[test]
    fn before_emacs_has_begun_there_is_no_total() {
        assert_eq!(
            numbers(&[None, None, Some((0, 1)), Some((1, 1))]),
            [
                (0.0, None),
                (0.25, None),
                (0.5 - 0.5 / 3.0, Some(1.0)),
                (0.5, Some(1.0)),
            ]
        );
    }

    #[test]
    fn decisions_that_are_undone_make_the_numbers_grow_all_the_same() {
        let seen = [0, 1, 0, 1, 3, 2, 1, 0, 2, 3, 4, 0, 4].map(|decided| Some((decided, 4)));
        assert_grows(&seen);
    }

    #[test]
    fn a_total_that_shrinks_stays_above_the_progress() {
        assert_grows(&[Some((4, 5)), Some((5, 5)), Some((4, 4)), Some((4, 4))]);
        assert_eq!(numbers(&[Some((5, 5)), Some((4, 4))])[1].1, Some(5.0));
    }

    #[test]
    fn days_of_waiting_make_the_numbers_grow() {
        let waiting = |at: Option<(u64, u64)>| std::iter::repeat_n(at, 20_000);
        let seen: Vec<_> = waiting(None)
            .chain(waiting(Some((0, 100_000))))
            .chain(waiting(Some((99_999, 100_000))))
            .chain(waiting(Some((100_000, 100_000))))
            .collect();
        assert_grows(&seen);
    }
}
