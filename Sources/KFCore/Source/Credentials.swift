/// A user's name and password, as HTTP's basic authentication takes them.
public struct Credentials: Hashable, Sendable {
    public let user: String
    public let password: String

    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}
