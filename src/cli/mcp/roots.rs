//! Roots: the directories in which the user works, as the client names them.
//!
//! They bound the project: an edit outside of them is refused, or shown with a warning. Up to the
//! protocol version 2025-11-25 the server requests them from the client, keeps them, and asks anew
//! when the client says that they have changed. Later versions have neither such requests nor such
//! notifications: there a call is answered with what is required for it, and the client makes it
//! again with its roots.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rmcp::RoleServer;
#[expect(
    deprecated,
    reason = "there is nothing else yet that says where the user works"
)]
use rmcp::model::ListRootsRequest;
use rmcp::model::{
    ClientResult, InputRequest, InputRequiredResult, InputResponses, JsonObject, ProtocolVersion,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

/// Time for which a call waits for the client's roots. A client that never answers must not block
/// it, and some answer only once the call is answered: then the roots count for later calls.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The key of the roots among the requirements of a call.
const KEY: &str = "roots";

/// The roots of the client, as far as they are known.
#[derive(Default)]
pub struct Roots {
    /// How often the client has said that they have changed.
    n_changes: AtomicU64,
    /// The roots, once the client has said them, and the value of `n_changes` when they were
    /// requested.
    requested: Mutex<Option<(u64, watch::Receiver<Vec<PathBuf>>)>>,
}

/// The roots for a call, or how to get them.
pub enum Answer {
    /// The roots, which may be none.
    Known(Vec<PathBuf>),
    /// The client must make the call again, with these requirements.
    Required(InputRequiredResult),
}

impl Roots {
    /// Notes that the client's roots have changed.
    pub fn forget(&self) {
        self.n_changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the roots for a call, with which came `responses` to what was required for it. There
    /// are none if the client has none, or does not answer in time.
    pub async fn of_call(
        &self,
        responses: Option<&InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        let capabilities = context.client_capabilities();
        if capabilities.is_none_or(|capabilities| capabilities.roots.is_none()) {
            return Answer::Known(Vec::new());
        }
        let version = context.protocol_version();
        if version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28) {
            return Answer::Known(self.request(&context.peer).await);
        }
        match responses {
            Some(responses) => Answer::Known(of_response(responses.get(KEY))),
            None => {
                let request = InputRequest::ListRoots(request());
                let requests = BTreeMap::from([(KEY.to_owned(), request)]);
                Answer::Required(InputRequiredResult::from_input_requests(requests))
            }
        }
    }

    /// Returns the roots that the client has said before, or requests them.
    async fn request(&self, peer: &Peer<RoleServer>) -> Vec<PathBuf> {
        let mut requested = self.requested.lock().await;
        let n_changes = self.n_changes.load(Ordering::Relaxed);
        match &*requested {
            Some((n, said)) if *n == n_changes => said.borrow().clone(),
            _ => {
                let mut said = list(peer.clone());
                // Whatever comes of it: without an answer there are none.
                let _ = timeout(TIMEOUT, said.changed()).await;
                let roots = said.borrow().clone();
                *requested = Some((n_changes, said));
                roots
            }
        }
    }
}

/// Requests the client's roots. Until it answers, and if it has none, there are none.
fn list(peer: Peer<RoleServer>) -> watch::Receiver<Vec<PathBuf>> {
    let (say, said) = watch::channel(Vec::new());
    tokio::spawn(async move {
        let request = ServerRequest::ListRootsRequest(request());
        let options = PeerRequestOptions::no_options();
        let Ok(handle) = peer.send_cancellable_request(request, options).await else {
            return;
        };
        if let Ok(ClientResult::ListRootsResult(result)) = handle.await_response().await {
            say.send_replace(of_response(serde_json::to_value(result).ok().as_ref()));
        }
    });
    said
}

#[expect(deprecated, reason = "as above")]
fn request() -> ListRootsRequest {
    ListRootsRequest::default()
}

/// Returns the roots in `response`, a result of `roots/list`, that are URIs of local files.
fn of_response(response: Option<&Value>) -> Vec<PathBuf> {
    let roots = response.and_then(|response| response.get("roots")?.as_array());
    let uris = roots
        .into_iter()
        .flatten()
        .filter_map(|root| root.get("uri")?.as_str());
    uris.filter_map(local_path).collect()
}

/// Returns the absolute name of the local file that `uri` names, if it is such a URI (RFC 8089). A
/// "?" or "#" has no meaning there; it is more likely that it was not encoded, so the URI is
/// ignored and not cut off there.
fn local_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") || rest.contains(['?', '#']) {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/')?);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return None;
            }
            path
        }
    };
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    let path = Path::new(OsStr::from_bytes(&bytes));
    // Emacs is told its name as JSON, which is UTF-8.
    (path.is_absolute() && path.to_str().is_some()).then(|| path.to_owned())
}

