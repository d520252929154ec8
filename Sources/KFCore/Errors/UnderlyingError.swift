/// An error that the program's own code threw. Two are equal if their types and their descriptions are.
public struct UnderlyingError: Error, Sendable, Equatable {
    /// As it was thrown.
    public let error: any Error

    /// Keeps the error.
    public init(_ error: any Error) { self.error = error }

    public static func == (a: UnderlyingError, b: UnderlyingError) -> Bool {
        type(of: a.error) == type(of: b.error) && String(describing: a.error) == String(describing: b.error)
    }
}
