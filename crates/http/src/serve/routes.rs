//! The routes of a protocol. Every one is put on a list when it is added, with who may use it, so that tests walk each
//! route that there is.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use http::{Method, StatusCode};

use super::answer::json;
use super::web::Web;

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody: `/health`, the well-known documents, and the pages that users' browsers open.
    Anybody,
    /// Callers, as far as their toolsets go.
    Callers,
    /// Callers without a toolset: it shows or changes the server as a whole.
    UnlimitedCallers,
    /// Callers whose key is for operators: it shows what other callers did.
    Operators,
}

/// A method and path with who may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// By which method.
    pub method: Method,
    /// Where, with the names of its parts in braces.
    pub path: String,
    /// Who may use it.
    pub access: Access,
}

/// The routes of a protocol and the list of them.
#[derive(Default)]
pub struct Routes {
    router: Router<Arc<Web>>,
    list: Vec<Route>,
}

impl Routes {
    /// Adds a route for GET, which answers HEAD too.
    pub fn get<H: Handler<T, Arc<Web>>, T: 'static>(self, path: &str, access: Access, handler: H) -> Self {
        self.add(Method::GET, path, access, routing::get(handler))
    }

    /// Adds a route for POST.
    pub fn post<H: Handler<T, Arc<Web>>, T: 'static>(self, path: &str, access: Access, handler: H) -> Self {
        self.add(Method::POST, path, access, routing::post(handler))
    }

    /// Adds a route for DELETE.
    pub fn delete<H: Handler<T, Arc<Web>>, T: 'static>(self, path: &str, access: Access, handler: H) -> Self {
        self.add(Method::DELETE, path, access, routing::delete(handler))
    }

    /// Says how a path answers methods that it has no route for. The handler has to ask who is there.
    pub fn otherwise<H: Handler<T, Arc<Web>>, T: 'static>(mut self, path: &str, handler: H) -> Self {
        self.router = self.router.route(path, MethodRouter::new().fallback(handler));
        if !self.list.iter().any(|route| route.path == path) {
            self.list.push(Route { method: Method::GET, path: path.to_owned(), access: Access::Callers });
        }
        self
    }

    /// The routes of two protocols together.
    pub fn merge(mut self, other: Routes) -> Self {
        self.list.extend(other.list);
        Routes { router: self.router.merge(other.router), list: self.list }
    }

    /// Every route, for tests that walk them.
    pub fn list(&self) -> &[Route] {
        &self.list
    }

    /// What answers. A method that a path does not take is told to callers only.
    pub fn into_router(self) -> Router<Arc<Web>> {
        self.router.method_not_allowed_fallback(not_allowed)
    }

    fn add(mut self, method: Method, path: &str, access: Access, handler: MethodRouter<Arc<Web>>) -> Self {
        self.list.push(Route { method, path: path.to_owned(), access });
        Routes { router: self.router.route(path, handler), list: self.list }
    }
}

async fn not_allowed(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (status, what) = match web.known(&request) {
        Ok(()) => (StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method".to_owned()),
        Err(refusal) => (StatusCode::UNAUTHORIZED, refusal.message().public),
    };
    json(status, serde_json::json!({ "message": what }).to_string())
}
