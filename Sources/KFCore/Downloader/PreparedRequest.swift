/// A request as it goes to its origin: with what the options say, and what a modifier made of it.
struct PreparedRequest: Sendable {
    let url: RequestURL
    let credentials: Credentials?
    let headers: [(name: String, value: String)]
}
