/// Why a sink wants no more of a transfer. Comes back inside `TransferError.sink`.
package struct SinkError: Error, Sendable, Equatable {
    package var reason: String
    /// What the sink's owner wants to find again in the result. Not compared.
    package var underlying: (any Error)?

    package init(reason: String, underlying: (any Error)? = nil) {
        self.reason = reason
        self.underlying = underlying
    }

    package static func == (left: SinkError, right: SinkError) -> Bool { left.reason == right.reason }
}
