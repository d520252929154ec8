import KFNetwork

/// The terms on which images are downloaded and checked: made once for a call or a run, and shared by all of its transfers.
final class DownloadTerms: Sendable {
    let request: RequestOptions
    let inspector: ImageInspector
    /// Images are accepted with any status from 200 to 299.
    let acceptsEverySuccess: Bool
    /// The engine's part, except for credentials that a URL brings.
    let transfer: TransferTerms

    init(_ request: RequestOptions, _ inspector: ImageInspector, acceptsEverySuccess: Bool) {
        self.request = request
        self.inspector = inspector
        self.acceptsEverySuccess = acceptsEverySuccess
        var options = request.transfer
        if acceptsEverySuccess { options.acceptedStatus = ResponseStatus.bringingImages }
        transfer = TransferTerms(options)
    }

    /// Whether a transfer on the other terms would end in the same way.
    func isAlike(_ other: DownloadTerms) -> Bool {
        self === other || transfer.options == other.transfer.options && inspector == other.inspector
    }
}
