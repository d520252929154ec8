/// An error of the program's own, as it was thrown. Equal ones have the same type and the same description.
public struct UnderlyingError: Error, Sendable, Equatable {
    /// As it was thrown.
    public let error: any Error

    /// Keeps the error.
    public init(_ error: any Error) { self.error = error }

    public static func == (a: UnderlyingError, b: UnderlyingError) -> Bool {
        type(of: a.error) == type(of: b.error) && String(describing: a.error) == String(describing: b.error)
    }
}
