import Dispatch

/// How long a change to the index may wait for others to share its commit.
struct Company: Sendable {
    /// The commit comes when so many rows wait.
    let rows: Int
    /// Or after this span.
    let span: DispatchTimeInterval?

    /// A commit at once.
    static let none = Company(rows: 1, span: nil)
    /// For changes whose callers wait for them one by one, with some tens in flight.
    static let few = Company(rows: 64, span: .milliseconds(5))
    /// For arrays of orders.
    static let many = Company(rows: 256, span: .milliseconds(20))
}