/// Where a call's files are.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory to which its file names are relative.
    pub directory: PathBuf,
    /// The root of its project, if that is another directory.
    pub root: Option<PathBuf>,
}

/// Returns the place of a call with `arguments`. Its file names are relative to the working
/// directory `current`, or if that is in none of the `roots`, to the first of these. Its project is
/// the innermost root with the call's first file, or else with that directory: what is in no root is
/// outside the project. A root that is not a directory now is ignored; if there is no other, all is
/// as without roots.
pub fn place(roots: &[PathBuf], current: PathBuf, arguments: &JsonObject) -> Place {
    let roots: Vec<&PathBuf> = roots.iter().filter(|root| root.is_dir()).collect();
    let directory = match (innermost(&roots, &current), roots.first()) {
        (None, Some(first)) => (*first).clone(),
        _ => current,
    };
    let file = first_path(arguments).map(|path| directory.join(path));
    let root = file
        .and_then(|file| innermost(&roots, &file).or_else(|| innermost(&roots, &directory)))
        .filter(|root| **root != directory)
        .cloned();
    Place { directory, root }
}

/// Returns the innermost of `roots` that contains `file`.
fn innermost<'a>(roots: &[&'a PathBuf], file: &Path) -> Option<&'a PathBuf> {
    let containing = roots.iter().filter(|root| contains(root, file));
    containing
        .max_by_key(|root| root.components().count())
        .copied()
}

/// Whether the name `file` begins with that of `root`, or with its name without symbolic links. This
/// only chooses a root: Emacs checks whether the file is really inside.
fn contains(root: &Path, file: &Path) -> bool {
    file.starts_with(root) || root.canonicalize().is_ok_and(|root| file.starts_with(root))
}

