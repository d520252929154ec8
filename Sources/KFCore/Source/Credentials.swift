/// A user's name and password, as HTTP's basic authentication takes them.
public struct Credentials: Hashable, Sendable {
    /// The name; not percent-encoded.
    public let user: String
    /// The password; it is never stored or shown.
    public let password: String

    /// Both as they are, not percent-encoded.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}
