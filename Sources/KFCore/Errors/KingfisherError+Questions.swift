extension KingfisherError {
    /// Kingfisher's name for ``isCancellation``.
    public var isTaskCancelled: Bool { isCancellation }

    /// Whether a server refused with this status.
    public func isInvalidResponseStatusCode(_ code: Int) -> Bool { httpStatus == code }
}