/// Returns the name of the first file in `arguments`.
fn first_path(arguments: &JsonObject) -> Option<&str> {
    let path = arguments.get("path");
    let change = || arguments.get("changes")?.get(0)?.get("path");
    path.or_else(change)?.as_str()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_uri_of_a_local_file_names_a_root() {
        let cases = [
            ("file:///home/u/project", Some("/home/u/project")),
            ("FILE://LocalHost/home/u", Some("/home/u")),
            ("file:/home/u", Some("/home/u")),
            ("file:///a%20b/na%C3%AFve%25", Some("/a b/naïve%")),
            ("file:///not encoded, 100%", Some("/not encoded, 100%")),
            ("file:///", Some("/")),
            ("file://server/share", None),
            ("file://home", None),
            ("file:relative", None),
            ("file:///not-utf-8/%FF", None),
            ("file:///c#project", None),
            ("file:///what?", None),
            ("https://localhost/home/u", None),
            ("/home/u", None),
            ("", None),
        ];
        for (uri, path) in cases {
            assert_eq!(local_path(uri), path.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn roots_that_cannot_be_read_are_ignored() {
        let response = json!({ "roots": [
            { "uri": "file:///a" }, { "uri": "untitled:b" }, { "name": "c" }, 4, { "uri": "file:///d" },
        ] });
        let roots = ["/a", "/d"].map(PathBuf::from);
        assert_eq!(of_response(Some(&response)), roots);
        for response in [json!({}), json!({ "roots": "file:///a" }), json!([])] {
            assert!(of_response(Some(&response)).is_empty());
        }
    }

    /// A directory with the directories one, one/inner, two, away, and link, a link to two.
    struct Directories(PathBuf);

    impl Directories {
        fn new(test: &str) -> Self {
            let name = format!("agent-q-diff-roots-{test}-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            for name in ["one/inner", "two", "away"] {
                fs::create_dir_all(directory.join(name)).unwrap();
            }
            symlink("two", directory.join("link")).unwrap();
            Self(directory.canonicalize().unwrap())
        }

        /// Returns the place of a call about the file `path`, in which "~" stands for this
        /// directory, as [`Self::place_of`].
        fn place(&self, roots: &[&str], current: &str, path: &str) -> (String, Option<String>) {
            let path = path.replace('~', self.0.to_str().unwrap());
            self.place_of(roots, current, &json!({ "path": path }))
        }

        /// Returns the place, relative to this directory, of a call with `arguments` if the program
        /// works in `current` and the client has `roots`.
        fn place_of(
            &self,
            roots: &[&str],
            current: &str,
            arguments: &Value,
        ) -> (String, Option<String>) {
            let roots: Vec<PathBuf> = roots.iter().map(|root| self.0.join(root)).collect();
            let arguments = arguments.as_object().unwrap();
            let Place { directory, root } = place(&roots, self.0.join(current), arguments);
            let below = |name: PathBuf| {
                let below = name.strip_prefix(&self.0).unwrap();
                below.to_str().unwrap().to_owned()
            };
            (below(directory), root.map(below))
        }
    }

    impl Drop for Directories {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn wanted(directory: &str, root: Option<&str>) -> (String, Option<String>) {
        (directory.to_owned(), root.map(str::to_owned))
    }

    #[test]
    fn a_project_is_the_innermost_root_that_has_the_file() {
        let here = Directories::new("innermost");
        let cases = [
            ("~/one/file", None),
            ("~/one/inner/file", Some("one/inner")),
            ("~/two/new/file", Some("two")),
            // In no root: outside the project.
            ("~/away/file", None),
            ("~/onefile", None),
            ("file", None),
            ("inner/file", Some("one/inner")),
        ];
        for (path, root) in cases {
            let place = here.place(&["one", "one/inner", "two"], "one", path);
            assert_eq!(place, wanted("one", root), "{path}");
        }
    }

    #[test]
    fn relative_names_begin_in_the_working_directory_if_a_root_has_it() {
        let here = Directories::new("relative");
        for path in ["file", "../file"] {
            let place = here.place(&["two", "one"], "one/inner", path);
            assert_eq!(place, wanted("one/inner", Some("one")));
        }
        let place = here.place(&["two", "one"], "away", "file");
        assert_eq!(place, wanted("two", None));
    }

    #[test]
    fn without_a_root_that_exists_the_working_directory_is_all() {
        let here = Directories::new("none");
        fs::write(here.0.join("file"), "").unwrap();
        for roots in [&[][..], &["missing"], &["file"]] {
            let place = here.place(roots, "away", "~/one/file");
            assert_eq!(place, wanted("away", None), "{roots:?}");
        }
    }

    #[test]
    fn a_root_behind_a_link_has_its_files_by_both_names() {
        let here = Directories::new("link");
        for path in ["~/link/file", "~/two/file"] {
            let place = here.place(&["one", "link"], "one", path);
            assert_eq!(place, wanted("one", Some("link")));
        }
    }

    #[test]
    fn the_first_of_several_files_chooses_the_root() {
        let here = Directories::new("several");
        let file = here.0.join("two/file");
        let cases = [
            (
                json!({ "changes": [{ "path": file }, { "path": "x" }] }),
                Some("two"),
            ),
            (json!({ "changes": [] }), None),
            (json!({ "changes": "none" }), None),
            (json!({ "path": 4 }), None),
            (json!({ "diff": "--- a/two/file" }), None),
        ];
        for (arguments, root) in cases {
            let place = here.place_of(&["one", "two"], "one", &arguments);
            assert_eq!(place, wanted("one", root), "{arguments}");
        }
    }
}
